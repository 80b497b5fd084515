package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// INV-29: after the end nothing can be said, and every call says so.
func TestAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Talking.")
		out := s.Output()
		s.Complete(aaep.Text{})
		before := len(l.events())
		_, written := out.Write([]byte("more"))
		_, _, confirmed := s.Confirm(t.Context(), look)
		_, tooled := s.Tool(t.Context(), pay, succeed)
		_, clarified := s.AskText(t.Context(), producer.Question{Text: aaep.Say("What?")})
		for name, err := range map[string]error{
			"Write": written, "Confirm": confirmed, "Tool": tooled, "Clarify": clarified,
			"State, the same":    s.State(aaep.StateThinking, aaep.Text{}),
			"State":              s.State(aaep.StateDeciding, aaep.Text{}),
			"Progress":           s.Progress(aaep.Say("Half."), aaep.Progress{Step: 1}, 0),
			"Handoff":            s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}),
			"Complete":           s.Complete(aaep.Text{}),
			"Fail":               s.Fail(nil, aaep.Text{}),
			"Cancel":             s.Cancel(aaep.CancelledByUser, aaep.Text{}),
			"Failing":            s.Failing(errors.New("x"), aaep.Text{}),
			"Output.WriteString": func() error { _, err := s.Output().WriteString("x"); return err }(),
		} {
			if !errors.Is(err, producer.ErrSessionOver) {
				t.Errorf("%s = %v", name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if got := len(l.events()); got != before {
			t.Errorf("%d events after the end", got-before)
		}
		if s.Context().Err() == nil {
			t.Error("the session's context goes on")
		}
	})
}

// What Failing was given is how a session ends that only Close or Shutdown ends, and is taken back
// where the agent mended it. (EVT-018)
func TestFailing(t *testing.T) {
	var logged bytes.Buffer
	bubbleWith(t, producer.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		trouble := func(s *producer.Session) *producer.Session {
			if err := s.Failing(fs.ErrPermission, aaep.Say("The disk is locked.")); err != nil {
				t.Error(err)
			}
			return s
		}
		trouble(st.startSession("Closed.")).Close()
		mended := trouble(st.startSession("Mended."))
		mended.Complete(aaep.Say("Done."))
		mended.Close() // as a deferred call does
		s := trouble(st.startSession("Taken back."))
		s.Failing(nil, aaep.Text{})
		s.Close()
		s = trouble(st.startSession("Shut down."))
		if err := s.Failing(nil, aaep.Say("a\x1b[2Jb")); err == nil {
			t.Error("a text that nobody may send is taken")
		}
		if err := st.p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		<-l.served
		var ends []string
		for _, ev := range l.events() {
			switch p := ev.Payload.(type) {
			case *aaep.SessionErrored:
				ends = append(ends, fmt.Sprintf("%s, %s", ev.Summary.Normal, p.ErrorCode))
			case *aaep.SessionCompleted, *aaep.SessionCancelled:
				ends = append(ends, ev.Summary.Normal)
			}
		}
		want := "The disk is locked., PERMISSION_DENIED|Done.|Cancelled.|The disk is locked., PERMISSION_DENIED"
		if got := strings.Join(ends, "|"); got != want {
			t.Errorf("the ends are %s, want %s", got, want)
		}
		if n := strings.Count(logged.String(), "session failed"); n != 2 {
			t.Errorf("%d sessions are logged as failed, want 2", n)
		}
	})
}

// INV-29: whatever races, a session has one end and a trace in order.
func TestRaces(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T, st *stage) {
			st.addRecorder()
			raceEnd(t, st.startSession("Racing."))
		})
	}
}

// raceEnd ends a session from many goroutines at once while it is used.
func raceEnd(t *testing.T, s *producer.Session) {
	var all sync.WaitGroup
	ended := make(chan error, 12)
	for i := range 4 {
		all.Go(func() { ended <- s.Complete(aaep.Text{}) })
		all.Go(func() { ended <- s.Fail(fmt.Errorf("%d", i), aaep.Text{}) })
		all.Go(func() { ended <- s.Cancel(aaep.CancelledByUser, aaep.Text{}) })
		all.Go(func() { fmt.Fprintf(s.Output(), "Some %d text. And", i) })
		all.Go(func() { s.Tool(t.Context(), look, succeed) })
		all.Go(func() { s.Tool(t.Context(), pay, succeed) })
		all.Go(func() { s.AskText(t.Context(), producer.Question{Text: aaep.Say("What?"), Default: "x"}) })
		all.Go(func() { s.State(aaep.StateDeciding, aaep.Text{}) })
	}
	all.Wait()
	good := 0
	for range 12 {
		if err := <-ended; err == nil {
			good++
		} else if !errors.Is(err, producer.ErrSessionOver) {
			t.Error(err)
		}
	}
	if good != 1 {
		t.Errorf("%d of the ends were taken, want 1", good)
	}
}

// The same without a bubble, for the race detector.
func TestRacesForReal(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	for range 3 {
		a, b := transports.Pipe()
		defer a.Close()
		go p.ServeConn(b)
		go answerAll(a)
	}
	if err := p.WaitSubscriber(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		s, err := p.StartSession(t.Context(), aaep.Say("Racing."))
		if err != nil {
			t.Fatal(err)
		}
		raceEnd(t, s)
	}
}

// A session that was not ended is cancelled by Close, in the producer's name.
func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		func() {
			s := st.startSession("Talking.")
			defer s.Close()
		}()
		wantStory(t, l.events(), "session.started idle>thinking session.cancelled:producer")
	})
}

// A panic ends the session as failed, and goes on; its words are not told (INV-37).
func TestCloseInAPanic(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		func() {
			defer func() {
				if crash := recover(); crash != "secret" {
					t.Errorf("recover = %v", crash)
				}
			}()
			s := st.startSession("Talking.")
			defer s.Close()
			fmt.Fprint(s.Output(), "I was about to sa")
			panic("secret")
		}()
		wantStory(t, l.events(), `session.started idle>thinking thinking>writing_output "I was about to s" "a" ""! session.errored:unknown`)
		for _, a := range l.arrivals() {
			if strings.Contains(string(a.raw), "secret") {
				t.Errorf("the secret is out: %s", a.raw)
			}
		}
	})
}

// EVT-027: the end of the caller's context is told as a cancellation.
func TestContextEndsTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := st.p.StartSession(ctx, aaep.Say("Talking."))
		if err != nil {
			t.Fatal(err)
		}
		out := s.Output()
		out.WriteString("Half a wor")
		looked := callLater(func() (string, error) { return s.Tool(context.Background(), look, waitForEnd) })
		<-looked
		wantStory(t, l.events(), `session.started idle>thinking thinking>writing_output "Half a wo" "r" writing_output>calling_tool tool.invoked tool.error ""! session.cancelled:producer`)
	})
}

// D-30: what is open is closed before the end, in the middle of a word too, by every kind of end.
func TestEndsInTheMiddle(t *testing.T) {
	for _, end := range []string{"complete", "fail", "cancel"} {
		bubble(t, func(t *testing.T, st *stage) {
			l, sentences := st.addRecorder(), st.listen(termsWith(0, aaep.BoundarySentence))
			s := st.startSession("Talking.")
			a, b, c := s.Output(), s.Output(), s.Output()
			a.WriteString("One sentence. And a ha")
			b.WriteString("x") // held: an accent might follow
			c.WriteString("\xe2\x82")
			go s.Tool(context.Background(), look, waitForEnd)
			go s.Tool(context.Background(), pay, succeed)
			l.question()
			finishSession(s, end)
			if err := a.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			for name, l := range map[string]*listener{"none": l, "sentences": sentences} {
				evs := l.events()
				ids := outputIDs(evs)
				if len(ids) != 3 {
					t.Fatalf("%s, %s: %d outputs, want 3: %s", end, name, len(ids), storyOf(evs))
				}
				for i, want := range []string{"One sentence. And a ha", "x", "\ufffd"} {
					if err := checkText(evs, ids[i], want); err != nil {
						t.Errorf("%s, %s: %v", end, name, err)
					}
				}
			}
		})
	}
}

// A text that may not be told is refused in words, and leaves nothing behind (INV-39).
func TestRefusedTexts(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Talking.")
		bad, long := aaep.Say("Half \u202eknown."), aaep.Say(strings.Repeat("x", 20000))
		for name, err := range map[string]error{
			"State":            s.State(aaep.StateDeciding, bad),
			"State, no name":   s.State("", aaep.Text{}),
			"State, long":      s.State(aaep.StateDeciding, long),
			"State, not UTF-8": s.State(aaep.StateDeciding, aaep.Say("\xff")),
			"State, of a tool": s.State(aaep.State(strings.Repeat("x", 100)), aaep.Text{}),
			"Progress":         s.Progress(bad, aaep.Progress{Step: 1}, 0),
			"Progress, none":   s.Progress(aaep.Text{}, aaep.Progress{}, 0),
			"Progress, 200 %":  s.Progress(aaep.Text{}, aaep.Progress{Percent: new(200.0)}, 0),
			"Handoff":          s.Handoff(bad, aaep.HandoffRequested{}),
			"Handoff, empty":   s.Handoff(aaep.Text{}, aaep.HandoffRequested{}),
			"Complete":         s.Complete(bad),
			"Fail":             s.Fail(nil, bad),
			"Cancel":           s.Cancel("nobody", aaep.Text{}),
			"Start": func() error {
				_, err := st.p.StartSession(t.Context(), bad)
				return err
			}(),
			"Start, empty": func() error {
				_, err := st.p.StartSession(t.Context(), aaep.Text{})
				return err
			}(),
			"Clarify": func() error {
				_, err := s.AskText(t.Context(), producer.Question{Text: bad})
				return err
			}(),
			"Clarify, one choice": func() error {
				_, err := s.AskChoice(t.Context(), producer.Question{Text: aaep.Say("Which?"), Choices: []producer.Choice{{Value: "a", Label: aaep.Say("A")}}})
				return err
			}(),
			"Clarify, no default": func() error {
				_, err := s.AskNumber(t.Context(), producer.Question{Text: aaep.Say("How much?"), Default: "much"})
				return err
			}(),
		} {
			if _, invalid := errors.AsType[*aaep.InvalidError](err); !invalid {
				t.Errorf("%s = %v", name, err)
			}
		}
		wantStory(t, l.events(), "session.started idle>thinking")
		if err := s.Complete(aaep.Text{}); err != nil {
			t.Error(err)
		}
	})
}

type busy struct{ error }

// Temporary says that trying again may help.
func (busy) Temporary() bool { return true }

// §4.1.3: what an error means for the user. (EVT-018)
func TestFailCategories(t *testing.T) {
	for want, causes := range map[string][]error{
		"transient":     {context.DeadlineExceeded, fmt.Errorf("late: %w", os.ErrDeadlineExceeded), errors.Join(context.Canceled, busy{errors.New("busy")})},
		"requires_user": {fs.ErrPermission, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}},
		"unknown":       {nil, errors.New("boom"), context.Canceled},
	} {
		for _, cause := range causes {
			bubble(t, func(t *testing.T, st *stage) {
				l := st.addRecorder()
				st.startSession("Talking.").Fail(cause, aaep.Text{})
				wantStory(t, l.events(), "session.started idle>thinking session.errored:"+want)
				if p := payloadsOf[*aaep.SessionErrored](l.events())[0]; *p.Recoverable != (want == "transient") {
					t.Errorf("recoverable is %t", *p.Recoverable)
				}
			})
		}
	}
}

// The package's own words are in the agent's language where it knows that, and else in English, and
// say so (§11); they are told all the same (I18N-008), and every event has its hints (TERM-013).
func TestLanguages(t *testing.T) {
	for language, want := range map[string]string{
		"ar": "ar rtl, ar rtl, ar rtl, ar rtl, ar rtl, ar rtl, ar rtl, ar rtl",
		"fa": "fa rtl, en ltr, fa rtl, fa rtl, en auto, en ltr, fa rtl, en ltr",
	} {
		testLanguages(t, language, want)
	}
}

// testLanguages checks the language and direction of the package's own words for an agent of one
// language.
func testLanguages(t *testing.T, language, want string) {
	bubbleWith(t, producer.Config{Language: language}, func(t *testing.T, st *stage) {
		c := mayAnswer(allEvents())
		c.Languages = []string{language}
		l := st.listen(c)
		s := st.startSession("جارٍ التخطيط.")
		paid := callTool(s, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Action: aaep.Say("ادفع."), Consequence: aaep.Say("يذهب المال.")}, &action{})
		l.reply(l.question(), aaep.Reject)
		<-paid
		s.Progress(aaep.Text{}, aaep.Progress{Step: 1, TotalSteps: 2}, 0)
		s.Progress(aaep.Text{}, aaep.Progress{Description: "النصف"}, 0)
		s.Complete(aaep.Text{})
		var tags []string
		for _, ev := range l.events() {
			tags = append(tags, ev.Language()+" "+string(ev.LocalizationHints.TextDirection))
		}
		if got := strings.Join(tags, ", "); got != want {
			t.Errorf("languages\n got %s\nwant %s", got, want)
		}
	})
}

// What was told does not change with the caller's variables.
func TestEventsDoNotChange(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(termsWith(1, aaep.BoundarySentence)), st.startSession("Counting.")
		percent, packed := 25.0, []byte(`{"a":1}`)
		s.Progress(aaep.Text{}, aaep.Progress{Percent: &percent}, time.Minute)
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{PackagedContext: packed})
		percent, packed[5] = 75, '2'
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := *payloadsOf[*aaep.ProgressUpdated](l.events())[0].Progress.Percent; got != 25 {
			t.Errorf("percent is %v", got)
		}
		if got := string(payloadsOf[*aaep.HandoffRequested](l.events())[0].PackagedContext); got != `{"a":1}` {
			t.Errorf("the context is %s", got)
		}
	})
}

// A session is found in its own context and what comes of it, and nowhere else.
func TestSessionOf(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		a, b := st.startSession("One."), st.startSession("Two.")
		if producer.SessionOf(a.Context()) != a || producer.SessionOf(b.Context()) != b || producer.SessionOf(t.Context()) != nil {
			t.Error("the wrong session was found")
		}
	})
}
