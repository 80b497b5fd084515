package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// INV-09, CONF-025, SEC-003: a reply that breaks any one rule has no effect, and the question can
// still be answered.
func TestRepliesWithoutEffect(t *testing.T) {
	edit := func(name string, value any) func(*testing.T, *listener, *listener, *aaep.AwaitingConfirmation) {
		return func(_ *testing.T, l, _ *listener, q *aaep.AwaitingConfirmation) {
			o := l.rawReply(q, aaep.Accept)
			if o[name] = value; value == nil {
				delete(o, name)
			}
			l.sendObject(o)
		}
	}
	raw := func(old, new string) func(*testing.T, *listener, *listener, *aaep.AwaitingConfirmation) {
		return func(t *testing.T, l, _ *listener, q *aaep.AwaitingConfirmation) {
			data, err := aaep.Encode(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept, SubscriptionID: l.id, Timestamp: time.Now()})
			if err != nil || !strings.Contains(string(data), old) {
				t.Fatalf("%s: %v", data, err)
			}
			l.sendRaw(strings.Replace(string(data), old, new, 1))
		}
	}
	for name, spoil := range map[string]func(*testing.T, *listener, *listener, *aaep.AwaitingConfirmation){
		"unknown token":        edit("reply_token", "rpl_0123456789abcdef0123456789abcdef"),
		"no token":             edit("reply_token", nil),
		"another subscription": edit("subscription_id", "sub_1"),
		"no subscription":      edit("subscription_id", nil),
		"no timestamp":         edit("timestamp", nil),
		"unknown decision":     edit("decision", "maybe"),
		"empty decision":       edit("decision", ""),
		"decision is no text":  edit("decision", true),
		"null decision":        edit("decision", nil),
		"extra member":         edit("extra", 1), // D-41
		"stamped too late":     edit("timestamp", "2100-01-01T00:00:00.000Z"),
		"of the other kind":    edit("type", "clarification.reply"),
		"wrong case":           raw(`"decision"`, `"Decision"`),
		"long s":               raw(`"decision"`, `"deciſion"`),
		"repeated":             raw(`"decision"`, `"decision":"reject","decision"`),
		"repeated, other case": raw(`"decision"`, `"decision":"reject","Decision"`),
		"garbage":              raw(`{`, `{{`),
		"cut short":            raw(`}`, ``),
		"not UTF-8":            raw(`"accept"`, "\"accept\xff\""),
		"empty":                func(_ *testing.T, l, _ *listener, _ *aaep.AwaitingConfirmation) { l.sendRaw("") },
		"an event": func(_ *testing.T, l, _ *listener, _ *aaep.AwaitingConfirmation) {
			l.sendRaw(string(l.arrivals()[0].raw))
		},
		"another request": func(_ *testing.T, l, _ *listener, _ *aaep.AwaitingConfirmation) {
			l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw"})
		},
		"a close of somebody else": func(_ *testing.T, l, _ *listener, _ *aaep.AwaitingConfirmation) {
			l.send(&aaep.SubscriptionClose{SubscriptionID: "sub_1", ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
		},
		"not a recipient": func(_ *testing.T, _, other *listener, q *aaep.AwaitingConfirmation) { other.reply(q, aaep.Accept) },
		"in the name of a recipient": func(_ *testing.T, l, other *listener, q *aaep.AwaitingConfirmation) {
			other.sendObject(l.rawReply(q, aaep.Accept))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, other, s, d := st.addRecorder(), st.addWatcher(), st.startSession("Paying."), &action{}
				paid := callTool(s, pay, d)
				q := l.question()
				before := len(l.arrivals())
				spoil(t, l, other, q)
				time.Sleep(time.Second)
				if got := l.arrivals()[before:]; d.times != 0 || len(got) != 0 { // D-36: the sender learns nothing
					t.Fatalf("%d runs; told %s", d.times, storyOf(eventsOf(got)))
				}
				l.reply(q, aaep.Accept)
				if r := <-paid; r.err != nil || d.times != 1 {
					t.Errorf("after a good reply Tool = %v after %d runs", r.err, d.times)
				}
			})
		})
	}
}

// T2, SEC-004, INV-06: a used token is dead, for the next question too.
func TestUsedToken(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		first := callTool(s, pay, d)
		old := l.question()
		l.reply(old, aaep.Reject)
		<-first
		second := callTool(s, pay, d)
		if l.question().ReplyToken == old.ReplyToken {
			t.Error("the token was given out twice")
		}
		l.reply(old, aaep.Accept)
		time.Sleep(time.Second)
		if d.times != 0 {
			t.Error("it ran on a used token")
		}
		l.reply(l.question(), aaep.Accept)
		if r := <-second; r.err != nil || d.times != 1 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// P2, INV-05: of ten subscribers that answer at once, one decides, and all are told the same.
func TestTenRepliers(t *testing.T) {
	for round := range 20 {
		bubble(t, func(t *testing.T, st *stage) {
			var ls []*listener
			for range 10 {
				ls = append(ls, st.addRecorder())
			}
			s, d := st.startSession("Paying."), &action{}
			paid := callTool(s, pay, d)
			q := ls[0].question()
			for i, l := range ls {
				go l.reply(q, []aaep.Decision{aaep.Accept, aaep.Reject}[(i+round)%2])
			}
			r := <-paid
			if r.err == nil != (d.times == 1) || r.err != nil && !errors.Is(r.err, producer.ErrRejected) {
				t.Errorf("Tool = %v after %d runs", r.err, d.times)
			}
			for _, l := range ls {
				if got, want := storyOf(l.events()), storyOf(ls[0].events()); got != want {
					t.Errorf("one heard %s, another %s", got, want)
				}
			}
		})
	}
}

// The same without a bubble, for the race detector.
func TestTenRepliersForReal(t *testing.T) {
	var logged safeBuffer
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	const n = 10
	for range n {
		a, b := transports.Pipe()
		defer a.Close()
		go p.ServeConn(b)
		go answerAll(a)
	}
	for len(p.Subscriptions()) < n {
		time.Sleep(time.Millisecond)
	}
	s, err := p.StartSession(t.Context(), aaep.Say("Paying."))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const questions = 50
	for range questions {
		d := &action{}
		if _, err := s.Tool(t.Context(), pay, d.do); err == nil != (d.times == 1) {
			t.Errorf("Tool = %v after %d runs", err, d.times)
		}
	}
	if got := strings.Count(logged.String(), "kind=settled"); got != questions {
		t.Errorf("%d audit records, want %d", got, questions)
	}
}

// answerAll subscribes and answers every question, in turn with yes and no.
func answerAll(c transports.Conn) {
	yes := false
	msg, _ := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: mayAnswer(allEvents())})
	ctx := context.Background()
	c.Send(ctx, msg)
	var id string
	for {
		data, err := c.Receive(ctx)
		if err != nil {
			return
		}
		m, _ := aaep.Decode(data)
		switch m := m.(type) {
		case *aaep.SubscriptionAccepted:
			id = m.SubscriptionID
		case *aaep.Event:
			if q, ok := m.Payload.(*aaep.AwaitingConfirmation); ok {
				d := aaep.Reject
				if yes = !yes; yes {
					d = aaep.Accept
				}
				reply, _ := aaep.Encode(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: d, SubscriptionID: id, Timestamp: time.Now()})
				c.Send(ctx, reply)
			}
		}
	}
}

// Every settlement leaves one audit record, and none holds a token (INV-37).
func TestAuditRecords(t *testing.T) {
	var logged safeBuffer
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	bubbleWith(t, producer.Config{Logger: logger}, func(t *testing.T, st *stage) {
		s := st.startSession("Paying.")
		<-callTool(s, pay, &action{}) // no subscriber is there
		l := st.addRecorder()
		paid := callTool(s, pay, &action{})
		l.reply(l.question(), aaep.Accept)
		<-paid
		paid = callTool(s, pay, &action{})
		l.question()
		<-paid // silence
		paid = callTool(s, pay, &action{})
		token := string(l.question().ReplyToken)
		s.Close() // withdrawn
		<-paid
		synctest.Wait()
		for _, cause := range []string{"unreachable", "replied", "timed_out", "withdrawn"} {
			if n := strings.Count(logged.String(), "cause="+cause); n != 1 {
				t.Errorf("%d records of %s, want 1", n, cause)
			}
		}
		if strings.Contains(logged.String(), token) {
			t.Error("a token is in the log")
		}
	})
}

// safeBuffer may be written and read at once.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the buffer.
func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written so far.
func (b *safeBuffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }

// INV-37: no reply token is in a log, whatever comes.
func TestTokensStayOutOfLogs(t *testing.T) {
	var log bytes.Buffer
	bubbleWith(t, producer.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Paying.")
		for _, d := range []aaep.Decision{aaep.Accept, aaep.Reject} {
			paid := callTool(s, pay, &action{})
			q := l.question()
			o := l.rawReply(q, d)
			o["subscription_id"] = "sub_other"
			l.sendObject(o)
			o["odd"] = q.ReplyToken
			l.sendObject(o)
			l.renegotiate(moreTimeTerms(q.ReplyToken, 0))
			l.reply(q, d)
			l.reply(q, d)
			<-paid
		}
	})
	if strings.Contains(log.String(), "rpl_") || !strings.Contains(log.String(), "kind=settled") {
		t.Errorf("the log is %s", log.String())
	}
}

// INV-55: a subscriber that floods replies is slowed down, alone: an answer of another one counts
// at once.
func TestRepliesAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		flood, other := st.listen(mayAnswer(allEvents())), st.listen(mayAnswer(allEvents()))
		s, d := st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		q := flood.question()
		guess := *q
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := range 1000 {
				guess := guess
				guess.ReplyToken = aaep.ReplyToken(fmt.Sprintf("rpl_%032x", i))
				flood.reply(&guess, aaep.Accept)
			}
		}()
		time.Sleep(5 * time.Second)
		began := time.Now()
		other.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || r.at != began || d.times != 1 {
			t.Errorf("%+v, %v after it was answered", r, r.at.Sub(began))
		}
		<-sent
		if took := time.Since(began.Add(-5 * time.Second)); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("1000 guesses took %v", took)
		}
	})
}

// CONF-008, INV-55: a token is 128 bits as 32 hex digits, and no two are alike.
func TestTokens(t *testing.T) {
	form, seen := regexp.MustCompile(`^rpl_[0-9a-f]{32}$`), map[aaep.ReplyToken]bool{}
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Paying.")
		for range 50 {
			paid := callTool(s, pay, &action{})
			q := l.question()
			if !form.MatchString(string(q.ReplyToken)) || seen[q.ReplyToken] {
				t.Errorf("the token %s, seen before: %t", q.ReplyToken, seen[q.ReplyToken])
			}
			seen[q.ReplyToken] = true
			l.reply(q, aaep.Reject)
			<-paid
		}
	})
}
