package producer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// INV-53: each subscriber gets all it is owed, at its own rate, and a goodbye (HS-079).
func TestShutdown(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		slow := st.listen(termsWith(1, aaep.BoundarySentence))
		ls := []*listener{st.addRecorder(), st.listen(termsWith(3, aaep.BoundarySentence)), slow}
		for range 5 {
			out := st.startSession("Talking.").Output()
			out.WriteString("One sentence. And a ha")
		}
		began := time.Now()
		if err := st.p.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("it took %v; the slow one was owed more", took)
		}
		for _, l := range ls {
			<-l.served
			c, ok := l.lastMessage().(*aaep.SubscriptionClose)
			if !ok || c.ReasonCode != aaep.ProducerShutdown || c.SubscriptionID != l.id {
				t.Errorf("the last message is %+v", l.lastMessage())
			}
			if got := payloadsOf[*aaep.SessionCancelled](l.events()); len(got) != 5 || got[0].CancelledBy != aaep.CancelledBySystem {
				t.Errorf("%d sessions were cancelled, want 5", len(got))
			}
			for _, id := range outputIDs(l.events()) {
				if err := checkText(l.events(), id, "One sentence. And a ha"); err != nil {
					t.Error(err)
				}
			}
		}
		if n := mostInOneSecond(slow.arrivals()); n > 1 {
			t.Errorf("%d events in a second, want 1", n)
		}
		select {
		case <-st.p.Done():
		default:
			t.Error("Done is open")
		}
	})
}

// An idle subscriber is told of every session's end before the goodbye.
func TestShutdownTellsTheIdle(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T, st *stage) {
			l := st.addRecorder()
			for range 50 {
				st.startSession("Talking.")
			}
			synctest.Wait()
			if err := st.p.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown = %v", err)
			}
			if n := len(payloadsOf[*aaep.SessionCancelled](l.events())); n != 50 {
				t.Errorf("%d sessions were cancelled, want 50", n)
			}
		})
	}
}

// When the caller waits no longer, subscriptions that are slow or stuck are closed.
func TestShutdownDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		slow, stuck := st.listen(termsWith(1, aaep.BoundarySentence)), st.listen(allEvents())
		stuck.stopReading()
		emitBacklog(st, 200)
		pending := st.connect() // in the middle of the handshake
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := st.p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v", err)
		}
		if took := time.Since(began); took > 3100*time.Millisecond {
			t.Errorf("it took %v, want 3s", took)
		}
		for _, l := range []*listener{slow, stuck, pending} {
			<-l.served
		}
		if c, ok := slow.lastMessage().(*aaep.SubscriptionClose); !ok || c.ReasonCode != aaep.ProducerShutdown || !strings.Contains(c.ReasonMessage, "could not wait") {
			t.Errorf("the last message is %+v", slow.lastMessage())
		}
	})
}

// Shutdown may be called more than once, as after Ctrl-C and at the end of main: each call waits
// until all is over, and the most impatient one decides how long that is.
func TestShutdownTwice(t *testing.T) {
	for _, hurries := range []bool{false, true} {
		bubble(t, func(t *testing.T, st *stage) {
			slow := st.listen(termsWith(1, aaep.BoundarySentence))
			emitBacklog(st, 20)
			began := time.Now()
			first := callLater(func() (any, error) { return nil, st.p.Shutdown(t.Context()) })
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if hurries {
				time.AfterFunc(3*time.Second, cancel)
			}
			if err := st.p.Shutdown(ctx); !errors.Is(err, producer.ErrClosed) {
				t.Errorf("the second Shutdown = %v", err)
			}
			took := time.Since(began)
			if hurries != (took < 3100*time.Millisecond) {
				t.Errorf("hurries %v: the second took %v", hurries, took)
			}
			r := <-first
			if wanted := map[bool]error{true: context.Canceled}[hurries]; r.err != wanted || r.at.Sub(began) != took {
				t.Errorf("the first Shutdown = %v after %v, the second after %v", r.err, r.at.Sub(began), took)
			}
			<-slow.served
		})
	}
}

// INV-53: a subscriber without a stream that is owed something is waited for as long as
// Config.Grace lasts for it. One that has had everything may have lost the last of it in the cut,
// and is waited for a moment after that.
func TestShutdownWithoutAStream(t *testing.T) {
	for name, tc := range map[string]struct {
		opened, owed bool
		apart        time.Duration // before the shutdown
		back, want   time.Duration // into the shutdown; zero is never
	}{
		"not opened yet":                 {false, true, 500 * time.Millisecond, 0, 9500 * time.Millisecond},
		"not opened for long":            {false, true, 12 * time.Second, 0, 0},
		"just lost":                      {true, true, 0, 0, 10 * time.Second},
		"lost, and on its way":           {true, true, 3 * time.Second, 6 * time.Second, 6 * time.Second},
		"lost a while ago":               {true, true, 9 * time.Second, 0, time.Second},
		"not opened yet, and on its way": {false, true, time.Second, 500 * time.Millisecond, 500 * time.Millisecond},
		"just lost, and owed nothing":    {true, false, time.Second, 0, time.Second},
		"lost, and owed nothing":         {true, false, 3 * time.Second, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, open := st.listenResumable(allEvents())
				if tc.opened {
					stream := open("")
					synctest.Wait()
					stream.breakStream()
				}
				time.Sleep(tc.apart)
				if tc.owed {
					st.startSession("Talking.")
				}
				back := make(chan *eventStream, 1)
				if tc.back > 0 {
					time.AfterFunc(tc.back, func() { back <- open("") })
				}
				began := time.Now()
				if err := st.p.Shutdown(t.Context()); err != nil || time.Since(began) != tc.want {
					t.Errorf("Shutdown = %v after %v, want %v", err, time.Since(began), tc.want)
				}
				<-l.served
				if tc.back > 0 && len(payloadsOf[*aaep.SessionCancelled]((<-back).events())) != 1 {
					t.Error("who came back did not hear the end")
				}
			})
		})
	}
}

// A caller of Shutdown that waits no longer ends the wait for a subscriber that is away, too.
func TestShutdownWaitsNoLongerForWhoIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, open := st.listenResumable(allEvents())
		stream := open("")
		st.startSession("Talking.")
		synctest.Wait()
		stream.breakStream()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := st.p.Shutdown(ctx)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 1100*time.Millisecond {
			t.Errorf("Shutdown = %v after %v", err, took)
		}
		<-l.served
	})
}

// INV-53: a subscriber that is waited for may also come back with a new subscription, where that
// goes on after an event that it has had. Another one is told that it is too late.
func TestShutdownLetsWhoIsAwaitedSubscribeAnew(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		_, open := st.listenResumable(allEvents())
		stream := open("")
		st.startSession("Talking.")
		synctest.Wait()
		last := stream.events()[0].EventID
		stream.breakStream()
		began := time.Now()
		ended := callLater(func() (any, error) { return nil, st.p.Shutdown(t.Context()) })
		time.Sleep(3 * time.Second)
		for name, data := range map[string][]byte{
			"another's place": mustEncode(t, &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "other",
				Capabilities: resumeAfter(allEvents(), last)}),
			"no place": mustEncode(t, &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw",
				Capabilities: allEvents()}),
		} {
			late := st.connect()
			late.startReading()
			late.sendRaw(string(data))
			<-late.served
			no, refused := late.lastMessage().(*aaep.SubscriptionRejected)
			if !refused || no.ReasonCode != aaep.TransportUnavailable || no.RetryAfterSeconds != nil {
				t.Errorf("%s: the answer is %+v", name, late.lastMessage())
			}
		}
		anew := st.connect()
		anew.startReading()
		anew.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw",
			Capabilities: resumeAfter(allEvents(), last)})
		<-anew.served
		synctest.Wait()
		if acc, ok := anew.arrivals()[0].msg.(*aaep.SubscriptionAccepted); !ok || honoredPlace(t, acc) != last {
			t.Errorf("the answer is %+v", anew.arrivals()[0].msg)
		}
		if got := payloadsOf[*aaep.SessionCancelled](anew.events()); len(got) != 1 {
			t.Errorf("it heard %s", storyOf(anew.events()))
		}
		if bye, ok := anew.lastMessage().(*aaep.SubscriptionClose); !ok || bye.ReasonCode != aaep.ProducerShutdown {
			t.Errorf("the last message is %+v", anew.lastMessage())
		}
		if r := <-ended; r.err != nil || r.at.Sub(began) != 10*time.Second {
			t.Errorf("Shutdown = %v after %v", r.err, r.at.Sub(began))
		}
	})
}

// mustEncode returns a message encoded.
func mustEncode(t *testing.T, m aaep.Message) []byte {
	t.Helper()
	data, err := aaep.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A link whose handshake is under way does not hold a shutdown up (HS-078), whether its peer sends
// nothing or does not take the answer.
func TestShutdownInTheHandshake(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, stuck := st.connect(), make(chan struct{})
		a, b := transports.Pipe()
		defer a.Close()
		go func() { defer close(stuck); st.p.ServeConn(deaf{b}) }()
		synctest.Wait()
		go func() {
			time.Sleep(20 * time.Millisecond) // it is on its way
			a.Send(context.Background(), []byte(`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"raw","capabilities":{}}`))
		}()
		began := time.Now()
		if err := st.p.Shutdown(t.Context()); err != nil || time.Since(began) > 100*time.Millisecond {
			t.Errorf("Shutdown = %v after %v", err, time.Since(began))
		}
		<-l.served
		<-stuck
	})
}

// deaf is a link whose peer takes nothing.
type deaf struct{ transports.Conn }

// Send waits until ctx is done.
func (deaf) Send(ctx context.Context, _ []byte) error { <-ctx.Done(); return ctx.Err() }

// HS-043: a request during a shutdown is answered that it is too late, once, whether the link was
// there before or not, and however late it is. The shutdown does not wait for that.
func TestRequestDuringShutdown(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		slow, early := st.listen(termsWith(1, aaep.BoundarySentence)), []*listener{st.connect(), st.connect()}
		emitBacklog(st, 20)
		synctest.Wait()
		began, ended := time.Now(), callLater(func() (any, error) { return nil, st.p.Shutdown(t.Context()) })
		synctest.Wait()
		ask := func(l *listener) {
			t.Helper()
			l.startReading()
			wantNo(t, l.request("{}"), aaep.TransportUnavailable, "shutting down")
			<-l.served
		}
		for i, l := range early {
			time.Sleep(time.Duration(i) * 5 * time.Second)
			ask(l)
			ask(st.connect())
		}
		silent := st.connect()
		if len(ended) > 0 {
			t.Error("the shutdown has ended already")
		}
		r := <-ended
		<-slow.served
		if took := r.at.Sub(began); r.err != nil || took < 15*time.Second || took > 30*time.Second {
			t.Errorf("Shutdown = %v after %v", r.err, took)
		}
		<-silent.served
		ask(st.connect()) // after the shutdown, a request is still answered
	})
}

// HS-043: at the very moment of a shutdown a request is accepted, and the subscription closed, or
// refused.
func TestRequestRacesShutdown(t *testing.T) {
	for range 100 {
		bubble(t, func(t *testing.T, st *stage) {
			l := st.connect()
			l.startReading()
			go st.p.Shutdown(t.Context())
			l.sendRaw(`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"raw","capabilities":{}}`)
			<-l.served
			switch last := l.lastMessage().(type) {
			case *aaep.SubscriptionRejected:
				wantNo(t, l.theAnswer(), aaep.TransportUnavailable, "")
			case *aaep.SubscriptionClose:
				if _, ok := l.arrivals()[0].msg.(*aaep.SubscriptionAccepted); !ok || last.ReasonCode != aaep.ProducerShutdown {
					t.Errorf("the answers are %+v", l.arrivals())
				}
			default:
				t.Errorf("the answer is %+v", last)
			}
		})
	}
}

// The last links of a listener are answered although it has been closed (HS-043).
func TestServeDuringShutdown(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		late := lateListener(make(chan transports.Conn, 1))
		ended := callLater(func() (any, error) { return nil, st.p.Serve(t.Context(), late) })
		a, b := transports.Pipe()
		l := &listener{t: t, conn: a}
		st.all = append(st.all, l)
		l.startReading()
		late <- b
		synctest.Wait()
		go st.p.Shutdown(t.Context())
		wantNo(t, l.request("{}"), aaep.TransportUnavailable, "shutting down")
		if r := <-ended; !errors.Is(r.err, producer.ErrClosed) {
			t.Errorf("Serve = %v", r.err)
		}
	})
}

// lateListener is a listener that hands out a link only once it is too late.
type lateListener chan transports.Conn

// Close does nothing.
func (g lateListener) Close() error { return nil }

// Accept waits until ctx is done, and then returns a link that has come.
func (g lateListener) Accept(ctx context.Context) (transports.Conn, error) {
	<-ctx.Done()
	select {
	case c := <-g:
		return c, nil
	default:
		return nil, transports.ErrClosed
	}
}

// INV-03: a shutdown withdraws questions; nothing runs because of it, not even what silence would
// allow.
func TestShutdownWithdraws(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Saving."), &action{}
		saved := callTool(s, producer.Tool{Name: "save", Confirm: true, Default: aaep.Accept, Action: aaep.Say("Save."), Consequence: aaep.Say("Saved.")}, d)
		l.question()
		asked := callLater(func() (any, error) {
			return s.AskText(t.Context(), producer.Question{Text: aaep.Say("What?"), Default: "x"})
		})
		synctest.Wait()
		if err := st.p.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
		if r := <-saved; !errors.Is(r.err, producer.ErrSessionOver) || d.times != 0 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
		if r := <-asked; !errors.Is(r.err, producer.ErrSessionOver) || r.value != "" {
			t.Errorf("AskText = %v, %v", r.value, r.err)
		}
	})
}

// After Shutdown everything is refused with ErrClosed, and nothing is told any more.
func TestAfterShutdown(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		if err := st.p.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
		produced := st.p.Stats().Produced
		if err := st.p.Shutdown(t.Context()); !errors.Is(err, producer.ErrClosed) {
			t.Errorf("the second Shutdown = %v", err)
		}
		if _, err := st.p.StartSession(t.Context(), aaep.Say("Talking.")); !errors.Is(err, producer.ErrClosed) {
			t.Errorf("StartSession = %v", err)
		}
		if st.p.Stats().Produced != produced { // INV-29: no session without an end
			t.Error("an event was told after the end")
		}
		a, b := transports.Pipe()
		if err := st.p.ServeConn(b); !errors.Is(err, producer.ErrClosed) {
			t.Errorf("ServeConn = %v", err)
		}
		if _, err := a.Receive(t.Context()); err == nil {
			t.Error("the link is open")
		}
		if err := st.p.WaitSubscriber(t.Context()); !errors.Is(err, producer.ErrClosed) {
			t.Errorf("WaitSubscriber = %v", err)
		}
		<-l.served
	})
}

// INV-29: a session started while the producer shuts down is refused, or has its end.
func TestStartRacesShutdown(t *testing.T) {
	for range 100 {
		bubble(t, func(t *testing.T, st *stage) {
			l := st.addRecorder()
			started := make(chan int, 5)
			for range cap(started) {
				go func() {
					if _, err := st.p.StartSession(t.Context(), aaep.Say("Talking.")); err != nil {
						started <- 0
					} else {
						started <- 1
					}
				}()
			}
			st.p.Shutdown(t.Context())
			n := 0
			for range cap(started) {
				n += <-started
			}
			if got := strings.Count(storyOf(l.events()), "session.cancelled:system"); got != n {
				t.Errorf("%d sessions ended, %d were started", got, n)
			}
		})
	}
}

// Mistakes in Config are reported by New.
func TestNew(t *testing.T) {
	for name, cfg := range map[string]producer.Config{
		"no agent":     {},
		"bidi agent":   {Agent: aaep.Agent{AgentID: "a", AgentName: "\u202eknab"}},
		"no language":  {Agent: aaep.Agent{AgentID: "a"}, Language: "not a tag"},
		"no room":      {Agent: aaep.Agent{AgentID: "a"}, MaxSubscriptions: -1},
		"no room each": {Agent: aaep.Agent{AgentID: "a"}, MaxPerPrincipal: -1},
	} {
		if _, err := producer.New(cfg); err == nil {
			t.Errorf("%s: New = nil error", name)
		}
	}
}

// Shutdown whose caller waits no longer ends though a function of the agent's author never returns,
// and the log names which.
func TestShutdownBesideCodeThatHangs(t *testing.T) {
	odd := aaep.Vocabulary{Prefix: "odd", URI: "https://o.example/v1"}
	for name, tc := range map[string]struct {
		hangs func(cfg *producer.Config, hang func())
		named string
	}{
		"Admit": {func(cfg *producer.Config, hang func()) {
			cfg.Admit = func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
				hang()
				return producer.Rights{}, nil
			}
		}, "Config.Admit"},
		"Honor": {func(cfg *producer.Config, hang func()) {
			cfg.Extensions = []handshake.Extension{{Vocabulary: odd, Honor: func(json.RawMessage) handshake.Effect { hang(); return handshake.Effect{} }}}
		}, "Extension.Honor"},
		"Keep": {func(cfg *producer.Config, hang func()) {
			cfg.Extensions = []handshake.Extension{{Vocabulary: odd, Honor: func(json.RawMessage) handshake.Effect {
				return handshake.Effect{Keep: func(*aaep.Event, json.RawMessage) bool { hang(); return true }}
			}}}
		}, "Config.Extensions"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				hangs, goOn := false, make(chan struct{})
				cfg := producer.Config{ShortTimeouts: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
				tc.hangs(&cfg, func() { hangs = true; <-goOn })
				st := newStage(t, cfg)
				l := st.connect()
				capabilities := declare(allEvents(), odd, struct{}{})
				l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: capabilities})
				l.startReading()
				synctest.Wait()
				s := st.startSession("Working.")
				synctest.Wait()
				if !hangs {
					t.Fatal("it was not called")
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				if err := st.p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Shutdown = %v", err)
				}
				if took := time.Since(began); took > 8*time.Second {
					t.Errorf("it took %v", took)
				}
				if got := log.String(); !strings.Contains(got, tc.named) || !strings.Contains(got, "may not return") {
					t.Errorf("logged %s", got)
				}
				if err := s.Complete(aaep.Say("Late.")); err == nil {
					t.Error("the session goes on")
				}
				close(goOn)
				l.conn.Close()
				synctest.Wait()
			})
		})
	}
}
