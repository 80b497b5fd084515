package producer_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// stranger is a subscriber that misbehaves. It ends with ctx.
type stranger struct {
	st   *stage
	ctx  context.Context
	conn transports.Conn
	id   string
}

// connect makes a new link; hangUp closes it and waits until the producer no longer serves it.
func (s *stranger) connect() (hangUp func()) {
	a, b := transports.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); s.st.p.ServeConn(b) }()
	s.conn = a
	return func() { a.Close(); <-served }
}

// subscribe makes a new link and sends a request on it, which must be accepted.
func (s *stranger) subscribe(c aaep.Capabilities) (hangUp func()) {
	hangUp = s.connect()
	m := s.request(c)
	acc, ok := m.(*aaep.SubscriptionAccepted)
	switch {
	case ok:
		s.id = acc.SubscriptionID
	case s.ctx.Err() == nil:
		s.st.t.Errorf("a stranger is answered %+v", m)
	}
	return hangUp
}

// request sends a request and returns the answer.
func (s *stranger) request(c aaep.Capabilities) aaep.Message {
	s.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "stranger", Capabilities: c})
	m, _ := aaep.Decode(s.receive())
	return m
}

// send sends a message, if it can be encoded.
func (s *stranger) send(m aaep.Message) {
	if data, err := aaep.Encode(m); err == nil {
		s.sendRaw(string(data))
	}
}

// sendRaw sends bytes that may be no message.
func (s *stranger) sendRaw(data string) { s.conn.Send(s.ctx, []byte(data)) }

// receive returns the next message, or nil when the link or ctx has ended.
func (s *stranger) receive() []byte {
	data, _ := s.conn.Receive(s.ctx)
	return data
}

// readAll reads whatever comes, until the link or ctx ends.
func (s *stranger) readAll() {
	for conn := s.conn; ; {
		if _, err := conn.Receive(s.ctx); err != nil {
			return
		}
	}
}

// repeat calls f again and again, d apart, until ctx ends.
func (s *stranger) repeat(d time.Duration, f func(i int)) {
	for i := 0; s.ctx.Err() == nil; i++ {
		f(i)
		time.Sleep(d)
	}
}

// misbehaviours are the ways in which a subscription can disturb the producer.
var misbehaviours = map[string]func(*stranger){
	"never reads": func(s *stranger) {
		defer s.subscribe(mayAnswer(allEvents()))()
		<-s.ctx.Done()
	},
	"reads one message a minute": func(s *stranger) {
		s.repeat(time.Second, func(int) { // it comes again when it was closed
			defer s.subscribe(allEvents())()
			for len(s.receive()) > 0 {
				select {
				case <-time.After(time.Minute):
				case <-s.ctx.Done():
				}
			}
		})
	},
	"vanishes in the handshake": func(s *stranger) {
		s.repeat(70*time.Millisecond, func(i int) {
			hangUp := s.connect()
			switch i % 3 {
			case 0:
				s.sendRaw(`{"type":"subscription.request","aaep_ver`)
			case 1:
				s.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "gone"})
			}
			hangUp()
		})
	},
	"vanishes in the stream": func(s *stranger) {
		s.repeat(700*time.Millisecond, func(i int) {
			defer s.subscribe(mayAnswer(allEvents()))()
			for range i % 20 {
				s.receive()
			}
		})
	},
	"comes and goes": func(s *stranger) {
		s.repeat(50*time.Millisecond, func(int) {
			defer s.subscribe(mayAnswer(termsWith(1, aaep.BoundaryWord)))()
			s.send(&aaep.SubscriptionClose{SubscriptionID: s.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
		})
	},
	"renegotiates without end": func(s *stranger) {
		defer s.subscribe(mayAnswer(allEvents()))()
		go s.readAll()
		s.repeat(100*time.Millisecond, func(int) {
			for i := range 10 { // as many as are answered
				c := termsWith(int64(10-i), aaep.BoundaryWord)
				c.SupportsConfirmationReply = new(i%2 == 0) // which concerns the questions that are open
				s.send(&aaep.SubscriptionRenegotiate{SubscriptionID: s.id, Capabilities: c})
			}
		})
	},
	"renegotiates until refused": func(s *stranger) {
		s.repeat(300*time.Millisecond, func(i int) {
			defer s.subscribe(mayAnswer(allEvents()))()
			c := aaep.Capabilities{AcceptSignedManifestsOnly: new(true)}
			if i%2 == 0 {
				s.id, c = "sub_1", aaep.Capabilities{MaxEventsPerSecond: 1}
			}
			s.send(&aaep.SubscriptionRenegotiate{SubscriptionID: s.id, Capabilities: c})
			s.readAll()
		})
	},
	"forges replies": func(s *stranger) {
		defer s.subscribe(allEvents())() // it is asked nothing
		token := make(chan aaep.ReplyToken, 1)
		token <- "rpl_0"
		go func() {
			// It has found out what another subscriber is asked.
			spy := &stranger{st: s.st, ctx: s.ctx}
			defer spy.subscribe(mayAnswer(termsWith(1)))()
			for {
				m, err := aaep.Decode(spy.receive())
				if err != nil {
					return
				}
				if ev, ok := m.(*aaep.Event); ok {
					if q, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
						<-token
						token <- q.ReplyToken
					}
				}
			}
		}()
		go s.readAll()
		s.repeat(100*time.Millisecond, func(i int) {
			known := <-token
			token <- known
			for j := range 10 {
				for _, t := range []aaep.ReplyToken{known, aaep.ReplyToken(fmt.Sprintf("rpl_%032x", i*10+j))} {
					s.send(&aaep.ConfirmationReply{ReplyToken: t, Decision: aaep.Accept, SubscriptionID: s.id, Timestamp: time.Now()})
				}
			}
		})
	},
	"sends rubbish": func(s *stranger) {
		rubbish := []string{"", "{", "\x00\xff", "null", `{"type":"nothing"}`, strings.Repeat("[", 100000), `"` + strings.Repeat("x", transports.MaxMessage-2) + `"`,
			strings.Repeat("x", transports.MaxMessage+1), `{"type":"confirmation.reply"}`, `{"type":"subscription.request"}`, `{"type":"subscription.close","subscription_id":"sub_1"}`}
		s.repeat(5*time.Second, func(i int) { // as a first message, too
			hangUp := s.connect()
			s.sendRaw(rubbish[i%len(rubbish)])
			s.receive()
			hangUp()
			defer s.subscribe(allEvents())()
			for _, data := range rubbish {
				s.sendRaw(data)
			}
		})
	},
	"wants everything": func(s *stranger) {
		many := func(n int) (list []string) {
			for i := range n {
				list = append(list, fmt.Sprintf("aaep:agent.output.%d*", i))
			}
			return list
		}
		c := termsWith(100000, aaep.BoundaryNone)
		c.EventFilters = &aaep.EventFilters{Include: many(10000)}
		hangUp := s.connect()
		wantNo(s.st.t, s.request(c), aaep.CapabilitiesIncompatible, "at most 256")
		hangUp()
		c.EventFilters = &aaep.EventFilters{Include: append(many(255), "aaep:*"), Exclude: many(256)}
		defer s.subscribe(c)()
		s.readAll()
	},
}
