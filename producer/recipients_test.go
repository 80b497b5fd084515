package producer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/transports"
)

// unhurriedTerms returns terms of a subscriber that needs ten minutes to answer, and may.
func unhurriedTerms() aaep.Capabilities {
	return declare(mayAnswer(allEvents()), extensions.TimingVocabulary, extensions.Timing{MinSeconds: 600})
}

// D-42: a subscription that comes while the question is being put on record has the time that it
// needs, and so has one that is asked because the first has left. What is on record says until
// when.
func TestTimeoutSuitsAllRecipients(t *testing.T) {
	for name, firstLeaves := range map[string]bool{"beside another": false, "in its place": true} {
		t.Run(name, func(t *testing.T) {
			kept := &slowSink{takes: slowOnly(audit.Asked)}
			bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
				first, s, d := st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
				paid := callTool(s, pay, d) // five minutes
				time.Sleep(time.Second)
				late := st.listen(unhurriedTerms())
				if firstLeaves {
					first.conn.Close()
				}
				time.Sleep(3 * recordTime)
				q := late.question()
				if want := int64(600); firstLeaves && q.TimeoutSeconds != want || q.TimeoutSeconds < want-3 {
					t.Errorf("the question has %d seconds, want %d", q.TimeoutSeconds, want)
				}
				time.Sleep(8 * time.Minute)
				late.reply(q, aaep.Accept)
				if r := <-paid; r.err != nil || d.times != 1 {
					t.Errorf("Tool = %v after %d runs", r.err, d.times)
				}
				var until time.Time
				for _, r := range kept.records() {
					if r.Kind == audit.Asked && r.Recipients[0].SubscriptionID == late.id {
						until = r.Deadline
					}
				}
				if left := until.Sub(late.cameAt(aaep.TypeAwaitingConfirmation)); left.Round(time.Second) < 597*time.Second || left > 600*time.Second {
					t.Errorf("the record says that %v are left", left)
				}
			})
		})
	}
}

// INV-15: a question is open as long as a subscription is there that can answer it, also if its
// record is still being written.
func TestQuestionWaitsForWhoIsBeingRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		fails bool
		then  func(late *listener)
		want  error
	}{
		"kept":   {then: func(late *listener) { late.reply(late.question(), aaep.Accept) }},
		"failed": {fails: true, then: func(*listener) {}, want: producer.ErrUnreachable},
		"leaves": {then: func(late *listener) { late.conn.Close() }, want: producer.ErrUnreachable},
		"can answer no more": {then: func(late *listener) {
			late.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(false)})
		}, want: producer.ErrUnreachable},
	} {
		for _, comes := range []string{"before it is put", "after it was put"} {
			t.Run(name+", "+comes, func(t *testing.T) {
				asked := 0
				kept := &slowSink{takes: slowOnly(audit.Asked), refuses: func(r audit.Record) error {
					if r.Kind == audit.Asked {
						if asked++; asked > 1 && tc.fails {
							return errors.New("the disk is full")
						}
					}
					return nil
				}}
				bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
					first, s, d := st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
					paid := callTool(s, pay, d)
					time.Sleep(time.Second)
					if comes == "after it was put" {
						time.Sleep(recordTime)
					}
					late := st.listen(mayAnswer(allEvents()))
					time.Sleep(recordTime - 500*time.Millisecond)
					first.question()
					first.conn.Close()
					synctest.Wait()
					if len(paid) > 0 {
						t.Fatalf("Tool = %v while another is being put on record", (<-paid).err)
					}
					if name == "leaves" || name == "can answer no more" {
						tc.then(late)
					} else {
						time.Sleep(recordTime)
						tc.then(late)
					}
					began := time.Now()
					if r := <-paid; !errors.Is(r.err, tc.want) || (d.times == 1) != (tc.want == nil) || r.at.Sub(began) > time.Second {
						t.Errorf("Tool = %v after %v and %d runs, want %v", r.err, r.at.Sub(began), d.times, tc.want)
					}
				})
			})
		}
	}
}

// INV-22, D-34: a subscription that gains the right to answer before its first stream is asked
// once, behind the state that the question belongs to.
func TestRightToAnswerBeforeTheFirstStream(t *testing.T) {
	for _, slow := range []bool{false, true} {
		for _, goesOn := range []bool{false, true} {
			var kept slowSink
			bubbleWith(t, producer.Config{Audit: &kept}, func(t *testing.T, st *stage) {
				first, before := st.listenResumable(allEvents())
				s := st.startSession("Paying.")
				last := ""
				if stream := before(""); goesOn {
					s.State(aaep.StateDeciding, aaep.Text{})
					stream.events()
					last = stream.resumableID()
				}
				first.conn.Close()
				st.addRecorder()
				go s.Tool(context.Background(), pay, succeed)
				synctest.Wait()
				if slow {
					kept.takes = slowEvery
				}
				l, open := st.listenResumable(allEvents())
				l.renegotiate(mayAnswer(aaep.Capabilities{}))
				time.Sleep(time.Second)
				stream := open(last)
				time.Sleep(3 * recordTime)
				want := "thinking>awaiting_input awaiting.confirmation"
				if goesOn {
					want = "deciding>awaiting_input awaiting.confirmation"
				}
				if got := storyOf(stream.events()); got != want {
					t.Errorf("slow %t, goes on %t: it is told %s, want %s", slow, goesOn, got, want)
				}
				s.Complete(aaep.Text{})
			})
		}
	}
}

// INV-16, D-84: the language on record is that in which the question is shown, wherever the
// question was when the language changed: ahead of the stream, prepared for the first stream, or on
// its way to a slow link.
func TestLanguageOnRecord(t *testing.T) {
	terms := mayAnswer(allEvents())
	terms.Languages = []string{"en-US"}
	for name, f := range map[string]func(t *testing.T, st *stage, takes *time.Duration) (*listener, []arrival){
		"ahead of the stream": func(t *testing.T, st *stage, takes *time.Duration) (*listener, []arrival) {
			l, open := st.listenResumable(terms)
			stream := open("")
			s := st.startSession("Paying.")
			stream.events()
			stream.breakStream()
			synctest.Wait() // otherwise the question may have left on that stream, and is sent again as it was
			go s.Tool(context.Background(), transfer, succeed)
			synctest.Wait()
			*takes = recordTime
			l.renegotiate(inSpanish)
			stream = open(stream.resumableID())
			time.Sleep(2 * recordTime)
			return l, stream.arrivals()
		},
		"for the first stream": func(t *testing.T, st *stage, takes *time.Duration) (*listener, []arrival) {
			st.addRecorder()
			go st.startSession("Paying.").Tool(context.Background(), transfer, succeed)
			synctest.Wait()
			l, open := st.listenResumable(terms)
			*takes = recordTime
			l.renegotiate(inSpanish)
			stream := open("")
			time.Sleep(2 * recordTime)
			return l, stream.arrivals()
		},
		"shown before, and again": func(t *testing.T, st *stage, takes *time.Duration) (*listener, []arrival) {
			l, open := st.listenResumable(terms)
			stream, s := open(""), st.startSession("Paying.")
			stream.events()
			before := stream.resumableID()
			go s.Tool(context.Background(), transfer, succeed)
			stream.events()
			open("evt_unknown") // nothing can be sent again as it was
			if n := len(payloadsOf[*aaep.AwaitingConfirmation](stream.events())); n != 1 {
				t.Fatalf("%d questions", n)
			}
			*takes = recordTime
			l.renegotiate(inSpanish)
			stream = open(before)
			time.Sleep(2 * recordTime)
			return l, stream.arrivals()
		},
		"on its way to a slow link": func(t *testing.T, st *stage, takes *time.Duration) (*listener, []arrival) {
			near, far := transports.Pipe() // which takes one event after the other
			l := &listener{t: t, conn: near}
			st.all = append(st.all, l)
			go st.p.ServeConn(far)
			l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: terms})
			_, err := l.conn.Receive(t.Context())
			requireNoError(t, err)
			l.id = st.p.Subscriptions()[0].SubscriptionID
			s := st.startSession("Paying.")
			for range 200 { // more than the link takes
				requireNoError(t, s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}))
				synctest.Wait()
			}
			go s.Tool(context.Background(), transfer, succeed)
			time.Sleep(time.Second)
			for range 170 { // until the stream has read the question, and it waits behind others
				_, err := l.conn.Receive(t.Context())
				requireNoError(t, err)
			}
			synctest.Wait()
			*takes = recordTime
			l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: inSpanish})
			synctest.Wait()
			l.startReading()
			time.Sleep(2 * recordTime)
			synctest.Wait()
			return l, l.arrivals()
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &timedSink{}
			cfg := polyglot
			cfg.Audit = kept
			bubbleWith(t, cfg, func(t *testing.T, st *stage) {
				l, got := f(t, st, &kept.takes)
				checkShown(t, &kept.moodySink, l.id, got)
				if got := describeAsks(eventsOf(got)); strings.Count(got, "es ") != 1 || strings.Contains(got, "en-US") {
					t.Errorf("asked %s", got)
				}
			})
		})
	}
}

// INV-16: a subscription that changes its language while it is put on record, and whose first
// record fails, is asked in the new one.
func TestFirstLanguageCannotBeRecorded(t *testing.T) {
	cfg := polyglot
	cfg.Audit = &slowSink{takes: slowOnly(audit.Asked), refuses: func(r audit.Record) error {
		if r.Kind == audit.Asked && r.Shown == nil && r.Recipients[0].Language == "en-US" {
			return errors.New("the disk is full")
		}
		return nil
	}}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		st.listen(mayAnswer(inLanguages(allEvents(), "es")))
		s, d := st.startSession("Paying."), &action{}
		paid := callTool(s, transfer, d)
		time.Sleep(2 * recordTime)
		late := st.listen(mayAnswer(inLanguages(allEvents(), "en-US")))
		time.Sleep(time.Second)
		late.renegotiate(inSpanish)
		time.Sleep(2 * recordTime)
		if got := describeAsks(late.events()); strings.Count(got, "es ") != 1 || strings.Contains(got, "en-US") {
			t.Fatalf("asked %s", got)
		}
		late.reply(late.question(), aaep.Accept)
		if r := <-paid; r.err != nil || d.times != 1 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// timedSink takes as long for each Asked record as takes says, and notes when each record was kept.
type timedSink struct {
	moodySink
	takes time.Duration
}

// Record keeps r after takes, if it is of the kind Asked, and else at once.
func (s *timedSink) Record(r audit.Record) error {
	if r.Kind == audit.Asked {
		time.Sleep(s.takes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, keptRecord{r, time.Now()})
	return nil
}

// INV-21: after a stream that is made anew, a question that was put once more in another language
// comes once.
func TestQuestionComesOnceAfterCatchingUp(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		st.addRecorder()
		s := st.startSession("Paying.")
		go s.Tool(context.Background(), transfer, succeed)
		synctest.Wait()
		for _, last := range []string{"evt_unknown", ""} {
			l, open := st.listenResumable(mayAnswer(allEvents()))
			stream := open("")
			if n := len(payloadsOf[*aaep.AwaitingConfirmation](stream.events())); n != 1 {
				t.Fatalf("%d questions", n)
			}
			l.renegotiate(inSpanish)
			stream.breakStream()
			time.Sleep(time.Second)
			if got := describeAsks(open(last).events()); strings.Count(got, "es ") != 1 {
				t.Errorf("after %q asked %s", last, got)
			}
		}
		s.Complete(aaep.Text{})
	})
}

// INV-21: what the log has shown in the new language is not put again outside it.
func TestQuestionInTheNewLanguageComesOnceByTheLog(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l, open := st.listenResumable(mayAnswer(allEvents()))
		stream, s := open(""), st.startSession("Paying.")
		stream.events()
		before := stream.resumableID()
		go s.Tool(context.Background(), transfer, succeed)
		stream.events()
		open("evt_unknown") // nothing can be sent again as it was
		l.renegotiate(inSpanish)
		stream = open(before)
		out := s.Output()
		requireNoError(t, writeText(out, "One."))
		if got := describeAsks(stream.events()); strings.Count(got, "es ") != 1 {
			t.Fatalf("asked %s", got)
		}
		after := stream.resumableID()
		for range 2000 { // more than what is kept to be sent again
			requireNoError(t, writeText(out, "More. "))
			synctest.Wait()
		}
		if got := describeAsks(open(after).events()); got != "" {
			t.Errorf("then asked %s", got)
		}
		s.Complete(aaep.Text{})
	})
}

// INV-21: a stream that comes back at a process that follows, while a question is being recorded
// there, is asked once.
func TestFollowerAsksOnceBesideACut(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, _ [2]*stage, _ *sink) {
		kept := &timedSink{takes: 10 * time.Millisecond}
		edge := c.startReplicaWith(t, "south", kept)
		defer edge.end()
		l, open := edge.listenResumable(mayAnswer(allEvents()))
		stream := open("")
		time.Sleep(5 * time.Second)
		s, other := agent.startSession("Paying."), agent.startSession("Paying too.")
		synctest.Wait()
		stream.breakStream()
		go s.Tool(context.Background(), pay, succeed)
		time.Sleep(5 * time.Millisecond) // the record is being written
		stream = open("evt_unknown")
		time.Sleep(time.Second)
		q := payloadsOf[*aaep.AwaitingConfirmation](stream.events())
		kept.takes = recordTime
		go other.Tool(context.Background(), pay, succeed)
		time.Sleep(2 * recordTime)
		n := 0
		for _, again := range payloadsOf[*aaep.AwaitingConfirmation](stream.events()) {
			if len(q) > 0 && again.ReplyToken == q[0].ReplyToken {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is asked one question %d times", l.id, n)
		}
		s.Complete(aaep.Text{})
		other.Complete(aaep.Text{})
	})
}

// D-34, INV-14: at a process that follows, a subscription that loses the right to answer while the
// question is recorded is not made a recipient again by that record.
func TestFollowerLooksAgainAtTheRightToAnswer(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		kept := &timedSink{takes: 10 * time.Millisecond}
		edge := c.startReplicaWith(t, "south", kept)
		defer edge.end()
		near, l := edges[0].addRecorder(), edge.listen(mayAnswer(allEvents()))
		time.Sleep(5 * time.Second)
		s, d := agent.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		time.Sleep(5 * time.Millisecond)
		l.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(false)})
		time.Sleep(time.Second)
		if n := len(payloadsOf[*aaep.AwaitingConfirmation](l.events())); n > 0 {
			t.Error("who cannot answer is asked")
		}
		l.reply(near.question(), aaep.Accept)
		time.Sleep(time.Second)
		if len(paid) > 0 || d.times > 0 {
			t.Error("the reply of who cannot answer counts")
		}
		near.reply(near.question(), aaep.Reject)
		<-paid
	})
}

// INV-16: however many questions wait for their records, none is shown before.
func TestManyQuestionsAreWithheld(t *testing.T) {
	kept := &timedSink{takes: recordTime}
	bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
		st.listen(mayAnswer(allEvents()))
		var sessions []*producer.Session
		for range 300 {
			s := st.startSession("Paying.")
			sessions = append(sessions, s)
			go s.Tool(context.Background(), pay, succeed)
		}
		time.Sleep(time.Second)
		l, open := st.listenResumable(mayAnswer(allEvents()))
		time.Sleep(recordTime)
		stream := open("")
		time.Sleep(3 * recordTime)
		checkShown(t, &kept.moodySink, l.id, stream.arrivals())
		for _, s := range sessions {
			s.Complete(aaep.Text{})
		}
	})
}

// INV-53: Shutdown does not wait for a sink that never returns longer than two seconds after its
// caller waits no more. For what a goroutine of the agent has recorded it does not wait at all.
func TestShutdownBesideASinkThatHangs(t *testing.T) {
	for _, kind := range []audit.Kind{audit.Asked, audit.Replied, audit.Settled, audit.Invoked, audit.Completed} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				freed := make(chan struct{})
				kept := sinkFunc(func(r audit.Record) error {
					if r.Kind == kind {
						<-freed
					}
					return nil
				})
				st := newStage(t, producer.Config{Audit: kept})
				l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
				paid := callTool(s, pay, &action{})
				time.Sleep(time.Second)
				if kind != audit.Asked {
					l.reply(l.question(), aaep.Accept)
					time.Sleep(5 * time.Second)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				ended := callLater(func() (struct{}, error) { return struct{}{}, st.p.Shutdown(ctx) })
				time.Sleep(time.Minute)
				select {
				case r := <-ended:
					if agents := kind == audit.Invoked || kind == audit.Completed; !agents && !errors.Is(r.err, context.DeadlineExceeded) || r.at.Sub(began) > 4*time.Second {
						t.Errorf("Shutdown = %v after %v", r.err, r.at.Sub(began))
					}
				default:
					t.Error("Shutdown waits for a sink that never returns")
				}
				close(freed)
				<-paid
				synctest.Wait()
				st.end()
			})
		})
	}
}
