package cli

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
)

// EVT-061: chunks that are at no boundary are held until they are sentences, until the answer is complete or its session is over; others
// are printed as they come, and so are all where that was asked for.
func TestSentencesOfTokens(t *testing.T) {
	raw := subscriber.ScreenReader("en-US").With(aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}})
	for name, tc := range map[string]struct {
		caps aaep.Capabilities
		hint aaep.Boundary
		end  aaep.Payload
		want string
	}{
		"at no boundary":   {subscriber.ScreenReader("en-US"), aaep.BoundaryNone, &aaep.OutputStreaming{OutputID: "o", Complete: true}, "The plan is ready.\nThe agent says: Action: It has\ntwo parts\n"},
		"the session ends": {subscriber.ScreenReader("en-US"), aaep.BoundaryNone, &aaep.SessionCompleted{}, "The plan is ready.\nThe agent says: Action: It has\ntwo parts\nDone. The agent finished.\n"},
		"at words":         {subscriber.ScreenReader("en-US"), aaep.BoundaryWord, &aaep.OutputStreaming{OutputID: "o", Complete: true}, "The\nplan\nis\nready.\nThe agent says: Action:\nIt\nhas\ntwo\nparts\n"},
		"as it is written": {raw, aaep.BoundaryNone, &aaep.OutputStreaming{OutputID: "o", Complete: true}, "The\nplan\nis\nready.\nThe agent says: Action:\nIt\nhas\ntwo\nparts\n"},
	} {
		var out, status strings.Builder
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		f := &following{listener: l, wanted: tc.caps}
		for _, token := range []string{"The ", "plan ", "is ", "ready. ", "Action: ", "It ", "has\n", "two ", "parts"} {
			f.announce(event(&aaep.OutputStreaming{Chunk: token, OutputID: "o", CoalesceHint: tc.hint}, ""))
		}
		f.announce(event(tc.end, ""))
		if got := out.String(); got != tc.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, tc.want)
		}
		if len(f.unfinished) > 0 {
			t.Errorf("%s: something is left", name)
		}
	}
}
