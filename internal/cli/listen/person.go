package listen

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/sound"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// PersonFlags are what a person wants for themselves, in "aaep listen" and "aaep acp" alike: over
// which outputs they are told, where their settings are, and what they ask an agent for.
type PersonFlags struct {
	cmd       *cobra.Command
	page      bool // one of the outputs may be the page
	outs      []string
	plain     bool
	settings  string
	untilDone bool
	content   string
	sound     sound.Options
	ask       *terms.Flags
	onlyJSON  bool // the terminal gets the events themselves, and nothing is answered
}

// AddPersonFlags adds to a command the flags of what one person gets and how; page says whether one
// of the outputs may be the page. The result has their values once the command runs.
func AddPersonFlags(cmd *cobra.Command, page bool) *PersonFlags {
	p := &PersonFlags{cmd: cmd, page: page, ask: terms.AddFlags(cmd)}
	f := cmd.Flags()
	f.BoolVar(&p.plain, "plain", false, "print lines on the terminal and nothing else, whatever the settings say")
	f.StringVar(&p.settings, "settings", "", "take your settings from this `FILE`, not from aaep/listen.conf in your directory of them")
	outputs := strings.Join(outputsToSet(), ", ")
	if page {
		outputs = strings.Join(OutputNames(), ", ") + " (a page)"
	}
	f.StringSliceVar(&p.outs, "output", nil, "tell it over these `OUTPUTS`, joined by commas:\n"+outputs)
	f.BoolVar(&p.untilDone, "quiet-until-done", false,
		"with --output, tell only questions and what comes of them, failures and ends;\n"+
			"/where, /newest and /details tell the rest when you ask")
	f.StringVar(&p.content, "content", "", "with --output, how what answers hold is told, in a `LIST` of\n"+
		"code=, diffs= and links=, each read, count or skip, tables= also columns,\n"+
		"indent= words, cells or none, and names= words or exact")
	f.StringSliceVar(&p.sound.Only, "sounds", nil, "of --output sound, only these `MEANINGS`, joined by commas:\n"+
		strings.Join(sound.Meanings(), ", "))
	f.IntVar(&p.sound.Volume, "volume", 100, "of --output sound, how loud, in `PERCENT`")
	return p
}

// misuse is the error of flags that cannot be used like that.
func (p *PersonFlags) misuse(format string, args ...any) error {
	return exits.UsageError(format+"\nSee: "+p.cmd.CommandPath()+" --help", args...)
}

// HasOutputs reports whether an output beside the terminal is asked for. The settings count once
// Capabilities was called.
func (p *PersonFlags) HasOutputs() bool { return len(p.outs) > 0 }

// Check refuses what the command line says of outputs where it makes no sense.
func (p *PersonFlags) Check() error {
	switch {
	case p.plain && p.HasOutputs():
		return p.misuse("--plain is for lines on the terminal alone, and --output for more; give one of them.")
	case !p.page && slices.Contains(p.outs, onPage):
		return p.misuse("--output %s is a page of its own; serve one with --web.", onPage)
	}
	return nil
}

// Capabilities applies the person's settings, and returns what they ask an agent for. The error
// says which flag or line of the settings is wrong. It is called once, after the flags are read.
func (p *PersonFlags) Capabilities() (none aaep.Capabilities, _ error) {
	chosen, untilDone := p.HasOutputs(), p.untilDone
	given := slices.DeleteFunc([]string{"content", "sounds", "volume"}, func(flag string) bool { return !p.cmd.Flags().Changed(flag) })
	if err := applySettings(p.cmd, p.settings); err != nil {
		return none, err
	}
	if p.plain || p.onlyJSON && !chosen {
		p.outs = nil
	}
	if p.sound.Volume < 1 || p.sound.Volume > 100 {
		return none, p.misuse("--volume must be from 1 to 100, and is %d; sounds that are not wanted are left out by --sounds.",
			p.sound.Volume)
	}
	for _, meaning := range p.sound.Only {
		if !slices.Contains(sound.Meanings(), meaning) {
			return none, p.misuse("--sounds %q is none of %s.", meaning, strings.Join(sound.Meanings(), ", "))
		}
	}
	if untilDone && !p.HasOutputs() {
		return none, p.misuse("--quiet-until-done is for what is told over --output, such as: --output speech")
	}
	// The settings may have them for outputs that are not used today; the command line may not.
	for _, flag := range given {
		using := []string{"sound"}
		if flag == "content" {
			using = wordOutputs()
		}
		if !slices.ContainsFunc(p.outs, func(out string) bool { return slices.Contains(using, out) }) {
			return none, p.misuse("--%s is for what is told over --output, such as: --output %s", flag, using[0])
		}
	}
	if _, err := announce.ParseContent(p.content, announce.Content{}); p.content != "" && err != nil {
		return none, p.misuse("--content: %s.", strings.TrimPrefix(err.Error(), "announce: "))
	}
	caps, err := p.ask.ParseCapabilities()
	if err == nil && slices.ContainsFunc(p.outs, func(name string) bool { return strings.HasSuffix(name, "braille") }) {
		paginateHere(&caps)
	}
	return caps, err
}

// paginateHere removes the braille extension from the capabilities, so that the display of this
// program cuts texts to its cells. What the agent cuts comes one piece a second, and a long diff
// would take minutes.
func paginateHere(caps *aaep.Capabilities) {
	caps.Extensions = maps.Clone(caps.Extensions)
	delete(caps.Extensions, extensions.BrailleVocabulary.Prefix)
	caps.SupportedExtensions = slices.DeleteFunc(slices.Clone(caps.SupportedExtensions),
		func(uri string) bool { return uri == extensions.BrailleVocabulary.URI })
}

// ownRate is how many events a second the person at the keyboard gets who has asked for no rate. It
// is high, so that what the agent says before it asks is told before the question; a voice or a
// display tells it at its own pace.
const ownRate = 20

// OwnCapabilities returns the Capabilities for an agent that the command itself starts, and the
// person types to. Without a profile or filters they are those of ownTerms. A profile that demands
// proof is an error, for such an agent has none.
func (p *PersonFlags) OwnCapabilities() (aaep.Capabilities, error) {
	caps, err := p.Capabilities()
	switch {
	case err != nil:
		return caps, err
	case terms.IsTrue(caps.AcceptSignedManifestsOnly):
		return caps, p.misuse("the profile demands an agent that proves who it is, and this one is started here: leave that out of the profile.")
	case !p.ask.Given("profile") && !p.ask.Given("include"):
		ownTerms(&caps, !p.ask.Given("rate"))
	}
	return caps, nil
}

// ownTerms changes the capabilities for the person at the keyboard, who need not hear their own
// prompt; anyRate says that they have requested no rate.
func ownTerms(caps *aaep.Capabilities, anyRate bool) {
	if anyRate {
		caps.MaxEventsPerSecond = ownRate
	}
	filters := aaep.EventFilters{Exclude: []string{string(aaep.TypeSessionStarted)}} // the person who typed a prompt need not hear it
	if caps.EventFilters != nil {
		filters.Exclude = append(filters.Exclude, caps.EventFilters.Exclude...)
	}
	caps.EventFilters = &filters
}

// Open makes the Listener of the person and opens their outputs, of which the terminal t is one;
// besideEditor says that they type in an editor and not there. The function end closes them, and t.
// On an error t is closed.
func (p *PersonFlags) Open(ctx context.Context, t *terminal.Terminal, caps aaep.Capabilities,
	besideEditor bool) (l *Listener, end func(), err error) {
	l = &Listener{json: p.onlyJSON, wanted: caps, besideEditor: besideEditor}
	l.Printer.Out, l.Status.Out, l.Status.Said = t.Out, t.Talk, l.recordSaid
	l.setLanguages(caps.Languages)
	closeOutputs := func() {}
	if p.HasOutputs() {
		if err := l.useOutputs(ctx, p.outs, outputOptions{caps.PaceWPM, p.sound, p.untilDone, p.content}); err != nil {
			t.Close()
			return nil, nil, err
		}
		closeOutputs = l.out.closeAll
	}
	closeControl := func() {}
	if !p.onlyJSON {
		closeControl = l.openControl(ctx)
	}
	stopPrinting := l.useTerminal(ctx, t)
	l.setLanguages(caps.Languages)
	return l, func() { stopPrinting(); t.Flush(ctx); t.Close(); closeControl(); closeOutputs() }, nil
}
