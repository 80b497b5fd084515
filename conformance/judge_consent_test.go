package conformance

import (
	"slices"
	"strings"
	"testing"
)

// A producer that says it begins before it asks is told so, and is not told that it did what it
// held back. LVL-019, SM-013
func TestBegunBeforeAsked(t *testing.T) {
	const (
		begins = `{"type":"aaep:agent.tool.invoked","session_id":"sess_1","tool":"pay","tool_call_id":"call_1","risk_level":"high","irreversible":true}`
		asks   = `{"type":"aaep:agent.awaiting.confirmation","session_id":"sess_1","reply_token":"rpl_1"}`
		fails  = `{"type":"aaep:agent.tool.completed","session_id":"sess_1","tool":"pay","tool_call_id":"call_1","status":"error"}`
		works  = `{"type":"aaep:agent.tool.completed","session_id":"sess_1","tool":"pay","tool_call_id":"call_1","status":"success"}`
	)
	for _, tt := range []struct {
		name   string
		events []string
		want   Verdict
	}{
		{"held back", []string{begins, asks, fails}, Inconclusive},
		{"done", []string{begins, asks, works}, Fail},
		{"never said how it ended", []string{begins, asks}, Inconclusive},
		{"begun after the question", []string{asks, begins, fails}, Fail},
		{"never begun", []string{asks}, Pass},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Recording{read: map[int]object{}}
			for _, ev := range tt.events {
				r.Entries = append(r.Entries, Entry{Data: []byte(ev)})
				if ev == asks {
					r.Entries = append(r.Entries,
						Entry{Sent: true, Data: []byte(`{"type":"confirmation.reply","decision":"reject"}`)})
				}
			}
			if f := judgeNeverRun("it was rejected")(r); f.Verdict != tt.want {
				t.Errorf("%v: %s, want %v", f.Verdict, f.Seen, tt.want)
			}
		})
	}
}

// What the tool was run for is among the evidence, also where not everybody would read it alike.
// CONF-019
func TestEvidenceIsWhole(t *testing.T) {
	const twice = `{"type":"confirmation.reply","decision":"reject","decision":"accept"}`
	r := &Recording{read: map[int]object{}, Entries: []Entry{
		{Data: []byte(`{"type":"aaep:agent.awaiting.confirmation","session_id":"sess_1","reply_token":"rpl_1"}`)},
		{Sent: true, Data: []byte(twice)},
		{Data: []byte(`{"type":"aaep:agent.tool.invoked","session_id":"sess_1","tool":"pay","risk_level":"high","irreversible":true}`)},
	}}
	f := judgeNeverRun("no valid accept was sent")(r)
	if f.Verdict != Fail || !slices.ContainsFunc(f.Evidence,
		func(e Entry) bool { return strings.Contains(string(e.Data), twice) }) {
		t.Errorf("%v with the evidence %v", f.Verdict, f.Evidence)
	}
}

// A session that is cancelled while it asks is judged by its own end, and not by that of another
// session which the agent has at the same time. CONF-051
func TestCancelledIsNo(t *testing.T) {
	const (
		asks      = `{"type":"aaep:agent.awaiting.confirmation","session_id":"sess_1","reply_token":"rpl_1"}`
		cancels   = `{"type":"aaep:agent.session.cancelled","session_id":"sess_1"}`
		otherEnds = `{"type":"aaep:agent.session.completed","session_id":"sess_2"}`
		cancelsIt = `{"type":"aaep:agent.session.cancelled","session_id":"sess_2"}`
	)
	judge := Match(Cases(), "cancelled-is-no")[0].Judge
	for _, tt := range []struct {
		name   string
		events []string
		want   Verdict
	}{
		{"another ends before", []string{asks, otherEnds, cancels}, Pass},
		{"another is cancelled alone", []string{asks, cancelsIt}, Fail},
		{"it is cancelled", []string{asks, cancels}, Pass},
		{"nothing ends", []string{asks}, Fail},
	} {
		r := &Recording{read: map[int]object{}}
		for _, ev := range tt.events {
			r.Entries = append(r.Entries, Entry{Data: []byte(ev)})
		}
		if f := judge(r); f.Verdict != tt.want {
			t.Errorf("%s: %v: %s, want %v", tt.name, f.Verdict, f.Seen, tt.want)
		}
	}
}
