package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

const ran = "session.started idle>thinking thinking>calling_tool tool.invoked "

// INV-11: of a run that panics, or ends its goroutine, it is told that it may have been done, and
// the panic goes on.
func TestRunPanics(t *testing.T) {
	var logged bytes.Buffer
	bubbleWith(t, producer.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		func() {
			defer func() {
				if crash := recover(); crash != "boom" {
					t.Errorf("recover = %v", crash)
				}
			}()
			s.Tool(t.Context(), look, func(context.Context) (string, error) { panic("boom") })
		}()
		wantStory(t, l.events(), ran+"tool.error calling_tool>thinking")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Tool(t.Context(), look, func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
		}()
		<-ended
		synctest.Wait()
		told := 0
		for _, ev := range l.events() {
			if _, is := ev.Payload.(*aaep.ToolCompleted); is {
				told++
				if want := "may have been done: how it ended is not known."; !strings.Contains(ev.Text(aaep.VerbosityNormal), want) {
					t.Errorf("told: %s", ev.Text(aaep.VerbosityNormal))
				}
			}
		}
		if told != 2 {
			t.Errorf("%d of 2 ends are told", told)
		}
		if !strings.Contains(logged.String(), "panic: boom") {
			t.Errorf("the log has %q, and no word of what was wrong", logged.String())
		}
	})
}

// A run's error is the caller's; what is told holds none of its words (INV-37).
func TestRunFails(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		secret := errors.New("password 1234 refused")
		if v, err := s.Tool(t.Context(), look, func(context.Context) (string, error) { return "half", secret }); v != "half" || err != secret {
			t.Errorf("Tool = %q, %v", v, err)
		}
		wantStory(t, l.events(), ran+"tool.error calling_tool>thinking")
		for _, a := range l.arrivals() {
			if strings.Contains(string(a.raw), "1234") {
				t.Errorf("the secret is out: %s", a.raw)
			}
		}
	})
}

// A tool that runs for longer than its RunTimeout is told as timed out, with how long it ran.
func TestRunTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		quick := look
		quick.RunTimeout = time.Second
		began := time.Now()
		_, err := s.Tool(t.Context(), quick, waitForEnd)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Tool = %v after %v", err, time.Since(began))
		}
		wantStory(t, l.events(), ran+"tool.timeout calling_tool>thinking")
		if done := payloadsOf[*aaep.ToolCompleted](l.events()); *done[0].DurationMS != 1000 {
			t.Errorf("duration_ms is %d", *done[0].DurationMS)
		}
	})
}

// waitForEnd is a tool's function that waits for the end of its context.
func waitForEnd(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }

// A tool whose caller's context ends is told as failed.
func TestCancelWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { time.Sleep(time.Second); cancel() }()
		if _, err := s.Tool(ctx, look, waitForEnd); !errors.Is(err, context.Canceled) {
			t.Errorf("Tool = %v", err)
		}
		wantStory(t, l.events(), ran+"tool.error calling_tool>thinking")
	})
}

// The end of the session ends the run's context; the call is closed before the end is told (D-30).
func TestSessionEndsWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		looked := callLater(func() (string, error) { return s.Tool(t.Context(), look, waitForEnd) })
		synctest.Wait()
		s.Complete(aaep.Text{})
		if r := <-looked; !errors.Is(r.err, context.Canceled) {
			t.Errorf("Tool = %v", r.err)
		}
		wantStory(t, l.events(), ran+"tool.error session.completed")
	})
}

// The agent calls tools until the last of several at once is done, and each caller has its own
// result.
func TestParallelTools(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		var all []<-chan result[string]
		for i := range 5 {
			all = append(all, callLater(func() (string, error) {
				return s.Tool(t.Context(), look, func(context.Context) (string, error) {
					time.Sleep(time.Duration(i+1) * time.Second)
					return fmt.Sprint(i), nil
				})
			}))
		}
		for i, c := range all {
			if r := <-c; r.value != fmt.Sprint(i) || r.err != nil {
				t.Errorf("Tool %d = %q, %v", i, r.value, r.err)
			}
		}
		evs := l.events()
		if n := len(payloadsOf[*aaep.StateChanged](evs)); n != 3 { // calling_tool until the last is done
			t.Errorf("%d state changes, want 3: %s", n, storyOf(evs))
		}
		s.Complete(aaep.Text{})
		if got := *payloadsOf[*aaep.SessionCompleted](l.events())[0].ToolInvocationsCount; got != 5 {
			t.Errorf("tool_invocations_count is %d", got)
		}
	})
}

// INV-17: done tells the end of a call once, and never changes the state of another.
func TestDoneTwice(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		d, done, err := s.Confirm(t.Context(), look)
		if d != aaep.Accept || err != nil {
			t.Fatalf("Confirm = %q, %v", d, err)
		}
		done(nil)
		s.State(aaep.StateDeciding, aaep.Text{})
		done(errors.New("late"))
		wantStory(t, l.events(), ran+"tool.success calling_tool>thinking thinking>deciding")
	})
}

// A refused Confirm has a done that does nothing, and a decision that is not accept.
func TestConfirmRefused(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		w, s := st.addWatcher(), st.startSession("Paying.")
		d, done, err := s.Confirm(t.Context(), pay)
		done(nil)
		if d == aaep.Accept || !errors.Is(err, producer.ErrUnreachable) {
			t.Errorf("Confirm = %q, %v", d, err)
		}
		if got := toolEvents(w.events()); len(got) != 0 {
			t.Errorf("tool events %v", got)
		}
	})
}

// INV-26, P7, D-49: no action waits for a subscriber that was not asked, nor for one whose link
// takes nothing, that is away, or that has a low rate. Only actions that are irreversible or of
// high risk wait for any subscriber.
func TestActionWaitsForNoListener(t *testing.T) {
	for name, other := range map[string]func(*testing.T, *stage) *listener{
		"a viewer at one a second": func(_ *testing.T, st *stage) *listener { return st.listen(termsWith(1, aaep.BoundarySentence)) },
		"asked, at one a second": func(_ *testing.T, st *stage) *listener {
			return st.listen(mayAnswer(termsWith(1, aaep.BoundarySentence)))
		},
		"a viewer who reads nothing":   func(_ *testing.T, st *stage) *listener { return addStalled(st, allEvents()) },
		"asked, and reads nothing":     func(_ *testing.T, st *stage) *listener { return addStalled(st, mayAnswer(allEvents())) },
		"asked, and away for a moment": addAway,
		"asked, and far behind":        farBehind,
	} {
		for _, calls := range []producer.Tool{look, {Name: "move", Risk: aaep.RiskMedium}, pay} {
			bubble(t, func(t *testing.T, st *stage) {
				quick, s := st.addRecorder(), st.startSession("Working.")
				other(t, st)
				time.Sleep(time.Second)
				for range 10 {
					st.startSession("Something else.") // two events each that cannot be merged
				}
				synctest.Wait()
				began, d := time.Now(), &action{}
				for n := range 30 {
					if calls.Irreversible {
						paid := callTool(s, calls, d)
						quick.reply(quick.question(), aaep.Accept)
						if r := <-paid; r.err != nil {
							t.Fatal(r.err)
						}
					} else if _, err := s.Tool(t.Context(), calls, d.do); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); took > 0 {
						t.Fatalf("%s: call %d of %s began after %v", name, n+1, calls.Name, took)
					}
				}
			})
		}
	}
}

// addStalled adds a subscriber that has not taken what it was sent for two seconds.
func addStalled(st *stage, c aaep.Capabilities) *listener {
	l := st.listen(c)
	l.stopReading()
	for range 20 { // more than a Pipe holds
		st.startSession("Something else.")
	}
	time.Sleep(2 * time.Second)
	return l
}

// addAway adds a subscriber that was cut off and may come back.
func addAway(_ *testing.T, st *stage) *listener {
	l, open := st.listenResumable(mayAnswer(allEvents()))
	open("").breakStream()
	synctest.Wait()
	return l
}

// farBehind adds a subscriber that goes on where it was long ago.
func farBehind(_ *testing.T, st *stage) *listener {
	l, _ := st.listenAccepted(allEvents())
	long := st.startSession("Working.")
	first := l.events()[0].EventID
	for range 530 {
		long.Tool(context.Background(), look, succeed)
	}
	l.conn.Close()
	l, _ = st.listenAccepted(resumeAfter(mayAnswer(termsWith(2, aaep.BoundaryNone)), first))
	return l
}

// D-49, INV-02: an action that is irreversible or of high risk begins when the subscribers that
// were asked have been told, if their links take that within two seconds. The record names those
// that had not been told by then.
func TestActionWaitsForThoseWhoWereAsked(t *testing.T) {
	for _, c := range []struct {
		every  time.Duration // the link takes an event so often
		before int           // events wait on it; a Pipe holds 16
		asked  bool
		least  time.Duration // the action begins no sooner
		most   time.Duration // and no later
		untold bool
	}{
		{100 * time.Millisecond, 16, true, 200 * time.Millisecond, time.Second, false},
		{400 * time.Millisecond, 30, true, 2 * time.Second, 2 * time.Second, true},
		{time.Hour, 16, true, time.Second, time.Second + 1, true},
		{time.Hour, 16, false, 0, 0, false},
	} {
		kept := &sink{}
		bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
			quick, s := st.addRecorder(), st.startSession("Paying.")
			terms := allEvents()
			if c.asked {
				terms = mayAnswer(terms)
			}
			l := st.listen(terms)
			var entered time.Time
			var told bool
			heard := func() bool { return !arrivalOf(l, aaep.TypeToolInvoked).IsZero() }
			paid := callLater(func() (string, error) {
				return s.Tool(context.Background(), pay, func(context.Context) (string, error) {
					entered, told = time.Now(), heard()
					return "", nil
				})
			})
			q := quick.question()
			l.stopReading()
			for range c.before {
				s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
				synctest.Wait()
			}
			accepted := time.Now()
			quick.reply(q, aaep.Accept)
			ctx, stop := context.WithCancel(t.Context())
			stopped := make(chan struct{})
			defer func() { stop(); <-stopped }()
			go func() {
				defer close(stopped)
				for ctx.Err() == nil {
					select {
					case <-time.After(c.every):
					case <-ctx.Done():
						return
					}
					data, err := l.conn.Receive(ctx)
					if err != nil {
						return
					}
					m, _ := aaep.Decode(data)
					l.mu.Lock()
					l.got = append(l.got, arrival{time.Now(), data, m})
					l.mu.Unlock()
				}
			}()
			if r := <-paid; r.err != nil {
				t.Fatal(r.err)
			}
			took := entered.Sub(accepted)
			if took < c.least || took > c.most {
				t.Errorf("%+v: it began after %v", c, took)
			}
			if told && c.untold {
				t.Errorf("%+v: the listener was told in time", c)
			}
			i := slices.IndexFunc(kept.records(), func(r audit.Record) bool { return r.Kind == audit.Invoked })
			untold := kept.records()[i].Untold
			if c.untold != (len(untold) == 1) || c.untold && untold[0].SubscriptionID != l.id {
				t.Errorf("%+v: on record as not told: %+v", c, untold)
			}
		})
	}
}

// An action that asks, and is neither irreversible nor of high risk, waits for no subscriber
// either.
func TestConfirmedActionWaitsForNoListener(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Moving.")
		quick, _ := st.addRecorder(), addStalled(st, mayAnswer(allEvents()))
		move := producer.Tool{Name: "move", Risk: aaep.RiskMedium, Confirm: true, Action: aaep.Say("Move."), Consequence: aaep.Say("Moved.")}
		moved := callTool(s, move, &action{})
		q := quick.question()
		answered := time.Now()
		quick.reply(q, aaep.Accept)
		if r := <-moved; r.err != nil || !r.at.Equal(answered) {
			t.Errorf("%v after %v", r.err, r.at.Sub(answered))
		}
	})
}

// arrivalOf returns when the first message of a type arrived, or the zero time.
func arrivalOf(l *listener, typ aaep.Type) time.Time {
	synctest.Wait()
	for _, a := range l.arrivals() {
		if a.msg.MessageType() == string(typ) {
			return a.at
		}
	}
	return time.Time{}
}

// An action that waits for subscribers to be told, and whose caller's context ends, never runs.
// What was announced is closed (INV-11), and told as not done: of money, "did not finish" would
// leave open what happened to it.
func TestGiveUpBeforeTheRun(t *testing.T) {
	for name, gaveUp := range map[string]error{"the caller": context.Canceled, "the session": producer.ErrSessionOver} {
		kept := &sink{}
		bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
			quick, slow := st.addRecorder(), st.listen(mayAnswer(allEvents()))
			s, d := st.startSession("Paying."), &action{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			paid := callLater(func() (string, error) { return s.Tool(ctx, pay, d.do) })
			q := quick.question()
			slow.stopReading()
			for range 16 { // as many as a Pipe holds
				s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
				synctest.Wait()
			}
			time.AfterFunc(100*time.Millisecond, func() {
				if name == "the caller" {
					cancel()
				} else {
					s.Cancel(aaep.CancelledByUser, aaep.Text{})
				}
			})
			quick.reply(q, aaep.Accept)
			if r := <-paid; !errors.Is(r.err, gaveUp) || d.times != 0 {
				t.Errorf("%s gave up: Tool = %v after %d runs", name, r.err, d.times)
			}
			var told []string
			for _, ev := range quick.events() {
				switch ev.Payload.(type) {
				case *aaep.ToolInvoked, *aaep.ToolCompleted:
					told = append(told, ev.Text(aaep.VerbosityNormal))
				}
			}
			if got := strings.Join(told, "|"); got != "Pay $5.|Withdrawn, and not done: pay" {
				t.Errorf("%s gave up, and this is told of the tool: %s", name, got)
			}
			if got := kindsOf(kept.records()); got != "asked replied settled not_done" {
				t.Errorf("%s gave up: on record: %s", name, got)
			}
		})
	}
}

// A tool without a risk is of low risk, but what cannot be undone is never called that.
func TestDefaultRisk(t *testing.T) {
	for irreversible, want := range map[bool]aaep.Risk{false: aaep.RiskLow, true: aaep.RiskHigh} {
		bubble(t, func(t *testing.T, st *stage) {
			l, s := st.addRecorder(), st.startSession("Looking.")
			paid := callLater(func() (string, error) {
				return s.Tool(t.Context(), producer.Tool{Name: "pay", Confirm: true, Irreversible: irreversible, Action: aaep.Say("Pay."), Consequence: aaep.Say("It is paid.")},
					func(context.Context) (string, error) { return "", nil })
			})
			q := l.question()
			l.reply(q, aaep.Reject)
			<-paid
			s.Close()
			if q.RiskLevel != want {
				t.Errorf("irreversible is %v: the question says %s, want %s", irreversible, q.RiskLevel, want)
			}
		})
	}
}

// A tool's title is what users hear of it from its beginning to any end, and a call whose end could
// not be told does not begin.
func TestTitle(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		titled := producer.Tool{Name: "fs_read_v2", Title: "Lire une note"}
		s.Tool(t.Context(), titled, func(context.Context) (string, error) { return "", nil })
		s.Tool(t.Context(), titled, func(context.Context) (string, error) { return "", errors.New("no") })
		if _, err := s.Invoked(titled); err != nil {
			t.Error(err)
		}
		deceives := producer.Tool{Name: "look", Title: "a\u202eb", Action: aaep.Say("Looking.")}
		var invalid *aaep.InvalidError
		if _, err := s.Tool(t.Context(), deceives, func(context.Context) (string, error) { t.Error("it ran"); return "", nil }); !errors.As(err, &invalid) {
			t.Errorf("Tool = %v", err)
		}
		s.Close()
		var told []string
		for _, ev := range l.events() {
			switch p := ev.Payload.(type) {
			case *aaep.ToolInvoked:
				told = append(told, p.Tool+": "+ev.Summary.Normal)
			case *aaep.ToolCompleted:
				told = append(told, p.Tool+": "+ev.Summary.Normal)
			}
		}
		const use = "fs_read_v2: Using the tool Lire une note.\n"
		want := use + "fs_read_v2: Lire une note finished.\n" + use + "fs_read_v2: Lire une note failed.\n" + use + "fs_read_v2: Lire une note may have been done: how it ended is not known."
		if got := strings.Join(told, "\n"); got != want {
			t.Errorf("told:\n%s\nwant:\n%s", got, want)
		}
	})
}

// A tool that is only seen is told without waiting for a subscriber, and one that must ask cannot
// be told so. (EVT-042, EVT-051, SM-003, SM-005)
func TestInvoked(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		heard := st.addRecorder()
		slow := st.listen(termsWith(1, aaep.BoundaryNone))
		slow.stopReading()
		s := st.startSession("Looking.")
		first, err := s.Invoked(producer.Tool{Name: "look"})
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Invoked(producer.Tool{Name: "look again", Risk: aaep.RiskMedium})
		if err != nil {
			t.Fatal(err)
		}
		first(nil)
		first(errors.New("only the first counts"))
		second(errors.New("no"))
		for _, tool := range []producer.Tool{{Name: "pay", Irreversible: true}, {Name: "pay", Risk: aaep.RiskHigh}, {Name: "pay", Confirm: true}} {
			var invalid *aaep.InvalidError
			if _, err := s.Invoked(tool); !errors.As(err, &invalid) || invalid.Violations[0].Requirement != "EVT-042" {
				t.Errorf("%+v was told of: %v", tool, err)
			}
		}
		s.Complete(aaep.Say("Done."))
		var told []string
		for _, ev := range heard.events() {
			switch p := ev.Payload.(type) {
			case *aaep.ToolInvoked:
				told = append(told, p.Tool)
			case *aaep.ToolCompleted:
				told = append(told, p.Tool+" "+string(p.Status))
			}
		}
		if want := []string{"look", "look_again", "look success", "look_again error"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if _, err := s.Invoked(producer.Tool{Name: "look"}); !errors.Is(err, producer.ErrSessionOver) {
			t.Errorf("after the end the error is %v", err)
		}
	})
}
