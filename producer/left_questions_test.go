package producer_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// summariesOf returns what is told after the events that had arrived.
func summariesOf(evs []*aaep.Event) (told []string) {
	for _, ev := range evs {
		told = append(told, ev.Text(aaep.VerbosityNormal))
	}
	return told
}

// INV-07, INV-16: an agent dies while a question is open. The process that goes on settles it in
// the audit log, whatever the sink can read back, and a subscriber that resumes is told that
// nothing was done.
func TestRestartSettlesAnOpenQuestion(t *testing.T) {
	for name, ask := range map[string]func(s *producer.Session){
		"Withdrawn, and not done: Pay $5.": func(s *producer.Session) { s.Tool(context.Background(), pay, succeed) },
		"The question was withdrawn: Which account?": func(s *producer.Session) {
			s.AskText(context.Background(), producer.Question{Text: aaep.Say("Which account?")})
		},
	} {
		for _, kind := range []string{"memory", "logger", "file"} {
			synctest.Test(t, func(t *testing.T) {
				dir, path := t.TempDir(), filepath.Join(t.TempDir(), "trail")
				open := func() (audit.Sink, func() string, func()) {
					switch kind {
					case "memory":
						kept := &sink{}
						return kept, func() string { return kindsOf(kept.records()) }, func() {}
					case "logger":
						var text strings.Builder
						return audit.Slog(slog.New(slog.NewTextHandler(&text, nil))), func() string {
							if strings.Contains(text.String(), "kind=settled") && strings.Contains(text.String(), "cause=withdrawn") {
								return "settled"
							}
							return text.String()
						}, func() {}
					}
					f, err := audit.Open(path, audit.Options{})
					if err != nil {
						t.Fatal(err)
					}
					return f, func() string {
						return kindsOf(f.Questions())
					}, func() { f.Close() }
				}
				trail, _, die := open()
				var last string
				runLife(t, dir, producer.Config{Audit: trail}, func(st *stage, kept *sqlite.Store) {
					l, _ := st.listenAccepted(resumeAfter(mayAnswer(allEvents()), ""))
					go ask(st.startSession("Working."))
					synctest.Wait()
					evs := l.events()
					last = evs[len(evs)-1].EventID
					kept.Close()
					die()
				})
				trail, recorded, end := open()
				defer end()
				runLife(t, dir, producer.Config{Audit: trail}, func(st *stage, _ *sqlite.Store) {
					l, _ := st.listenAccepted(resumeAfter(mayAnswer(allEvents()), last))
					got := strings.Join(summariesOf(l.events()), " | ")
					if got != name+" | The agent stopped before it had finished." {
						t.Errorf("%s: it is told %q", kind, got)
					}
					if got := recorded(); got != "settled" {
						t.Errorf("%s: on record is %q", kind, got)
					}
				})
			})
		}
	}
}

// INV-02: an agent dies after a yes, before the call is announced. The log alone tells the process
// that goes on that nothing was done. One that was begun, or rejected beside another tool, is not
// called not done.
func TestRestartTellsWhatWasAcceptedAndNotDone(t *testing.T) {
	const not = "Accepted, and not done: Pay $5."
	accepted := &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateCallingTool}
	for name, tc := range map[string]struct {
		words   string
		after   []aaep.Payload
		kinds   string
		wantNot bool
	}{
		"accepted":        {"Using a tool.", nil, "not_done", true},
		"rejected beside": {"Rejected: Pay $5.", nil, "", false},
		"begun": {"Using a tool.", []aaep.Payload{&aaep.ToolInvoked{Tool: "pay", ToolCallID: "call_1",
			RiskLevel: aaep.RiskHigh, Irreversible: new(true)}}, "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			runLife(t, dir, producer.Config{}, func(st *stage, kept *sqlite.Store) {
				say := func(words string, payload aaep.Payload) {
					t.Helper()
					ev := &aaep.Event{AAEPVersion: aaep.Version, EventID: "evt_0", SessionID: "sess_1", Verbosity: aaep.VerbosityNormal,
						Urgency: aaep.UrgencyNormal, Producer: aaep.Agent{AgentID: "tester"}, Summary: aaep.Say(words), Payload: payload,
						LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en-US"}}
					if err := st.p.Republish(ev); err != nil {
						t.Fatal(err)
					}
				}
				say("Working.", &aaep.SessionStarted{})
				say("Waiting.", &aaep.StateChanged{FromState: aaep.StateIdle, ToState: aaep.StateAwaitingInput})
				say("Pay $5.", &aaep.AwaitingConfirmation{ReplyToken: "rpl_00000000000000000000000000000001", TimeoutSeconds: 60,
					DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskHigh, Irreversible: new(true), Reversibility: aaep.Irreversible,
					Action: "Pay $5.", Consequence: "It is gone.", ExtraContext: json.RawMessage(`{"tool":"pay","tool_call_id":"call_1"}`)})
				say(tc.words, accepted)
				for _, p := range tc.after {
					say("Using pay.", p)
				}
				synctest.Wait()
				kept.Close()
			})
			trail := &sink{}
			runLife(t, dir, producer.Config{Audit: trail}, func(st *stage, kept *sqlite.Store) {
				start, end := kept.Bounds()
				records, err := kept.Read(start, int(end-start))
				if err != nil {
					t.Fatal(err)
				}
				told := false
				for _, r := range records {
					told = told || strings.Contains(string(r), not)
				}
				if got := kindsOf(trail.records()); got != tc.kinds || told != tc.wantNot {
					t.Errorf("%s: on record is %q, and told %v", name, got, told)
				}
			})
		})
	}
}

// A trail without a log on disk has an outcome of every question all the same, once; of another
// agent's question it is that agent which records it.
func TestRestartSettlesWhatTheTrailAloneKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "trail")
		f, err := audit.Open(path, audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		asked := func(agent, id string) audit.Record {
			return audit.Record{Kind: audit.Asked, AgentID: agent, SessionID: "sess_1", QuestionID: id, Risk: aaep.RiskHigh, ToolCallID: "call_" + id}
		}
		accepted := asked("tester", "q_2")
		accepted.Kind, accepted.Decision = audit.Settled, aaep.Accept
		for _, r := range []audit.Record{asked("tester", "q_1"), asked("tester", "q_2"), accepted, asked("other", "q_3")} {
			if err := f.Record(r); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
		if f, err = audit.Open(path, audit.Options{}); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for range 2 {
			newStage(t, producer.Config{Audit: f}).end()
		}
		left := f.Questions()
		if got := kindsOf(left); got != "settled not_done asked" || left[0].Cause != "withdrawn" || left[0].Decision != aaep.Reject ||
			left[0].Time.IsZero() {
			t.Errorf("on record are %q: %+v", got, left)
		}
	})
}

// INV-07: where the agent is several processes, the one that takes over settles what was open, for
// all of them. Of a question that another process had settled by then it says nothing: that one may
// have acted.
func TestTakingOverSettlesAnOpenQuestion(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, kept := newCloud(), &sink{}
			first := c.startAgent(t, &sink{})
			edge := c.startReplica(t, "east")
			l := edge.listen(mayAnswer(allEvents()))
			go first.startSession("Paying.").Tool(context.Background(), pay, succeed)
			q := l.question()
			if claimed {
				c.withLock(func() {
					c.claims[string(q.ReplyToken)] = log.Claim{Data: []byte(`{"node":"west","cause":"replied"}`), At: time.Now()}
				})
			}
			second := c.startAgent(t, kept)
			synctest.Wait()
			told := strings.Join(summariesOf(l.events()), " | ")
			if got := strings.Contains(told, "not done"); got == claimed || !strings.Contains(told, "The agent stopped") {
				t.Errorf("claimed: %v; it is told %q", claimed, told)
			}
			if got, want := kindsOf(kept.records()), map[bool]string{false: "settled", true: ""}[claimed]; got != want {
				t.Errorf("claimed: %v; on record is %q, want %q", claimed, got, want)
			}
			first.end()
			second.end()
			synctest.Wait()
			edge.end()
		})
	}
}
