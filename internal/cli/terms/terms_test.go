package terms

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/subscriber"
)

// askedBy is what flags ask for, and the error they end with. "PROFILE" among them is a file of
// this text.
func askedBy(t *testing.T, profile string, args ...string) (aaep.Capabilities, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(name, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	if profile != "" {
		args = append(args, "--profile", name)
	}
	cmd := &cobra.Command{Use: "listen"}
	a := AddFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	c, err := a.ParseCapabilities()
	if err != nil {
		return c, strings.ReplaceAll(strings.TrimSuffix(err.Error(), "\nSee: aaep listen --help"), name, "mine.json")
	}
	return c, ""
}

// The preset comes first, the profile goes over it, and the other flags over both. HS-008
func TestAsking(t *testing.T) {
	noHistory := aaep.EventFilters{Include: []string{"aaep:agent.*"}, Exclude: []string{"aaep:agent.state.changed"}}
	for _, tt := range []struct {
		args    string
		profile string
		want    aaep.Capabilities
	}{
		{"", "", subscriber.ScreenReader("en-US")},
		{"--as voice-control", "", subscriber.VoiceControl("en-US")},
		{"--as braille", "", subscriber.Braille(40, "en-US")},
		{"--as braille --cells 14 --language yo,en", "", subscriber.Braille(14, "yo", "en")},
		{"--as captions", "", subscriber.Captions("en-US")},
		{"--as switch --load low", "", subscriber.Switch("en-US").With(aaep.Capabilities{CognitiveLoad: aaep.LoadLow})},
		{"--as haptic", "", subscriber.Haptic(HapticPatterns...).With(aaep.Capabilities{Languages: []string{"en-US"}})},
		{"--as logger --rate 100000", "", subscriber.Logger().With(aaep.Capabilities{Languages: []string{"en-US"},
			MaxEventsPerSecond: 100000})},
		{"--rate 1 --verbosity terse --boundary completion --pace 300", "",
			subscriber.ScreenReader("en-US").With(aaep.Capabilities{
				MaxEventsPerSecond: 1, PreferredVerbosity: aaep.VerbosityTerse,
				CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryCompletion}, PaceWPM: 300})},
		{"--boundary word", "", subscriber.ScreenReader("en-US").With(aaep.Capabilities{
			CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryWord, aaep.BoundaryCompletion}})},
		{"--rate 5", `{"max_events_per_second": 9, "languages": ["de"], "pace_wpm": 90}`,
			subscriber.ScreenReader("de").With(aaep.Capabilities{
				MaxEventsPerSecond: 5, PaceWPM: 90})},
		{"--language es", `{"languages": ["de"]}`, subscriber.ScreenReader("es")},
		{"--exclude aaep:agent.state.changed", `{"event_filters": {"include": ["aaep:agent.*"]}}`,
			subscriber.ScreenReader("en-US").With(aaep.Capabilities{EventFilters: &noHistory})},
		{"--include medai:*,aaep:agent.* --include *", "", subscriber.ScreenReader("en-US").With(aaep.Capabilities{
			EventFilters: &aaep.EventFilters{Include: []string{"*", "aaep:agent.*", "medai:*"}}})},
	} {
		got, wrong := askedBy(t, tt.profile, strings.Fields(tt.args)...)
		if wrong != "" || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s %s: %s\n%+v, want\n%+v", tt.args, tt.profile, wrong, got, tt.want)
		}
	}
	got, wrong := askedBy(t, `{"supported_extensions": ["https://acme.example/x"], "acme": {}}`, "--as", "switch")
	if want := []string{"https://acme.example/x", extensions.DeliveryVocabulary.URI,
		extensions.TimingVocabulary.URI}; wrong != "" || !reflect.DeepEqual(got.SupportedExtensions, want) ||
		got.Extensions["timing"] == nil {
		t.Errorf("%s %+v, want the extensions of both", wrong, got)
	}
}

// A wrong word gets one error that says which, what would be right and what it was. HS-012, HS-015,
// HS-017, HS-023, HS-025, HS-035, HS-037, HS-041
func TestAskingRefused(t *testing.T) {
	const types = "must be types of events such as aaep:agent.state.changed, or how they begin and *, such as aaep:agent.state.*; it is "
	const such = `; an example is {"preferred_verbosity": "terse", "pace_wpm": 300}`
	for _, tt := range []struct{ args, profile, want string }{
		{"--rate 0", "", `--rate must be a whole number from 1 to 100000; it is "0".`},
		{"--rate 1.5", "", `--rate must be a whole number from 1 to 100000; it is "1.5".`},
		{"--rate=", "", `--rate must be a whole number from 1 to 100000; it is "".`},
		{"--pace 49", "", `--pace must be a whole number from 50 to 1000; it is "49".`},
		{"--load heavy", "", `--load must be low, medium or high; it is "heavy".`},
		{"--verbosity TERSE", "", `--verbosity must be terse, normal or detailed; it is "TERSE".`},
		{"--boundary letter", "", `--boundary must be none, word, sentence, paragraph or completion; it is "letter".`},
		{"--language german", "", `--language must be language tags such as en-US, best first and joined by commas; it is "german".`},
		{"--language en,en", "", `--language must be language tags such as en-US, best first and joined by commas; it is "en,en".`},
		{"--as tongue", "", `--as must be screen-reader, voice-control, braille, captions, haptic, logger or switch; it is "tongue".`},
		{"--cells 40", "", `--cells is for a braille display; use it with --as braille.`},
		{"--as braille --cells 1001", "", `--cells must be a whole number from 1 to 1000; it is "1001".`},
		{"--include progress", "", `--include ` + types + `"progress".`},
		{"--exclude aaep:agent.*.changed", "", `--exclude ` + types + `"aaep:agent.*.changed".`},
		{"--include aaep:agent.sesion.*", "", `--include: "aaep:agent.sesion.*" matches no event; there is aaep:agent.session.*.`},
		{"--include *,aaep:agent.tool", "",
			`--include: "aaep:agent.tool" matches no event; there is aaep:agent.tool.* or aaep:agent.tool.invoked or aaep:agent.tool.completed.`},
		{"--exclude medai:*,aaep:agent.output.streming", "",
			`--exclude: "aaep:agent.output.streming" matches no event; there is aaep:agent.output.streaming.`},
		{"--exclude aaep:agent.x", "", `--exclude: "aaep:agent.x" matches no event; there is aaep:agent.session.*, ` +
			`aaep:agent.state.*, aaep:agent.progress.*, aaep:agent.tool.*, aaep:agent.output.*, aaep:agent.awaiting.*, aaep:agent.handoff.*, ` +
			`aaep:agent.session.started, aaep:agent.session.completed, aaep:agent.session.errored, aaep:agent.session.cancelled, ` +
			`aaep:agent.state.changed, aaep:agent.progress.updated, aaep:agent.tool.invoked, aaep:agent.tool.completed, aaep:agent.output.streaming, ` +
			`aaep:agent.awaiting.confirmation, aaep:agent.awaiting.clarification or aaep:agent.handoff.requested.`},
		{"", `{"event_filters": {"exclude": ["aaep:agent.sesion.*"]}}`,
			`the profile mine.json cannot be used: event_filters "aaep:agent.sesion.*" matches no event; there is aaep:agent.session.*`},
		{"", `{"languages": "en"}`, `the profile mine.json cannot be used: languages must be a list, and not a JSON string`},
		{"--exclude :x", "", `--exclude ` + types + `":x".`},
		{"", `{"max_events_per_second": 0}`, `the profile mine.json cannot be used: max_events_per_second must be at least 1`},
		{"", `{"max_events_per_second": "3"}`,
			`the profile mine.json cannot be used: max_events_per_second must be an integer`},
		{"", `{"max_event_per_second": 3}`, `the profile mine.json cannot be used: max_event_per_second is no capability of AAEP; if it is an extension it must be an object`},
		{"", `{"languages": null}`, `the profile mine.json cannot be used: languages must not be null; leave the member out instead`},
		{"", `{"languages": ["en"], "languages": ["es"]}`,
			`the profile mine.json cannot be used: languages duplicate object member name`},
		{"", `{"coalesce_boundaries": ["letter"]}`,
			`the profile mine.json cannot be used: coalesce_boundaries 0 must be one of none, word, sentence, paragraph, completion`},
		{"", `{"braille": {"cells": 0}, "supported_extensions": ["` + extensions.BrailleVocabulary.URI + `"]}`,
			`the profile mine.json cannot be used: braille cells must be at least 1`},
		{"", "{\n\n\"languages\": [}", "the profile mine.json cannot be used: line 3 is not JSON: invalid character '}' looking for beginning of value" + such},
		{"", `{}, "subscriber_id": {}`, "the profile mine.json cannot be used: line 1 is not JSON: invalid character ',' after top-level value" + such},
		{"", ` `, "the profile mine.json cannot be used: line 1 is not JSON: unexpected end of JSON input" + such},
		{"", `["en"]`, "the profile mine.json cannot be used: it is not a JSON object" + such},
		{"", `{"x": "` + strings.Repeat(" ", maxProfile) + `"}`,
			"the profile mine.json cannot be used: it is too long"},
	} {
		if _, got := askedBy(t, tt.profile, strings.Fields(tt.args)...); got != tt.want {
			t.Errorf("%s %.60s: %s\nwant %s", tt.args, tt.profile, got, tt.want)
		}
	}
}

// Terms are said in words, and so is what was not granted. D-45
func TestInWords(t *testing.T) {
	for _, tt := range []struct {
		c    aaep.Capabilities
		want string
	}{
		{subscriber.ScreenReader("en-US"), "at most 2 events a second, in the language en-US, in a normal number of words, answers sentence by sentence, the usual steps, and questions to decide"},
		{subscriber.Braille(20, "yo", "en"), "at most 1 event a second, in the language yo, or else en, in few words, answers when they are whole, the usual steps, text cut to 20 cells, 3 times the time to answer, and questions to decide"},
		{subscriber.Haptic("buzz", "pulse"), "at most 1 event a second, in the agent's own language, in few words, answers when they are whole, only the main steps, only what is critical and aaep:agent.session.* and aaep:agent.state.changed, the patterns buzz and pulse, and no questions"},
		{subscriber.Logger(), "every event as it comes, in the agent's own language, in many words, answers as they are written, every small step, and no questions"},
		{aaep.Capabilities{MaxEventsPerSecond: 100000,
			CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryParagraph, aaep.BoundaryWord}, PaceWPM: 300,
			CognitiveLoad: aaep.LoadLow, EventFilters: &aaep.EventFilters{Include: []string{},
				Exclude: []string{"a:b"}},
			Extensions: map[string]json.RawMessage{"acme": json.RawMessage("{}"), "timing": json.RawMessage(`3`),
				"delivery": json.RawMessage(`{"presence":"user_typing"}`)}},
			"at most 100,000 events a second, in the agent's own language, in a normal number of words, answers paragraph by paragraph, only the main steps, " +
				"a pace of 300 words a minute, only what is critical and nothing else, without a:b, the extension acme, quiet, except for what cannot wait, and no questions"},
	} {
		if got := uilang.AndList(InWords(uilang.English, tt.c, EveryTerm(tt.c))); got != tt.want {
			t.Errorf("%q, want\n%q", got, tt.want)
		}
	}
}

func TestNotGranted(t *testing.T) {
	asked := subscriber.Braille(20, "yo", "en-US", "de")
	for _, tt := range []struct {
		name    string
		honored aaep.Capabilities
		note    string
		want    string
	}{
		{"all", asked, "", ""},
		{"what is left out is as asked for", aaep.Capabilities{Extensions: asked.Extensions}, "", ""},
		{"a wider tag", aaep.Capabilities{Languages: []string{"yo", "en", "DE"}, Extensions: asked.Extensions}, "", ""},
		{"no extensions", aaep.Capabilities{}, "", "text cut to 20 cells, 3 times the time to answer"},
		{"less of everything", aaep.Capabilities{PreferredVerbosity: aaep.VerbosityNormal,
			Languages: []string{"en-US"}, CognitiveLoad: aaep.LoadMedium,
			SupportsConfirmationReply: new(false), CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence},
			Extensions: asked.Extensions},
			"", "in few words, answers when they are whole, questions to decide, the language yo, the language de"},
		{"the agent says why", aaep.Capabilities{PreferredVerbosity: aaep.VerbosityNormal}, "Verbosity is normal.",
			"text cut to 20 cells, 3 times the time to answer"},
		{"the agent says that others are asked",
			aaep.Capabilities{SupportsConfirmationReply: new(false), Extensions: asked.Extensions},
			"You may listen here, but questions are put to others.", "questions to decide"},
		{"the agent says something else", aaep.Capabilities{SupportsConfirmationReply: new(false),
			Extensions: asked.Extensions},
			"At most 5 events per second are served.", "questions to decide"},
	} {
		if got := strings.Join(NotGranted(uilang.English, asked, InForce(asked, tt.honored), tt.note),
			", "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	fast := aaep.Capabilities{MaxEventsPerSecond: 50}
	if got := NotGranted(uilang.English, fast, InForce(fast, aaep.Capabilities{MaxEventsPerSecond: 5}),
		""); len(got) != 1 || got[0] != "at most 50 events a second" {
		t.Errorf("a lower rate: %q", got)
	}
}

// What is felt comes before the words, and cannot pretend to be other lines.
func TestFelt(t *testing.T) {
	for data, want := range map[string]string{
		``: "", `{"pattern":"buzz buzz"}`: "[buzz buzz]", `{"pattern":"a\nb"}`: "[a b]", `{"pattern":3}`: "", `[]`: "",
		`{"location":"wrist"}`: "",
	} {
		ev := clitest.Event(clitest.Pay(), "")
		if data != "" {
			ev.Extensions = map[string]json.RawMessage{"haptic": json.RawMessage(data)}
		}
		if got := HapticPattern(ev, subscriber.Haptic("long")); got != want {
			t.Errorf("felt(%s) = %q, want %q", data, got, want)
		}
	}
	waits := clitest.Event(&aaep.StateChanged{ToState: aaep.StateAwaitingInput}, "")
	if got := HapticPattern(waits, subscriber.Haptic("long", "short")) + HapticPattern(waits,
		subscriber.ScreenReader()); got != "[long]" {
		t.Errorf("that the agent waits is felt as %q, want the first pattern, and only by a device", got)
	}
}
