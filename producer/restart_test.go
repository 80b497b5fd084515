package producer_test

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// runLife runs a Producer on a log that one before it may have left. The log holds a hundred times
// what memory holds.
func runLife(t *testing.T, dir string, cfg producer.Config, f func(st *stage, kept *sqlite.Store)) {
	t.Helper()
	if testing.Short() && runtime.GOOS == "windows" {
		t.Skip("Wine cannot delete files that were open")
	}
	kept, err := sqlite.Open(dir, sqlite.Options{Limits: log.Limits{Events: 100 * cfg.KeepEvents}, SurvivesCrash: true})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	cfg.Log, cfg.Languages, cfg.ShortTimeouts = kept, []string{"es"}, true
	st := newStage(t, cfg)
	defer st.end()
	f(st, kept)
}

// rawEvents returns the events as they arrived.
func rawEvents(got []arrival) (all []string) {
	for _, a := range got {
		if _, ok := a.msg.(*aaep.Event); ok {
			all = append(all, string(a.raw))
		}
	}
	return all
}

// leaveOpen runs a session that leaves everything open: a tool, a question, text and, in Spanish
// too, words.
func leaveOpen(st *stage) {
	s := st.startSession("Working.")
	s.State(aaep.StateDeciding, aaep.Say("Deciding.").In("es", aaep.Say("Decidiendo.")))
	s.Progress(aaep.Say("Halfway."), aaep.Progress{Percent: new(50.0)}, time.Minute)
	s.Handoff(aaep.Say("Help.").In("es", aaep.Say("Ayuda.")), aaep.HandoffRequested{PackagedContext: json.RawMessage(`{"b":1, "a":"é<"}`)})
	out := s.Output()
	out.WriteString("One sentence. And ano")
	go s.Tool(context.Background(), look, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	go s.Tool(context.Background(), pay, succeed)
	synctest.Wait()
	out.WriteString("ther one. And this is not who")
	synctest.Wait()
}

// P1, P2, P8, INV-21, INV-22, INV-23, TR-024: a producer dies with everything open, and another one
// goes on with its log. Wherever a subscriber had come to, it gets the same bytes that it would
// have got, but no question that is no longer open, then the ends of what was open, each once, and
// then what is new.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lang := range []string{"en-US", "es"} {
			dir := t.TempDir()
			terms := mayAnswer(allEvents())
			terms.Languages = []string{lang}
			var before []string
			runLife(t, dir, producer.Config{}, func(st *stage, kept *sqlite.Store) {
				l, _ := st.listenAccepted(resumeAfter(terms, ""))
				leaveOpen(st)
				before = rawEvents(l.arrivals())
				kept.Close() // it dies, for all that is kept
			})
			if lang == "es" && !strings.Contains(strings.Join(before, ""), "Decidiendo.") {
				t.Error("it is not in Spanish")
			}
			runLife(t, dir, producer.Config{}, func(st *stage, _ *sqlite.Store) {
				var ends string
				s := st.startSession("New.")
				s.Complete(aaep.Text{})
				for i := range before {
					var had aaep.Event
					if err := json.Unmarshal([]byte(before[i]), &had); err != nil {
						t.Fatal(err)
					}
					l, acc := st.listenAccepted(resumeAfter(terms, had.EventID))
					if honoredPlace(t, acc) != had.EventID || strings.Contains(acc.NegotiationNotes, "resume_after") {
						t.Fatalf("after event %d: %s", i, acc.NegotiationNotes)
					}
					got := rawEvents(l.arrivals())
					want := slices.DeleteFunc(slices.Clone(before[i+1:]), func(raw string) bool { return strings.Contains(raw, "agent.awaiting.") })
					rest := len(want)
					if len(got) < rest || !slices.Equal(got[:rest], want) {
						t.Fatalf("after event %d it got\n%s\nand would have got\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
					evs := eventsOf(l.arrivals())[rest:]
					if told := storyOf(evs); ends == "" {
						ends = told
						checkEnds(t, evs)
					} else if told != ends {
						t.Errorf("after event %d it is told %s; another was told %s", i, told, ends)
					}
				}
			})
			runLife(t, dir, producer.Config{}, func(st *stage, _ *sqlite.Store) {
				var last aaep.Event
				json.Unmarshal([]byte(before[len(before)-1]), &last)
				l, _ := st.listenAccepted(resumeAfter(terms, last.EventID))
				n := 0
				for _, ev := range l.events() {
					if ev.SessionID == last.SessionID && ev.Type().Terminal() {
						n++
					}
				}
				if n != 1 {
					t.Errorf("the session has ended %d times", n)
				}
			})
		}
	})
}

// checkEnds checks how what was open is ended.
func checkEnds(t *testing.T, evs []*aaep.Event) {
	t.Helper()
	failed, closed := 0, 0
	for _, ev := range evs {
		switch p := ev.Payload.(type) {
		case *aaep.ToolCompleted:
			if p.Status == aaep.ToolError {
				failed++
			}
		case *aaep.OutputStreaming:
			if p.Complete {
				closed++
			}
		case *aaep.SessionErrored:
			if p.ErrorCode != "PRODUCER_RESTARTED" || failed != 1 || closed != 1 {
				t.Errorf("%+v after %d tools and %d outputs", p, failed, closed)
			}
			if asked := payloadsOf[*aaep.ToolInvoked](evs); len(asked) != 0 {
				t.Error("a tool was run")
			}
			return
		}
	}
	t.Errorf("the session goes on: %s", storyOf(evs))
}

// P8: a subscriber is told if the log no longer holds what it missed, or does not know the event
// that it names. A session that ended meanwhile is told to be over.
func TestRestartTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var first string
		runLife(t, dir, producer.Config{KeepEvents: 4}, func(st *stage, _ *sqlite.Store) {
			l, _ := st.listenAccepted(allEvents())
			s := st.startSession("Counting.")
			first = l.events()[0].EventID
			for i := range 600 {
				s.Progress(aaep.Text{}, aaep.Progress{Percent: new(float64(i % 100))}, 0)
				synctest.Wait()
			}
			s.Complete(aaep.Text{})
			synctest.Wait()
		})
		runLife(t, dir, producer.Config{KeepEvents: 4}, func(st *stage, _ *sqlite.Store) {
			st.startSession("New.")
			synctest.Wait()
			for after, want := range map[string]string{first: "session.completed idle>thinking", "evt_1": "idle>thinking"} {
				l, acc := st.listenAccepted(resumeAfter(allEvents(), after))
				if honoredPlace(t, acc) != "" || !strings.Contains(acc.NegotiationNotes, "resume_after") {
					t.Errorf("%s: %s", after, acc.NegotiationNotes)
				}
				if got := storyOf(l.events()); got != want {
					t.Errorf("after %s it is told %s, want %s", after, got, want)
				}
			}
		})
	})
}

// P8, SSE-013, D-82: a new subscription whose first stream names an event goes on after it, at
// another process too.
func TestRestartStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var first *eventStream
		runLife(t, dir, producer.Config{}, func(st *stage, _ *sqlite.Store) {
			_, open := st.listenResumable(allEvents())
			first = open("")
			st.startSession("Talking.").State(aaep.StateDeciding, aaep.Text{})
			first.events()
		})
		runLife(t, dir, producer.Config{}, func(st *stage, _ *sqlite.Store) {
			st.startSession("New.")
			synctest.Wait()
			_, open := st.listenResumable(allEvents())
			began := first.events()[0].EventID
			second := open(began)
			if got, want := storyOf(second.events()), "idle>thinking thinking>deciding session.cancelled:system session.started idle>thinking"; got != want {
				t.Errorf("it is told %s; want %s", got, want)
			}
			_, open = st.listenResumable(resumeAfter(allEvents(), second.resume))
			open("").breakStream() // before it could name anything
			st.startSession("Another.")
			if got := storyOf(open("").events()); got != "session.started idle>thinking" {
				t.Errorf("whose stream broke before it brought anything is told %s", got)
			}
			st.startSession("Lost.") // it leaves, and is lost on the way
			synctest.Wait()
			if got := storyOf(open("").events()); got != "session.started idle>thinking session.started idle>thinking" {
				t.Errorf("whose stream broke before it brought what had left is told %s", got)
			}
			_, open = st.listenResumable(allEvents())
			if got := storyOf(open("evt_1").events()); got != "idle>thinking idle>thinking idle>thinking" {
				t.Errorf("who names what nobody knows is told %s", got)
			}
		})
	})
}
