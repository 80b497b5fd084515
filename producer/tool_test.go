package producer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

const ran = "session.started idle>thinking thinking>calling_tool tool.invoked "

// INV-11: a run that panics is told as failed, and the panic goes on.
func TestRunPanics(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.record(), st.session("Looking.")
		func() {
			defer func() {
				if crash := recover(); crash != "boom" {
					t.Errorf("recover = %v", crash)
				}
			}()
			s.Tool(t.Context(), look, func(context.Context) (string, error) { panic("boom") })
		}()
		wantStory(t, l.events(), ran+"tool.error calling_tool>thinking")
	})
}

// A run's error is the caller's; what is told holds none of its words (INV-37).
func TestRunFails(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.record(), st.session("Looking.")
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
		l, s := st.record(), st.session("Looking.")
		quick := look
		quick.RunTimeout = time.Second
		began := time.Now()
		_, err := s.Tool(t.Context(), quick, wait)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Tool = %v after %v", err, time.Since(began))
		}
		wantStory(t, l.events(), ran+"tool.timeout calling_tool>thinking")
		if done := of[*aaep.ToolCompleted](l.events()); *done[0].DurationMS != 1000 {
			t.Errorf("duration_ms is %d", *done[0].DurationMS)
		}
	})
}

func wait(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }

// A tool whose caller gives up is told as failed.
func TestCancelWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.record(), st.session("Looking.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { time.Sleep(time.Second); cancel() }()
		if _, err := s.Tool(ctx, look, wait); !errors.Is(err, context.Canceled) {
			t.Errorf("Tool = %v", err)
		}
		wantStory(t, l.events(), ran+"tool.error calling_tool>thinking")
	})
}

// The end of the session ends the run's context; the call is closed before the end is told (D-30).
func TestSessionEndsWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.record(), st.session("Looking.")
		looked := later(func() (string, error) { return s.Tool(t.Context(), look, wait) })
		synctest.Wait()
		s.Complete(aaep.Text{})
		if r := <-looked; !errors.Is(r.err, context.Canceled) {
			t.Errorf("Tool = %v", r.err)
		}
		wantStory(t, l.events(), ran+"tool.error session.completed")
	})
}

// The agent calls tools until the last of several at once is done, and each caller has its own result.
func TestParallelTools(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.record(), st.session("Looking.")
		var all []<-chan result[string]
		for i := range 5 {
			all = append(all, later(func() (string, error) {
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
		if n := len(of[*aaep.StateChanged](evs)); n != 3 { // calling_tool until the last is done
			t.Errorf("%d state changes, want 3: %s", n, story(evs))
		}
		s.Complete(aaep.Text{})
		if got := *of[*aaep.SessionCompleted](l.events())[0].ToolInvocationsCount; got != 5 {
			t.Errorf("tool_invocations_count is %d", got)
		}
	})
}

// INV-17: done tells the end of a call once, and never changes the state of another.
func TestDoneTwice(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.record(), st.session("Looking.")
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
		w, s := st.watch(), st.session("Paying.")
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

// D-49, INV-02: a run waits until tool.invoked has left for everyone who listens: two seconds, or without
// limit where the deed cannot be undone or is of high risk.
func TestRunWaitsForTheSlow(t *testing.T) {
	for name, c := range map[string]struct {
		tool    producer.Tool
		limited bool
	}{
		"low":          {look, true},
		"medium":       {producer.Tool{Name: "move", Risk: aaep.RiskMedium}, true},
		"irreversible": {producer.Tool{Name: "wipe", Irreversible: true, Action: aaep.Say("Wipe."), Consequence: aaep.Say("Wiped.")}, false},
		"high":         {producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Action: aaep.Say("Pay."), Consequence: aaep.Say("Paid.")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				quick, slow := st.record(), st.listen(caps(1, aaep.BoundarySentence))
				for range 5 {
					st.session("Something else.") // two events each that cannot be merged
				}
				s := st.session("Working.")
				synctest.Wait()
				began := time.Now()
				var entered time.Time
				done := later(func() (string, error) {
					return s.Tool(context.Background(), c.tool, func(context.Context) (string, error) {
						entered = time.Now()
						return "", nil
					})
				})
				synctest.Wait()
				if !c.limited {
					quick.reply(quick.question(), aaep.Accept)
				}
				<-done
				if c.limited {
					if took := entered.Sub(began); took != 2*time.Second {
						t.Errorf("it ran after %v, want 2s", took)
					}
					return
				}
				if left := arrivalOf(slow, aaep.TypeToolInvoked); left.IsZero() || !entered.Equal(left) || entered.Sub(began) < 5*time.Second {
					t.Errorf("it ran after %v; tool.invoked left after %v", entered.Sub(began), left.Sub(began))
				}
			})
		})
	}
}

func arrivalOf(l *listener, typ aaep.Type) time.Time {
	synctest.Wait()
	for _, a := range l.arrivals() {
		if a.msg.MessageType() == string(typ) {
			return a.at
		}
	}
	return time.Time{}
}

// An event that is on its way has not left: one that cannot be written holds the deed up, whichever it is (INV-02).
func TestRunWaitsForTheLink(t *testing.T) {
	for name, before := range map[string]int{
		"what came before is stuck": 20, // more than a Pipe holds, and each a turn of the loop
		"tool.invoked is stuck":     15, // a Pipe holds 16: calling_tool goes in
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				quick, stuck, s, d := st.record(), st.listen(everything()), st.session("Paying."), &deed{}
				paid := tool(s, pay, d)
				q := quick.question()
				stuck.hold()
				for range before {
					s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
					synctest.Wait()
				}
				quick.reply(q, aaep.Accept)
				time.Sleep(5 * time.Second)
				if d.times != 0 {
					t.Error("it ran although tool.invoked has not left")
				}
				stuck.read()
				if r := <-paid; r.err != nil || d.times != 1 {
					t.Errorf("Tool = %v after %d runs", r.err, d.times)
				}
			})
		})
	}
}

// Who waits for a slow listener and gives up never runs, and what was announced is closed (INV-11), and told as not done: of money, "did
// not finish" would leave open what happened to it.
func TestGiveUpBeforeTheRun(t *testing.T) {
	for name, gaveUp := range map[string]error{"the caller": context.DeadlineExceeded, "the session": producer.ErrSessionOver} {
		bubble(t, func(t *testing.T, st *stage) {
			quick, _ := st.record(), st.listen(caps(1, aaep.BoundarySentence))
			for range 5 {
				st.session("Something else.")
			}
			s, d := st.session("Paying."), &deed{}
			ctx := t.Context()
			if name == "the caller" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
			} else {
				time.AfterFunc(time.Second, func() { s.Cancel(aaep.CancelledByUser, aaep.Text{}) })
			}
			paid := later(func() (string, error) { return s.Tool(ctx, pay, d.do) })
			quick.reply(quick.question(), aaep.Accept)
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
		})
	}
}

// A tool whose risk nobody says is of none to speak of, but what cannot be undone is never called that.
func TestRiskUnsaid(t *testing.T) {
	for irreversible, want := range map[bool]aaep.Risk{false: aaep.RiskLow, true: aaep.RiskHigh} {
		bubble(t, func(t *testing.T, st *stage) {
			l, s := st.record(), st.session("Looking.")
			paid := later(func() (string, error) {
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

// A tool's title is what people hear of it from its beginning to any end, and what could not be told in the end does not begin.
func TestTitle(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.record(), st.session("Looking.")
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
		want := use + "fs_read_v2: Lire une note finished.\n" + use + "fs_read_v2: Lire une note failed.\n" + use + "fs_read_v2: Lire une note did not finish."
		if got := strings.Join(told, "\n"); got != want {
			t.Errorf("told:\n%s\nwant:\n%s", got, want)
		}
	})
}

// What is only seen is told without waiting for anybody, and what must ask cannot be told so. (EVT-042, EVT-051, SM-003, SM-005)
func TestInvoked(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		heard := st.record()
		slow := st.listen(caps(1, aaep.BoundaryNone))
		slow.hold()
		s := st.session("Looking.")
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
