// Package terms has the terms that a person asks of an agent, and those that they got. Their flags
// are in terms.go: --as and --cells, --profile, --rate, --verbosity, --boundary, --language,
// --load, --pace, --include and --exclude, and the lines such as /rate that change them while they
// listen. Both in words are in agreed.go. Begin with AddFlags. It subscribes to nothing.
package terms

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/subscriber"
)

// A Wish is one thing a person may ask for by a word, as a flag or while they listen.
type Wish struct {
	Name string
	Must string // what the word must be
	Form string // a line with the command, as an example
	help string // of the flag
	// set writes the word into c, and reports false where it is not what it must be.
	Set func(c *aaep.Capabilities, word string) bool
}

var Wishes = []Wish{
	{"rate", fmt.Sprintf("a whole number from 1 to %d", aaep.MaxRate), fmt.Sprintf("/rate 1-%d", aaep.MaxRate),
		fmt.Sprintf("at most `N` events in a second, from 1 to %d", aaep.MaxRate),
		func(c *aaep.Capabilities, word string) bool {
			return SetWhole(&c.MaxEventsPerSecond, word, 1, aaep.MaxRate)
		}},
	{"verbosity", "terse, normal or detailed", "/verbosity terse, /verbosity normal, /verbosity detailed",
		"how many `WORDS`: terse, normal or detailed", func(c *aaep.Capabilities, word string) bool {
			c.PreferredVerbosity = aaep.Verbosity(word)
			return slices.Contains([]string{"terse", "normal", "detailed"}, word)
		}},
	{"boundary", "none, word, sentence, paragraph or completion",
		"/boundary none, /boundary word, /boundary sentence, /boundary paragraph, /boundary completion",
		"where answers are `CUT`: none, word, sentence, paragraph or completion",
		func(c *aaep.Capabilities, word string) bool {
			c.CoalesceBoundaries = slices.Compact([]aaep.Boundary{aaep.Boundary(word), aaep.BoundaryCompletion})
			return slices.Contains([]string{"none", "word", "sentence", "paragraph", "completion"}, word)
		}},
	{"language", "language tags such as en-US, best first and joined by commas", "/language es,en",
		"`TAGS` of languages, best first and joined by commas (default: your system's, and en-US)",
		func(c *aaep.Capabilities, word string) bool {
			c.Languages = strings.Split(word, ",")
			seen := map[string]bool{}
			for i, tag := range c.Languages {
				tag = strings.TrimSpace(tag)
				if c.Languages[i] = tag; !aaep.ValidLanguageTag(tag) || !phrase.IsLanguageTag(tag) || seen[tag] || i >= 32 {
					return false
				}
				seen[tag] = true
			}
			return true
		}},
	{"load", "low, medium or high", "/load low, /load medium, /load high",
		"how `MUCH` is told: low, medium or high; low leaves out progress and small steps",
		func(c *aaep.Capabilities, word string) bool {
			c.CognitiveLoad = aaep.CognitiveLoad(word)
			return slices.Contains([]string{"low", "medium", "high"}, word)
		}},
	{"pace", "a whole number from 50 to 1000", "/pace 50-1000",
		"how many words a minute your voice speaks, `WPM` from 50 to 1000",
		func(c *aaep.Capabilities, word string) bool {
			return SetWhole(&c.PaceWPM, word, 50, 1000)
		}},
}

// SetWhole parses a whole number, and reports whether it is one from least to most.
func SetWhole(to *int64, word string, least, most int64) bool {
	n, err := strconv.ParseInt(word, 10, 64)
	*to = n
	return err == nil && n >= least && n <= most
}

// An aid is what --as names.
type aid struct {
	name   string
	preset func(cells int, languages []string) aaep.Capabilities
}

var aids = []aid{
	{"screen-reader", func(_ int, tags []string) aaep.Capabilities { return subscriber.ScreenReader(tags...) }},
	{"voice-control", func(_ int, tags []string) aaep.Capabilities { return subscriber.VoiceControl(tags...) }},
	{"braille", func(cells int, tags []string) aaep.Capabilities { return subscriber.Braille(cells, tags...) }},
	{"captions", func(_ int, tags []string) aaep.Capabilities { return subscriber.Captions(tags...) }},
	{"haptic", func(_ int, tags []string) aaep.Capabilities {
		return subscriber.Haptic(HapticPatterns...).With(aaep.Capabilities{Languages: tags})
	}},
	{"logger", func(_ int, tags []string) aaep.Capabilities {
		return subscriber.Logger().With(aaep.Capabilities{Languages: tags})
	}},
	{"switch", func(_ int, tags []string) aaep.Capabilities { return subscriber.Switch(tags...) }},
}

// HapticPatterns are what the haptic device of a terminal has: words to read. The first stands for
// what is critical.
var HapticPatterns = []string{"buzz buzz", "buzz", "long buzz"}

// Flags is what a person asks for on the command line: a preset, a profile over it, and
// flags over both.
type Flags struct {
	as, cells, profile string
	words              map[string]*string // by wish
	include, exclude   []string
	flags              interface{ Changed(string) bool }
}

// AddFlags adds to a command the flags of what to ask an agent for. The result has their values
// once the command runs.
func AddFlags(cmd *cobra.Command) *Flags {
	f := cmd.Flags()
	a := &Flags{words: map[string]*string{}, flags: f}
	f.StringVar(&a.as, "as", "screen-reader", "ask for what suits a `DEVICE` (default screen-reader):\n"+DeviceNames())
	f.Lookup("as").DefValue = "" // it is said in the first line
	f.StringVar(&a.cells, "cells", "40", "how many `CELLS` the braille display has, with --as braille")
	f.StringVar(&a.profile, "profile", "", "ask for what a JSON `FILE` says, as it is on the wire; it goes over --as")
	for _, t := range Wishes {
		a.words[t.Name] = f.String(t.Name, "", t.help)
	}
	f.StringSliceVar(&a.include, "include", nil,
		"send only events of these `TYPES`, such as aaep:agent.session.*, and what is critical")
	f.StringSliceVar(&a.exclude, "exclude", nil, "leave out events of these `TYPES`, such as aaep:agent.state.changed")
	return a
}

// DeviceNames returns the names that --as takes, as a list in words.
func DeviceNames() string {
	var names []string
	for _, d := range aids {
		names = append(names, d.name)
	}
	return orList(names)
}

// orList joins words with an "or" before the last.
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// ParseCapabilities returns what to ask for: what suits the device of --as, with the profile over
// it and the other flags over both. The error says which word is wrong and what would be right.
func (a *Flags) ParseCapabilities() (aaep.Capabilities, error) {
	wrong := func(flag, problem string) (aaep.Capabilities, error) {
		return aaep.Capabilities{}, exits.UsageError("--%s must be %s; it is %q.\nSee: aaep listen --help", flag,
			MustBe(flag), problem)
	}
	var flags aaep.Capabilities
	for _, t := range Wishes {
		if word := *a.words[t.Name]; a.flags.Changed(t.Name) && !t.Set(&flags, word) {
			return wrong(t.Name, word)
		}
	}
	for _, list := range []struct {
		flag     string
		patterns []string
	}{{"include", a.include}, {"exclude", a.exclude}} {
		for _, pattern := range list.patterns {
			if !validPattern(pattern) {
				return wrong(list.flag, pattern)
			}
			if fault := DescribeUnmatched(pattern); fault != "" {
				return aaep.Capabilities{}, exits.UsageError("--%s: %s.\nSee: aaep listen --help", list.flag, fault)
			}
		}
	}
	i := slices.IndexFunc(aids, func(d aid) bool { return d.name == a.as })
	if i < 0 {
		return wrong("as", a.as)
	}
	if a.flags.Changed("cells") && a.as != "braille" {
		return aaep.Capabilities{}, exits.UsageError("--cells is for a braille display; use it with --as braille.\nSee: aaep listen --help")
	}
	var cells int64
	if !SetWhole(&cells, a.cells, 1, 1000) {
		return wrong("cells", a.cells)
	}
	c := aids[i].preset(int(cells), uilang.SystemLanguages())
	if a.profile != "" {
		profile, err := readProfile(a.profile)
		if err != nil {
			return aaep.Capabilities{}, err
		}
		c = mergeTerms(c, profile)
	}
	c = c.With(flags)
	c.EventFilters = a.filtersOver(c.EventFilters)
	return c, nil
}

// filtersOver returns filters with the patterns of --include and --exclude in place of theirs, as
// far as those flags are given, each once and sorted; nil is no filters.
func (a *Flags) filtersOver(filters *aaep.EventFilters) *aaep.EventFilters {
	if a.include == nil && a.exclude == nil {
		return filters
	}
	var changed aaep.EventFilters
	if filters != nil {
		changed = *filters
	}
	if a.include != nil {
		changed.Include = slices.Compact(slices.Sorted(slices.Values(a.include)))
	}
	if a.exclude != nil {
		changed.Exclude = slices.Compact(slices.Sorted(slices.Values(a.exclude)))
	}
	return &changed
}

// MustBe returns, in words for an error, what the value of a flag must be; "" for a flag that is
// not one of a person's wishes.
func MustBe(flag string) string {
	for _, w := range Wishes {
		if w.Name == flag {
			return w.Must
		}
	}
	return map[string]string{
		"as": DeviceNames(), "cells": "a whole number from 1 to 1000",
		"profile": "the name of a file", "include": somePatterns, "exclude": somePatterns,
	}[flag]
}

const somePatterns = "types of events such as aaep:agent.state.changed, or how they begin and *, such as aaep:agent.state.*"

// ValidValue reports whether a flag of AddFlags may have a value, which may be a list. A
// profile is read later.
func ValidValue(flag, value string) bool {
	switch flag {
	case "as":
		return slices.ContainsFunc(aids, func(d aid) bool { return d.name == value })
	case "cells":
		return SetWhole(new(int64), value, 1, 1000)
	case "include", "exclude":
		return !slices.ContainsFunc(strings.Split(value, ","), func(s string) bool { return !validPattern(s) })
	}
	i := slices.IndexFunc(Wishes, func(w Wish) bool { return w.Name == flag })
	return i < 0 || Wishes[i].Set(new(aaep.Capabilities), value)
}

// mergeTerms returns c with change in place of what it says, and the supported extensions of both:
// each is asked for by itself.
func mergeTerms(c, change aaep.Capabilities) aaep.Capabilities {
	for _, uri := range c.SupportedExtensions {
		if change.SupportedExtensions != nil && !slices.Contains(change.SupportedExtensions, uri) {
			change.SupportedExtensions = append(slices.Clip(change.SupportedExtensions), uri)
		}
	}
	return c.With(change)
}

// validPattern reports whether a pattern can match a type: it has a prefix and a colon, as types
// have (§5.3.1.7), with a * at most at its end, or is the beginning of one, such as "*" or "aaep*".
func validPattern(pattern string) bool {
	literal, open := strings.CutSuffix(pattern, "*")
	prefix, _, typed := strings.Cut(literal, ":")
	return len(pattern) <= 256 && !strings.ContainsAny(literal, "* ") && (typed && prefix != "" || open && !typed)
}

// DescribeUnmatched returns what is wrong with patterns joined by commas, as --include takes them,
// or "": one begins as AAEP's own types do and matches none of them. It names those that are
// similar, else all. What an agent's extensions have is not known here, and left to the agent.
func DescribeUnmatched(patterns string) string {
	for pattern := range strings.SplitSeq(patterns, ",") {
		compact := string(aaep.CompactType(pattern))
		if !strings.HasPrefix(compact, "aaep:") || negotiation.MatchesCore(compact) {
			continue
		}
		var names []string
		for _, t := range negotiation.CoreTypes {
			family := string(t[:strings.LastIndexByte(string(t), '.')+1]) + "*"
			names = slices.Compact(append(names, family))
		}
		for _, t := range negotiation.CoreTypes {
			names = append(names, string(t))
		}
		return fmt.Sprintf("%q matches no event; there is %s", pattern,
			cmp.Or(exits.SimilarNames(compact, names), orList(names)))
	}
	return ""
}

const maxProfile = 1 << 20

// readProfile reads a capability object, as it stands in a subscription.request, from a file. The
// error names the file and says what is wrong in it.
func readProfile(name string) (aaep.Capabilities, error) {
	file, err := os.Open(name)
	if err != nil {
		return aaep.Capabilities{}, exits.UsageError("cannot read the profile: %s", exits.PlainError(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxProfile+1))
	if err != nil {
		return aaep.Capabilities{}, exits.UsageError("cannot read the profile: %s", exits.PlainError(err))
	}
	c, err := parseProfile(data)
	if err != nil {
		return aaep.Capabilities{}, exits.UsageError("the profile %s cannot be used: %w", name, err)
	}
	return c, nil
}

// parseProfile reads capabilities as they are on the wire, from a file of the person's own. The
// error says which member is wrong, or in which line the JSON is; a profile of more than maxProfile
// bytes is one.
func parseProfile(data []byte) (c aaep.Capabilities, err error) {
	const such = `; an example is {"preferred_verbosity": "terse", "pace_wpm": 300}`
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(data, new(json.RawMessage)); {
	case len(data) > maxProfile:
		return c, errors.New("it is too long")
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return c, fmt.Errorf("line %d is not JSON: %w%s", line, err, such)
	case err != nil:
		return c, err
	case bytes.TrimSpace(data)[0] != '{':
		return c, errors.New("it is not a JSON object" + such)
	}
	// As part of a request it is read exactly as a producer would read it.
	request := slices.Concat([]byte(`{"type":"subscription.request","aaep_version":"`+aaep.Version+
		`","subscriber_id":"profile","capabilities":`), data, []byte("}"))
	m, err := aaep.Decode(request)
	if err == nil {
		err = aaep.Validate(m)
	}
	if err == nil {
		c = m.(*aaep.SubscriptionRequest).Capabilities
		err = extensions.Check(c)
	}
	if f := c.EventFilters; err == nil && f != nil {
		if fault := DescribeUnmatched(strings.Join(slices.Concat(f.Include, f.Exclude), ",")); fault != "" {
			err = errors.New("event_filters " + fault)
		}
	}
	var invalid *aaep.InvalidError
	if errors.As(err, &invalid) {
		err = explainProfile(invalid)
	}
	return c, err
}

// explainProfile returns an error that says which members of a profile are wrong, without the
// numbers of the rules.
func explainProfile(invalid *aaep.InvalidError) error {
	var list []string
	for _, v := range invalid.Violations {
		_, member, _ := strings.Cut(v.Pointer, "/capabilities/")
		problem := v.Problem
		if v.Requirement == "HS-041" && !strings.Contains(member, "/") && problem == "must be an object" {
			problem = "is no capability of AAEP; if it is an extension it must be an object"
		}
		list = append(list, strings.TrimSpace(strings.ReplaceAll(member, "/", " ")+" "+problem))
	}
	return errors.New(strings.Join(list, "; "))
}

// Given reports whether a flag about the terms was given, or is in the person's settings.
func (a *Flags) Given(name string) bool { return a.flags.Changed(name) }

// GivenFlag returns the name of the first flag about the terms that was given, or "".
func (a *Flags) GivenFlag() string {
	names := []string{"as", "cells", "profile", "include", "exclude"}
	for _, w := range Wishes {
		names = append(names, w.Name)
	}
	for _, name := range names {
		if a.flags.Changed(name) {
			return name
		}
	}
	return ""
}
