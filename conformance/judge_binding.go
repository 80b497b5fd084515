package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep/internal/requirements"
	"github.com/aaep-go/aaep/internal/violation"
)

const (
	noteBreach = "below the messages: " // and what the transport noticed that breaks a rule
	noteAdvice = "against advice: "     // and what breaks a SHOULD
	noteBeyond = "beyond the level: "   // and what breaks a rule of a higher one
	noteAside  = "noticed: "            // and what breaks no rule, but may be why nothing works
)

// bindingCases judge what is below the messages, which the transport sees and the runner does not.
var bindingCases = []Case{
	{Name: "binding", Requirements: []string{"TR-004"}, Level: 1, Strength: Must,
		Also: []string{"SSE-004", "SSE-006", "SSE-010", "SSE-016", "WS-002", "WS-009", "IPC-008", "IPC-009", "GRPC-002",
			"STDIO-001", "STDIO-002", "STDIO-004", "STDIO-010"},
		plays: bindingRuns,
		Rule:  "messages are carried as the binding of the transport says", Judge: violationsOfKind(noteBreach)},
	{Name: "binding-advice", Requirements: []string{"WS-004"}, Level: 1, Strength: Should, plays: bindingRuns,
		Rule: "messages are carried as the binding of the transport advises", Judge: violationsOfKind(noteAdvice)},
}

var bindingRuns = slices.Concat(wholeRuns, handshakeRuns, []string{"turned-away", "shutdown"})

// subscriberBindingCases judge the same of a subscriber, in whatever is run.
var subscriberBindingCases = []Case{
	{Name: "binding", Requirements: []string{"TR-004"}, Level: 1, Strength: Must,
		Also: []string{"SSE-003", "SSE-005", "SSE-009", "SSE-015", "CONF-014", "WS-002", "WS-009", "IPC-009",
			"GRPC-002", "STDIO-001", "STDIO-003", "STDIO-005", "STDIO-006"},
		plays: []string{"story"}, everywhere: true,
		Rule: "messages are carried as the binding of the transport says", Judge: violationsOfKind(noteBreach)},
	{Name: "binding-advice", Requirements: []string{"WS-004"}, Level: 1, Strength: Should, plays: []string{"story"},
		everywhere: true,
		Rule:       "messages are carried as the binding of the transport advises",
		Judge:      violationsOfKind(noteAdvice)},
}

const unreported = "what is below the messages was not judged, for this link tells nothing of it"

// violationsOfKind returns a judge that fails for violations of one kind that the transport
// reported, each a problem. A transport that reports none to the suite is skipped. Without a
// message it is inconclusive, unless a stream was opened; where the run was not played there is
// nothing to judge.
func violationsOfKind(kind string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		var wrong []problem
		for _, e := range r.Entries {
			if text, ok := strings.CutPrefix(e.Note, kind); ok {
				wrong = append(wrong, problem{text, e})
			}
		}
		switch {
		case len(wrong) > 0:
			return Finding{Verdict: Fail, problems: wrong}
		case !r.watched:
			return Finding{Verdict: Skipped, Seen: unreported}
		case len(r.messagesOn(0, false)) == 0 && r.mute != "":
			return nothingToJudge("it was not played, for nothing would have been seen")
		case len(r.messagesOn(0, false)) == 0 &&
			!slices.ContainsFunc(r.Entries, func(e Entry) bool { return strings.HasPrefix(e.Note, noteStream) }):
			return inconclusiveFinding("no message came")
		}
		return passFinding("the transport noticed nothing that its binding forbids")
	}
}

// withReporter returns a context whose Reporter records violations that a transport sees on a link,
// each once: as a breach, as advice, or as beyond the level that is judged.
func (t *recorder) withReporter(ctx context.Context, link, level int) context.Context {
	ctx, used := violation.WithReporter(ctx, func(id, text string) {
		kind := noteAside
		if row, ok := requirements.Find(id); ok {
			text = fmt.Sprintf("%s (%s)", text, id)
			if from, err := strconv.Atoi(row.Level); err == nil && from > level {
				kind = noteBeyond
			} else if row.Strength == string(Must) {
				kind = noteBreach
			} else if row.Strength == string(Should) {
				kind = noteAdvice
			}
		}
		if _, known := t.snapshot().noteOn(link, kind+text); !known {
			t.addEntry(Entry{Link: link, Note: kind + text})
		}
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reporters = append(t.reporters, used)
	return ctx
}

// addHigherLevelWarnings adds to the warnings what breaks rules that the level does not have yet.
func (r *Report) addHigherLevelWarnings(rec *Recording) {
	for _, e := range rec.Entries {
		text, ok := strings.CutPrefix(e.Note, noteBeyond)
		if said := "not of this level, and judged at a higher one: " + text; ok && !slices.Contains(r.Warnings, said) {
			r.Warnings = append(r.Warnings, said)
		}
	}
}

// firstViolations returns the first three things that a transport noticed, of whatever kind, in one
// line; "" where it noticed nothing.
func (r *Recording) firstViolations() string {
	var all []string
	for _, e := range r.Entries {
		for _, kind := range []string{noteBreach, noteAdvice, noteBeyond, noteAside} {
			if text, ok := strings.CutPrefix(e.Note, kind); ok && len(all) < 3 {
				all = append(all, text)
			}
		}
	}
	return strings.Join(all, "; ")
}
