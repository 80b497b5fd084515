package producer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
)

// renegotiate asks for a change of the terms and returns the answer, which must accept it.
func (l *listener) renegotiate(change aaep.Capabilities) *aaep.SubscriptionAccepted {
	l.t.Helper()
	l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: change})
	acc, _ := l.lastMessage().(*aaep.SubscriptionAccepted)
	if acc == nil || acc.SubscriptionID != l.id {
		l.t.Fatalf("the answer to the renegotiation is %+v", l.lastMessage())
	}
	return acc
}

// §5.7.2, HS-076: new terms hold for every event after the answer, and no text is lost or doubled
// on the way (INV-28).
func TestRenegotiateInTheMiddle(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(termsWith(0, aaep.BoundarySentence))
		s := st.startSession("Talking.")
		out := s.Output()
		var text strings.Builder
		say := func() {
			for i := range 30 {
				sentence := fmt.Sprintf("This is the sentence %d. And", i)
				text.WriteString(sentence)
				out.WriteString(sentence)
				time.Sleep(20 * time.Millisecond)
			}
		}
		say()
		l.renegotiate(termsWith(2, aaep.BoundarySentence))
		lowered := time.Now()
		say()
		l.renegotiate(termsWith(2, aaep.BoundaryCompletion))
		say()
		l.renegotiate(termsWith(100000, aaep.BoundaryNone))
		raised := time.Now()
		say()
		out.Close()
		time.Sleep(time.Minute)
		if err := onlyText(l.events(), text.String()); err != nil {
			t.Error(err)
		}
		var between []arrival
		for _, a := range l.arrivals() {
			if a.at.After(lowered) && a.at.Before(raised) {
				between = append(between, a)
			}
		}
		if n := mostInOneSecond(between); n > 2 || n == 0 {
			t.Errorf("%d events in a second, want at most 2", n)
		}
	})
}

// A subscriber that may no longer answer is no recipient: the question of the last one settles as
// unreachable (D-34, D-38).
func TestRenegotiateDuringAQuestion(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		q := l.question()
		l.renegotiate(aaep.Capabilities{SupportsClarificationReply: new(false)})
		if time.Sleep(time.Second); len(paid) > 0 {
			t.Error("the other flag settled it")
		}
		l.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(false)})
		l.reply(q, aaep.Accept)
		if r := <-paid; !errors.Is(r.err, producer.ErrUnreachable) || d.times != 0 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// A subscriber that may answer from now on gets the question that is open; one that had it does not
// get it again (D-34).
func TestRenegotiateIntoAQuestion(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		c := allEvents()
		c.SupportsConfirmationReply = new(true)
		asked, w, s, d := st.listen(c), st.listen(allEvents()), st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		q := asked.question()
		asked.renegotiate(aaep.Capabilities{SupportsClarificationReply: new(true)})
		w.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(true)})
		if n := len(payloadsOf[*aaep.AwaitingConfirmation](asked.events())); n != 1 {
			t.Errorf("the question came %d times", n)
		}
		if w.question().ReplyToken != q.ReplyToken {
			t.Error("another question came")
		}
		w.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || d.times != 1 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// §5.7, D-54: a refused renegotiation is told, ends the subscription and defaults its questions;
// its terms never hold (TERM-015).
func TestRenegotiationRefused(t *testing.T) {
	for name, c := range map[string]struct {
		id   string
		ask  aaep.Capabilities
		want aaep.ReasonCode
	}{
		"terms":    {"", aaep.Capabilities{AcceptSignedManifestsOnly: new(true)}, aaep.ManifestSignatureRequired},
		"wrong id": {"sub_1", aaep.Capabilities{MaxEventsPerSecond: 3}, aaep.AuthorizationDenied},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
				paid := callTool(s, pay, &action{})
				l.question()
				if c.id == "" {
					c.id = l.id
				}
				l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: c.id, Capabilities: c.ask})
				if no, ok := l.lastMessage().(*aaep.SubscriptionRejected); !ok || no.ReasonCode != c.want {
					t.Errorf("the last message is %+v", l.lastMessage())
				}
				if r := <-paid; !errors.Is(r.err, producer.ErrUnreachable) {
					t.Errorf("Tool = %v", r.err)
				}
				<-l.served
			})
		})
	}
}

// §8.7, D-29, D-34: a subscriber that comes late is told what the agent is doing and what it asks,
// and can answer.
func TestLateJoiner(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		first, s, d := st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
		over := st.startSession("Something else.")
		over.Close()
		paid := callTool(s, pay, d)
		q := first.question()
		w, late := st.listen(allEvents()), st.listen(mayAnswer(allEvents()))
		if got := storyOf(w.events()); got != "thinking>awaiting_input" {
			t.Errorf("one who may not answer is told %s", got)
		}
		if got := len(late.events()); got != 2 || late.question().ReplyToken != q.ReplyToken {
			t.Fatalf("the late one is told %s", storyOf(late.events()))
		}
		first.conn.Close()
		<-first.served
		late.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || d.times != 1 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
		wantStory(t, w.events(), "thinking>awaiting_input awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking")
	})
}

// FromStart tells all of a session, at the rate agreed on, but never a question that is settled.
func TestFromStart(t *testing.T) {
	bubbleWith(t, producer.Config{FromStart: true}, func(t *testing.T, st *stage) {
		first, s := st.addRecorder(), st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		first.reply(first.question(), aaep.Reject)
		<-paid
		out := s.Output()
		out.WriteString("All of this. ")
		again := callTool(s, pay, &action{})
		q := first.question()
		late := st.addRecorder()
		if qs := payloadsOf[*aaep.AwaitingConfirmation](late.events()); len(qs) != 1 || qs[0].ReplyToken != q.ReplyToken {
			t.Errorf("%d questions, want the open one", len(qs))
		}
		late.reply(q, aaep.Reject)
		<-again
		out.Close()
		s.Complete(aaep.Text{})
		if err := onlyText(late.events(), "All of this. "); err != nil {
			t.Error(err)
		}
		slow := st.listen(termsWith(1, aaep.BoundarySentence))
		second := st.startSession("Once more.")
		second.Tool(t.Context(), look, succeed)
		time.Sleep(time.Minute)
		if n := mostInOneSecond(slow.arrivals()); n > 1 {
			t.Errorf("%d events in a second", n)
		}
		if slow.events()[0].SessionID != second.ID() { // a session that is over is not told again
			t.Errorf("it is told %s", storyOf(slow.events()))
		}
	})
}

// A question and a change of the right to answer it, at the same moment: it is answered or it
// settles (INV-15).
func TestQuestionRacesRenegotiation(t *testing.T) {
	for range 100 {
		bubble(t, func(t *testing.T, st *stage) {
			l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
			began := time.Now()
			paid := callTool(s, pay, &action{})
			go l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{SupportsConfirmationReply: new(false)}})
			synctest.Wait()
			if r := <-paid; !errors.Is(r.err, producer.ErrUnreachable) || r.at != began {
				t.Errorf("Tool = %v after %v", r.err, r.at.Sub(began))
			}
		})
	}
}

// HS-076: subscriptions with equal requests have the same terms, until one of them changes its own.
// A subscription that may not reply has other terms than one that may, whatever both asked for.
func TestTermsOfEach(t *testing.T) {
	mayReply := true
	cfg := producer.Config{Admit: func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
		return producer.Rights{Reply: mayReply}, nil
	}}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		same := mayAnswer(termsWith(5, aaep.BoundarySentence))
		a, b := st.listen(same), st.listen(same)
		mayReply = false
		silent := st.listen(same)
		mayReply = true
		check := func(l *listener, rate int64, replies bool) {
			t.Helper()
			synctest.Wait()
			for _, s := range st.p.Subscriptions() {
				if c := s.Terms; s.SubscriptionID == l.id && (c.MaxEventsPerSecond != rate || *c.SupportsConfirmationReply != replies) {
					t.Errorf("%d events a second, replies %t; want %d, %t", c.MaxEventsPerSecond, *c.SupportsConfirmationReply, rate, replies)
				}
			}
		}
		check(a, 5, true)
		check(b, 5, true)
		check(silent, 5, false)
		a.renegotiate(termsWith(2, aaep.BoundaryNone))
		check(a, 2, true)
		check(b, 5, true)
		check(silent, 5, false)
		check(st.listen(same), 5, true) // a later one gets what it asked for too
		b.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(false)})
		check(b, 5, false)
		check(a, 2, true)
	})
}

// P2, P4, INV-02: a question that was put and settled while a subscriber could not answer questions
// is not shown to it afterwards, when it can: it is not on record as asked.
func TestSettledBeforeItCouldAnswer(t *testing.T) {
	for _, opened := range []bool{false, true} { // whether there was a stream before the question
		bubble(t, func(t *testing.T, st *stage) {
			asked, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
			mute, open := st.listenResumable(allEvents())
			last := ""
			if opened {
				stream := open("")
				stream.events()
				stream.breakStream()
				last = stream.resume
			}
			paid := callTool(s, pay, &action{})
			asked.reply(asked.question(), aaep.Reject)
			<-paid
			mute.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(true)})
			events := open(last).events()
			if got := describeAsks(events); got != "" {
				t.Errorf("asked %s", got)
			}
			if len(payloadsOf[*aaep.StateChanged](events)) == 0 {
				t.Error("it does not hear what the agent does")
			}
			s.Complete(aaep.Text{})
		})
	}
}

// busyDisk takes what is appended while busy is not held.
type busyDisk struct {
	log.Store
	busy *sync.Mutex
}

// Append waits until busy is free.
func (d busyDisk) Append(records [][]byte) error {
	for !d.busy.TryLock() {
		time.Sleep(time.Millisecond)
	}
	defer d.busy.Unlock()
	return d.Store.Append(records)
}

// P2, P4, INV-02: a question that was settled before the disk took it is not shown in a language
// that was agreed on since.
func TestSettledBeforeTheDiskHasIt(t *testing.T) {
	var busy sync.Mutex
	english, spanish := mayAnswer(allEvents()), mayAnswer(allEvents())
	english.Languages, spanish.Languages = []string{"en-US"}, []string{"es", "en-US"}
	cfg := producer.Config{Languages: []string{"en-US", "es"}}
	onDisk(t, cfg, func(s log.Store) log.Store { return busyDisk{s, &busy} }, func(t *testing.T, st *stage) {
		l, s := st.listen(spanish), st.startSession("Paying.")
		both := pay
		both.Action = aaep.Say("Pay $5.").In("es", aaep.Say("Pagar $5."))
		both.Consequence = aaep.Say("It is gone.").In("es", aaep.Say("Se va."))
		time.Sleep(time.Second)
		busy.Lock()
		ctx, cancel := context.WithCancel(t.Context())
		paid := callLater(func() (string, error) { return s.Tool(ctx, both, succeed) })
		time.Sleep(100 * time.Millisecond)
		cancel()
		time.Sleep(100 * time.Millisecond)
		l.renegotiate(english)
		busy.Unlock()
		if r := <-paid; !errors.Is(r.err, context.Canceled) {
			t.Error(r.err)
		}
		time.Sleep(time.Second)
		if got := describeAsks(l.events()); got != "" || !strings.Contains(storyOf(l.events()), "awaiting_input") {
			t.Errorf("asked %s among %s", got, storyOf(l.events()))
		}
	})
}
