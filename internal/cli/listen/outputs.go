package listen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
	"github.com/aaep-go/aaep/subscriber/cue"
	"github.com/aaep-go/aaep/subscriber/haptic"
	"github.com/aaep-go/aaep/subscriber/nvda"
	"github.com/aaep-go/aaep/subscriber/orca"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/sound"
	"github.com/aaep-go/aaep/subscriber/speech"
)

type outputKind struct {
	name    string
	words   bool      // a person gets the words, and can have heard a question
	knows   bool      // it knows when the last word was heard, and so at what pace
	other   phrase.ID // what becomes of text in a language that it does not speak
	hint    string    // what may help where it cannot be opened
	open    func(context.Context, outputOptions) (present.Output, error)
	content announce.Content // how it is told where the person says nothing else
}

// outputOptions are what a person wants of their outputs.
type outputOptions struct {
	wordsPerMinute int64
	sound          sound.Options
	untilDone      bool // only questions, failures and ends are told
	content        string
}

// The outputs there are, beside the lines on the terminal.
var outputKinds = []outputKind{
	{"speech", true, true, phrase.PrintedInstead,
		"It needs Speech Dispatcher, and sound that works: try spd-say hello.",
		func(ctx context.Context, o outputOptions) (present.Output, error) {
			return asOutput(speech.Open(ctx, speech.Options{WordsPerMinute: int(o.wordsPerMinute), Spawn: true}))
		}, announce.Content{SpeakNames: true}},
	{"orca", true, false, phrase.PrintedInstead, "It needs Orca, running in the same desktop session.",
		func(ctx context.Context, o outputOptions) (present.Output, error) {
			return asOutput(orca.Open(ctx, orca.Options{WordsPerMinute: int(o.wordsPerMinute),
				VoiceLanguages: uilang.SystemLanguages()[:1]}))
		}, announce.Content{}},
	{"nvda", true, true, phrase.MayBeGarbled,
		"It needs NVDA 2024.1 or later, running on Windows, and its nvdaControllerClient.dll beside this program.",
		func(context.Context, outputOptions) (present.Output, error) {
			out, err := nvda.Open(nvda.Options{})
			if err == nil && !out.Running() {
				out.Close()
				err = nvda.ErrAbsent
			}
			return asOutput(out, err)
		}, announce.Content{}},
	{"braille", true, true, phrase.MarksLost, needsDisplay + "; BRLAPI_HOST says where, if it is elsewhere.",
		onDisplay(nil), inCells},
	{"contracted-braille", true, true, phrase.MarksLost,
		needsDisplay + ", as --output braille does, and liblouis: in Debian, the packages liblouis-bin and liblouis-data.",
		onDisplay(braille.DefaultTables()), inCells},
	{"touch", false, false, phrase.MayBeGarbled, "It needs feedbackd, in the same desktop session.",
		func(ctx context.Context, _ outputOptions) (present.Output, error) {
			device, err := haptic.OpenFeedbackd(ctx, haptic.FeedbackdOptions{AppID: "aaep", Sound: true})
			if err != nil {
				return nil, err
			}
			return cue.New(device), nil
		}, announce.Content{}},
	{"sound", false, false, phrase.MayBeGarbled,
		"It needs pw-play or paplay, and sound that works: in Debian, pipewire-bin or pulseaudio-utils.",
		func(ctx context.Context, o outputOptions) (present.Output, error) {
			return asOutput(sound.Open(ctx, o.sound))
		}, announce.Content{}},
}

// inCells is how code is told to who reads.
var inCells = announce.Content{Indent: announce.InCells}

const needsDisplay = "It needs BRLTTY with a display"

// onDisplay opens the braille display. Without tables BRLTTY translates, as the person has it
// there.
func onDisplay(tables map[string]string) func(context.Context, outputOptions) (present.Output, error) {
	return func(ctx context.Context, _ outputOptions) (present.Output, error) {
		d, err := braille.Open(ctx, braille.Options{Tables: tables})
		if err == nil && d.Cells() == 0 {
			d.Close()
			err = braille.ErrNoDisplay
		}
		return asOutput(d, err)
	}
}

// asOutput returns the output without a nil pointer in the interface.
func asOutput[T present.Output](out T, err error) (present.Output, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}

const onTerminal = "plain"

// OutputNames returns the names that --output takes: the terminal, the kinds of outputs and the
// page.
func OutputNames() []string {
	names := []string{onTerminal}
	for _, k := range outputKinds {
		names = append(names, k.name)
	}
	return append(names, onPage)
}

// wordOutputs returns the names of the outputs beside the terminal that tell words.
func wordOutputs() (names []string) {
	for _, k := range outputKinds {
		if k.words {
			names = append(names, k.name)
		}
	}
	return names
}

// outputs tell a person what the terminal would print, and more than that keep what they heard.
type outputs struct {
	plain    bool // the terminal tells it too
	tellings []*personOutput
	changed  chan struct{} // one of them went or came; there is room for one
	running  sync.WaitGroup
	stop     context.CancelFunc
}

// personOutput is one output, which is opened again when it dies.
type personOutput struct {
	outputKind
	p      *present.Presenter
	speaks func(language string) bool // nil is every language
}

// openOutputs opens the outputs of these names; an unknown name, or one that cannot be opened, is
// an error, and closes the others. lost is called for each that fails, or comes back, while the
// program runs, and unsaid for each utterance that no voice can say. The caller calls closeAll.
func openOutputs(ctx context.Context, names []string, options outputOptions, lost func(phrase.ID, string),
	unsaid func(announce.Utterance), preferences announce.Preferences) (*outputs, error) {
	o := &outputs{changed: make(chan struct{}, 1)}
	ctx, o.stop = context.WithCancel(ctx)
	for _, name := range names {
		if name == onTerminal {
			o.plain = true
			continue
		}
		i := slices.IndexFunc(outputKinds, func(k outputKind) bool { return k.name == name })
		if i < 0 {
			o.closeAll()
			return nil, exits.UsageError("--output %q is none of %s.\nSee: aaep listen --help", name,
				strings.Join(OutputNames(), ", "))
		}
		kind := outputKinds[i]
		out, err := kind.open(ctx, options)
		if err != nil {
			o.closeAll()
			hint := kind.hint
			if errors.Is(err, speech.ErrScreenReader) {
				hint = "With Orca, that is: --output orca."
			}
			return nil, exits.With(exits.Unreachable,
				fmt.Errorf("cannot tell it over %s: %s.\n%s", name, exits.PlainError(err), hint))
		}
		preferences.Speaks, preferences.UntilDone, preferences.Content = out.Speaks, options.untilDone && kind.words, kind.content
		if options.content != "" {
			preferences.Content, _ = announce.ParseContent(options.content, kind.content) // which was checked
		}
		preferences.Otherwise = func(language string) announce.Words { return explainUnspoken(uilang.Language(language), kind.other) }
		t := &personOutput{outputKind: kind, p: present.New(preferences)}
		t.p.Unsaid, t.speaks = unsaid, out.Speaks
		o.tellings = append(o.tellings, t)
		o.running.Go(func() {
			open := func(ctx context.Context) (present.Output, error) { return kind.open(ctx, options) }
			_ = t.p.RunAgain(ctx, out, open, func(gone error) { o.tellGone(t.name, gone, lost) })
		})
	}
	// What has no words says that a question waits, and the lines say which.
	o.plain = o.plain || !slices.ContainsFunc(o.tellings, func(t *personOutput) bool { return t.words })
	return o, nil
}

// explainUnspoken says what becomes of text that cannot be spoken, and what a person can ask for
// instead.
func explainUnspoken(t uilang.Language, becomes phrase.ID) announce.Words {
	text := t.PhraseText(becomes, "")
	if becomes == phrase.PrintedInstead {
		text += " " + t.PhraseText(phrase.OtherWays, "")
	}
	return t.InLanguage(text)
}

// tellGone says that an output is gone, and why, or, for nil, that it is there again. The
// listener's loop then looks whether the terminal has to take its place.
func (o *outputs) tellGone(name string, gone error, lost func(phrase.ID, string)) {
	if gone == nil {
		lost(phrase.OutputBack, name)
	} else {
		lost(phrase.OutputGone, name+": "+words.Sentence(exits.PlainError(gone)))
	}
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// changes returns the channel that has something when an output went or came; nil where there are
// none.
func (o *outputs) changes() <-chan struct{} {
	if o == nil {
		return nil
	}
	return o.changed
}

// takeOver has the terminal tell what the other outputs have not told, when the last of them that
// has words is gone. The listener's loop calls it when one went or came.
func (l *Listener) takeOver() {
	if l.out.printsLines() && !l.out.plain && !l.json {
		l.reads.TakeOver(l.out.withWords()...)
	}
}

// closeAll silences and closes all of them.
func (o *outputs) closeAll() {
	o.stop()
	o.running.Wait()
}

// hasAny reports whether there is an output beside the terminal.
func (o *outputs) hasAny() bool { return o != nil && len(o.tellings) > 0 }

// canSpeak reports whether all outputs with words can present a language; true without outputs.
func (o *outputs) canSpeak(language string) bool {
	if o == nil {
		return true
	}
	return !slices.ContainsFunc(o.tellings, func(t *personOutput) bool {
		return t.words && t.speaks != nil &&
			!t.speaks(language)
	})
}

// spokenFirst returns a person's languages with those first that all who have words can present,
// unless the terminal shows them all: of an agent that has several, it is asked for one that will
// be heard.
func (o *outputs) spokenFirst(languages []string) []string {
	if o == nil || o.plain {
		return languages
	}
	ordered := slices.Clone(languages)
	slices.SortStableFunc(ordered, func(a, b string) int {
		switch {
		case o.canSpeak(a) == o.canSpeak(b):
			return 0
		case o.canSpeak(a):
			return -1
		}
		return 1
	})
	return ordered
}

// presenters returns those of all outputs beside the terminal.
func (o *outputs) presenters() []*present.Presenter {
	return o.choose(func(*personOutput) bool { return true })
}

// withWords returns the presenters of those that tell words.
func (o *outputs) withWords() []*present.Presenter {
	return o.choose(func(t *personOutput) bool { return t.words })
}

// choose returns the presenters of outputs beside the terminal that fits selects.
func (o *outputs) choose(fits func(t *personOutput) bool) (chosen []*present.Presenter) {
	if o == nil {
		return nil
	}
	for _, t := range o.tellings {
		if fits(t) {
			chosen = append(chosen, t.p)
		}
	}
	return chosen
}

// forEach calls f with each presenter, if there are any.
func (o *outputs) forEach(f func(p *present.Presenter)) {
	for _, p := range o.presenters() {
		f(p)
	}
}

// planAll plans something for each output, if there are any.
func (o *outputs) planAll(do func(a *announce.Announcer, now time.Time)) {
	o.forEach(func(p *present.Presenter) { p.Plan(do) })
}

// printsLines reports whether the terminal prints what agents say: where the person wants that, or
// no other output with words is left.
func (o *outputs) printsLines() bool {
	return o == nil || o.plain || !slices.ContainsFunc(o.withWords(), (*present.Presenter).Presents)
}

// useOutputs opens the outputs with these names, which then say what the terminal would print, and
// l.Status too. The error says which cannot be opened; the Listener is then to be given up.
func (l *Listener) useOutputs(ctx context.Context, names []string, options outputOptions) (err error) {
	l.out, err = openOutputs(ctx, names, options, l.informOfOutput, l.printUnsaid, l.preferences(false))
	if err != nil {
		return err
	}
	l.Status.Also = func(text string) { l.out.forEach(func(p *present.Presenter) { p.Tell(text, false) }) }
	return nil
}

// printUnsaid prints what an output has no voice for, unless it stands on the terminal already, as
// text or within an event. The goroutine that presents over that output calls it.
func (l *Listener) printUnsaid(u announce.Utterance) {
	if !l.out.plain && !l.json {
		l.PrintLabelled("", u.Text)
	}
}

// informOfOutput says that an output is gone, and that it is tried again, or that it is there
// again: id is the phrase, arg the output's name.
func (l *Listener) informOfOutput(id phrase.ID, arg string) {
	sentences := []string{l.PhraseText(id, arg)}
	if id == phrase.OutputGone {
		sentences = append(sentences, l.PhraseText(phrase.TryingAgain, ""))
	}
	l.informPerson(sentences...)
}

// runOutputCommand obeys a command of the Announcer, such as again or skip, at all outputs, and
// reports whether name is one.
func (l *Listener) runOutputCommand(name string) bool {
	commands := map[string]func(*present.Presenter){
		"again": (*present.Presenter).Again, "where": (*present.Presenter).WhereAreWe,
		"waiting": (*present.Presenter).WhatWaits, "details": (*present.Presenter).Details,
		"spell": (*present.Presenter).Spell, "skip": (*present.Presenter).Skip, "newest": (*present.Presenter).Newest,
		"next": (*present.Presenter).NextQuestion,
	}[name]
	if commands == nil {
		return false
	}
	for _, p := range l.allOutputs() {
		commands(p)
	}
	return true
}

// lookAtPace is how often the pace is looked at, while something happens.
const lookAtPace = 20 * time.Second

// keepPace asks the agents for the pace that the person really listens at, no more often than every
// lookAtPace. It does nothing without outputs that know when they have spoken. An agent that
// refused a pace is left alone.
func (l *Listener) keepPace(ctx context.Context) {
	if l.out == nil || time.Since(l.paced) < lookAtPace {
		return
	}
	l.paced = time.Now()
	timed := l.out.choose(func(t *personOutput) bool { return t.knows })
	for _, f := range l.agents {
		if f.changing || f.paceless || f.ended {
			continue
		}
		if wpm := present.Pace(f.currentTerms().PaceWPM, timed...); wpm != 0 && wpm != f.pace {
			f.pace = wpm
			f.changeTerms(ctx, aaep.Capabilities{PaceWPM: wpm})
		}
	}
}
