package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep/internal/requirements"
	"github.com/aaep-go/aaep/transports"
)

// noteBreach begins what the transport noticed below the messages.
const noteBreach = "below the messages: "

// bindingCases judge what is below the messages, which the transport sees and the runner does not.
var bindingCases = []Case{
	{Name: "binding", Requirements: []string{"TR-004"}, Level: 1, Strength: Must,
		Also: []string{"SSE-004", "SSE-006", "SSE-010", "SSE-016", "WS-002", "WS-009", "IPC-008", "IPC-009",
			"STDIO-001", "STDIO-002", "STDIO-004", "STDIO-010"},
		plays: slices.Concat(wholePlays, []string{"turned-away", "future-version", "shutdown"}),
		Rule:  "messages are carried as the binding of the transport says", Judge: func(r *Recording) Finding {
			var wrong []problem
			for _, e := range r.Entries {
				if text, ok := strings.CutPrefix(e.Note, noteBreach); ok {
					wrong = append(wrong, problem{text, e})
				}
			}
			switch {
			case len(wrong) > 0:
				return Finding{Verdict: Fail, problems: wrong}
			case len(r.all(0, false)) == 0:
				return unseen("no message came")
			}
			return pass("the transport noticed nothing that its binding forbids")
		}},
}

// witness notes what breaks a rule that the target has at the level, each thing once for a link.
func (l *link) witness() transports.Witness {
	level := l.st.run.Level
	return func(id, text string) {
		if row, ok := requirements.Find(id); ok {
			if from, err := strconv.Atoi(row.Level); err == nil && from > level {
				return
			}
		}
		note := noteBreach + fmt.Sprintf("%s (%s)", text, id)
		if _, known := l.st.tape.now().noted(l.n, note); !known {
			l.st.tape.add(Entry{Link: l.n, Note: note})
		}
	}
}
