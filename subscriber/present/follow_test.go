package present_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

// agentOf is an agent of this process, with the way to it.
type agentOf struct {
	*producer.Producer
	t     *testing.T
	dead  atomic.Bool // nothing reaches it
	stuck atomic.Bool // what is sent to it waits
	delay time.Duration
	mu    sync.Mutex
	links []transports.Conn
}

func newAgent(t *testing.T, name string) *agentOf {
	t.Helper()
	a := &agentOf{t: t}
	a.start(name)
	return a
}

func (a *agentOf) start(name string) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: strings.ToLower(name), AgentName: name}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.Producer = p
}

func (a *agentOf) countLinks() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.links)
}

func (a *agentOf) Dial(context.Context) (transports.Conn, error) {
	if a.dead.Load() {
		return nil, errors.New("connection refused")
	}
	c, s := transports.Pipe()
	go a.ServeConn(s)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.links = append(a.links, s)
	return &lateLink{c, a}, nil
}

// lateLink reports that a message was sent later than the agent had it, as one does that waits for
// a status.
type lateLink struct {
	transports.Conn
	a *agentOf
}

func (l *lateLink) Send(ctx context.Context, msg []byte) error {
	if l.a.stuck.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if l.a.dead.Load() {
		return io.ErrClosedPipe
	}
	err := l.Conn.Send(ctx, msg)
	time.Sleep(l.a.delay)
	return err
}

// cut breaks all links.
func (a *agentOf) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.links {
		c.Close()
	}
}

// asks has the agent ask whether to do something, and returns what came of it.
func (a *agentOf) asks(what string) <-chan bool {
	did := make(chan bool, 1)
	s, err := a.StartSession(a.t.Context(), aaep.Say("Working."))
	if err != nil {
		a.t.Fatal(err)
	}
	go func() {
		_, err := s.Tool(a.t.Context(), producer.Tool{Name: "pay", Confirm: true, Risk: aaep.RiskMedium,
			Timeout: time.Hour, Action: aaep.Say(what), Consequence: aaep.Say("It is done at once.")}, func(context.Context) (string, error) { return "", nil })
		did <- err == nil
		s.Complete(aaep.Say("Ready."))
	}()
	return did
}

// listener is a person who follows agents by ear.
type listener struct {
	*present.Presenter
	*voice
	t       *testing.T
	ctx     context.Context
	stop    func()
	running chan error
	ended   map[string]chan error
}

func config(once bool) subscriber.Config {
	return subscriber.Config{ID: "ear", NoReconnect: once, Capabilities: subscriber.ScreenReader("en-US")}
}

// listen follows agents; each of them once, where that is all.
func listen(t *testing.T, once bool, agents map[string]*agentOf) *listener {
	t.Helper()
	l := &listener{Presenter: present.New(announce.Preferences{}), voice: &voice{breaks: make(chan struct{})}, t: t,
		running: make(chan error, 1), ended: map[string]chan error{}}
	l.ctx, l.stop = context.WithCancel(t.Context())
	go func() { l.running <- l.Run(l.ctx, l.voice) }()
	for name, a := range agents {
		sub, err := subscriber.Dial(t.Context(), a, config(once))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sub.Close() })
		ended := make(chan error, 1)
		l.ended[name] = ended
		go func() { ended <- present.Follow(l.ctx, sub, name, l.Presenter) }()
	}
	synctest.Wait()
	return l
}

// end ends it all; nothing may be left running.
func (l *listener) end(agents map[string]*agentOf) {
	l.stop()
	<-l.running
	for name, ended := range l.ended {
		if err := <-ended; err != nil && agents[name] != nil {
			l.t.Errorf("Follow = %v where the program ended it", err)
		}
	}
	for _, a := range agents {
		a.Shutdown(context.Background())
	}
}

// asked waits until there is a question that could be accepted, and returns whose it is.
func (l *listener) asked() (source string, question *aaep.Event) {
	for range 600 {
		l.Plan(func(a *announce.Announcer, now time.Time) { source, question = a.Question(now, aaep.Accept) })
		if question != nil {
			return source, question
		}
		time.Sleep(time.Second)
	}
	l.t.Fatalf("nothing is asked; heard %q", l.lines())
	return "", nil
}

func (l *listener) heard(text string) (n int) {
	for _, line := range l.lines() {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Of two agents that ask at once, what came of each answer is heard in the name of the one that
// asked, though the agent is faster than the link says that it has the answer; each answer goes to
// the agent that asked, and none blocks the next question.
func TestWhoseAnswer(t *testing.T) {
	for _, ms := range []time.Duration{0, 1, 240, 400, 3000} {
		delay := ms * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			agents := map[string]*agentOf{"Bank": newAgent(t, "Bank"), "Shop": newAgent(t, "Shop")}
			for _, a := range agents {
				a.delay = delay
			}
			l := listen(t, false, agents)
			defer l.end(agents)
			var want, outcomes []string
			for i := range 20 {
				did := map[string]<-chan bool{}
				for name, a := range agents {
					did[name] = a.asks(fmt.Sprintf("%s pays %d.", name, i))
				}
				for n := range 2 {
					source, question := l.asked()
					want = append(want, source+": Answer sent: "+[]string{"accept.", "reject."}[n])
					p := question.Payload.(*aaep.AwaitingConfirmation)
					if !strings.HasPrefix(p.Action, source) {
						t.Fatalf("%q is said to be asked by %s", p.Action, source)
					}
					outcomes = append(outcomes, []string{"Accepted, and being done: ", "Rejected, and not done: "}[n]+p.Action)
					for counts := false; !counts; {
						answered := present.Answer(time.Time{}, []string{"y", "n"}[n], l.Presenter)
						l.Answer("y")                                            // a key pressed twice
						if counts = <-answered != present.ErrNotTaken; !counts { // another agent was heard just then
							time.Sleep(time.Second)
							if again, _ := l.asked(); again != source {
								t.Fatalf("%s asks, and then %s", source, again)
							}
						}
					}
					if got := <-did[source]; got != (n == 0) {
						t.Fatalf("%s does it: %v", source, got)
					}
				}
			}
			time.Sleep(time.Minute)
			var got []string
			for _, line := range l.lines() {
				if strings.Contains(line, "Answer sent") {
					got = append(got, line)
				}
			}
			if delay > time.Second { // the outcome was told first, and says as much
				got, want = nil, nil
			}
			for _, outcome := range outcomes {
				if l.heard(outcome) == 0 { // one that was cut is heard again
					t.Errorf("with %v: %q is not heard", delay, outcome)
				}
			}
			if !slices.Equal(got, want) || l.heard("Nothing shows") > 0 {
				t.Errorf("with %v: heard %q, want %q", delay, got, want)
			}
		})
	}
}

// A yes given while the agent is dead did not leave, and the person hears so; of one that was on
// its way as the agent died, that it may not have been sent. Whether the question is open is known
// of neither. After the agent was started again without the question, the person hears that it is
// gone, and of the second that it is not known whether it counted. A question that is asked again
// can be answered.
func TestAnswerToADeadAgent(t *testing.T) {
	for _, onItsWay := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bank := newAgent(t, "Bank")
			agents := map[string]*agentOf{"Bank": bank}
			l := listen(t, false, agents)
			defer l.end(agents)
			bank.asks("Pay five dollars.")
			l.asked()
			says, then := "Your answer was not sent.", "If it still matters, the agent asks again."
			if onItsWay {
				says, then = "Your answer may not have been sent.", "Your answer may have arrived."
				bank.stuck.Store(true)
				l.Answer("y")
				synctest.Wait()
			}
			bank.dead.Store(true)
			bank.cut()
			synctest.Wait()
			l.Answer("y")
			time.Sleep(30 * time.Second)
			bank.stuck.Store(false)
			for _, want := range []string{says, "It is not known whether the question is still open.",
				"The connection to the agent is interrupted."} {
				if l.heard(want) != 1 {
					t.Fatalf("%v: while it is dead: %q", onItsWay, l.lines())
				}
			}
			old := bank.Producer
			bank.start("Bank")
			bank.dead.Store(false)
			time.Sleep(2 * time.Minute)
			if l.heard("The question is no longer open.") != 1 || l.heard(then) != 1 {
				t.Fatalf("%v: after the restart: %q", onItsWay, l.lines())
			}
			did := bank.asks("Pay five dollars.")
			l.asked()
			l.Answer("y")
			if !<-did {
				t.Error("the answer to the question that was asked again did not count")
			}
			old.Shutdown(context.Background())
		})
	}
}

// A person with two outputs answers through one of them, and the other puts the next question too.
func TestTwoOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bank := newAgent(t, "Bank")
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, false, nil)
		defer l.end(agents)
		felt, other := present.New(announce.Preferences{}), &voice{}
		over := make(chan error, 1)
		go func() { over <- felt.Run(l.ctx, other) }()
		defer func() { <-over }()
		sub, err := subscriber.Dial(t.Context(), bank, config(false))
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		ended := make(chan error, 1)
		l.ended["Bank"] = ended
		go func() { ended <- present.Follow(l.ctx, sub, "Bank", l.Presenter, felt) }()
		defer l.stop()
		for _, what := range []string{"Pay five dollars.", "Pay ten dollars."} {
			did := bank.asks(what)
			l.asked()
			l.Answer("yes")
			if !<-did {
				t.Errorf("%s was not done", what)
			}
		}
		time.Sleep(time.Minute)
		if n := strings.Count(strings.Join(other.lines(), "|"), "Decide: "); n != 2 {
			t.Errorf("the other output: %q", other.lines())
		}
	})
}

// What cannot be followed is an error at once, that says what would be right. The end of a
// subscription is told, and returned; that the program itself ended it is neither.
func TestFollowErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bank := newAgent(t, "Bank")
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, true, agents)
		sub, err := subscriber.Dial(t.Context(), bank, config(false))
		if err != nil {
			t.Fatal(err)
		}
		for want, f := range map[string]func() error{
			"no Subscription": func() error { return present.Follow(l.ctx, nil, "Bank", l.Presenter) },
			"needs a name":    func() error { return present.Follow(l.ctx, sub, "", l.Presenter) },
			"no Presenter":    func() error { return present.Follow(l.ctx, sub, "Bank") },
			"a name of its own": func() error {
				return present.Follow(l.ctx, sub, "Bank", present.New(announce.Preferences{}), l.Presenter)
			},
			"Presenter that is nil": func() error { return present.Follow(l.ctx, sub, "Bank", l.Presenter, nil) },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want one that says %q", err, want)
			}
		}
		over := make(chan error, 1)
		go func() { over <- present.Follow(l.ctx, sub, "Shop", l.Presenter) }()
		synctest.Wait()
		for want, f := range map[string]func() error{
			`followed already, as "Shop"`: func() error {
				return present.Follow(l.ctx, sub, "Store", present.New(announce.Preferences{}))
			},
			"an Output already": func() error { return l.Run(l.ctx, &voice{}) },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want one that says %q", err, want)
			}
		}
		sub.Close()
		if err := <-over; err != nil {
			t.Errorf("after Close: %v", err)
		}
		bank.asks("Pay five dollars.")
		l.asked()
		time.Sleep(time.Minute)
		bank.cut()
		if err := <-l.ended["Bank"]; !errors.Is(err, subscriber.ErrEnded) {
			t.Errorf("Follow = %v", err)
		}
		time.Sleep(10 * time.Second)
		if l.heard("Bank: The agent is not followed any more.") != 1 || l.heard("Shop: ") != 0 {
			t.Errorf("heard %q", l.lines())
		}
		l.Answer("y")
		time.Sleep(10 * time.Second)
		if l.heard("No question is open.") != 1 {
			t.Errorf("heard %q", l.lines())
		}
		delete(l.ended, "Bank")
		l.end(agents)
	})
}

// A person with a voice and lines to read has all of it on both: an answer counts once they heard
// the question, and what came of it, and of more time, is told over both. While the two put
// different questions no answer is sent, for the person may mean either.
func TestAnswerOverSeveralOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := newAgent(t, "Shop")
		agents := map[string]*agentOf{"Shop": agent}
		sub, err := subscriber.Dial(t.Context(), agent, config(false))
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		ctx, stop := context.WithCancel(t.Context())
		speech := &listener{Presenter: present.New(announce.Preferences{}), voice: &voice{}, t: t}
		lines := &listener{Presenter: present.New(announce.Preferences{Reads: true}), voice: &voice{}, t: t}
		var running sync.WaitGroup
		for _, l := range []*listener{speech, lines} {
			running.Go(func() { l.Run(ctx, l.voice) })
		}
		running.Go(func() { present.Follow(ctx, sub, "Shop", lines.Presenter, speech.Presenter) })
		defer func() { stop(); running.Wait(); agents["Shop"].Shutdown(context.Background()) }()
		synctest.Wait()
		did := agent.asks("Send the parcel.")
		other := agent.asks("Pay for it.")
		speech.asked()
		lines.NextQuestion()
		present.Answer(time.Time{}, "y", lines.Presenter, speech.Presenter)
		time.Sleep(time.Minute)
		if n := lines.heard("Answer sent") + speech.heard("Answer sent"); n != 0 {
			t.Fatalf("a yes was sent while the outputs put different questions: %q, %q", lines.lines(), speech.lines())
		}
		lines.NextQuestion()
		_, question := speech.asked()
		present.MoreTime(lines.Presenter, speech.Presenter)
		time.Sleep(time.Minute)
		for name, l := range map[string]*listener{"lines": lines, "ear": speech} {
			if n := l.heard("There is more time"); n != 1 {
				t.Errorf("%s: told of more time %d times: %q", name, n, l.lines())
			}
		}
		present.Answer(time.Time{}, "y", lines.Presenter, speech.Presenter)
		time.Sleep(time.Minute)
		for name, l := range map[string]*listener{"lines": lines, "ear": speech} {
			if n := l.heard("Answer sent: accept."); n != 1 {
				t.Errorf("%s: told of the answer %d times: %q", name, n, l.lines())
			}
		}
		if strings.HasPrefix(question.Payload.(*aaep.AwaitingConfirmation).Action, "Send") {
			did, other = other, did
		}
		if done := <-other; !done {
			t.Error("what was accepted was not done")
		}
		present.Answer(time.Time{}, "n", lines.Presenter, speech.Presenter)
		if done := <-did; done {
			t.Error("what was rejected was done")
		}
	})
}

// What was named last over any of the outputs of a person is what their answer is for, also where
// another has had the question and names nothing since.
func TestAnotherNamedOverOneOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		defer running.Wait()
		begin := func() (*listener, func()) {
			l := &listener{Presenter: present.New(announce.Preferences{}), voice: &voice{}, t: t}
			ctx, stop := context.WithCancel(t.Context())
			running.Go(func() { l.Run(ctx, l.voice) })
			return l, stop
		}
		speech, stop := begin()
		defer stop()
		display, off := begin()
		for i, seconds := range []int64{3600, 70} {
			ev := event(&aaep.AwaitingConfirmation{Action: []string{"Send the parcel.", "Pay for it."}[i], TimeoutSeconds: seconds}, "")
			ev.SessionID = fmt.Sprint("sess_", i)
			speech.Add("Shop", ev)
			display.Add("Shop", ev)
		}
		speech.asked()
		display.asked()
		off()
		for tenths := 0; speech.heard("Pay for it.") == 0; tenths++ {
			if time.Sleep(100 * time.Millisecond); tenths > 600 {
				t.Fatalf("heard %q", speech.lines())
			}
		}
		present.Answer(time.Time{}, "y", display.Presenter, speech.Presenter)
		time.Sleep(20 * time.Second)
		const taken = "The question is no longer open." // as nothing follows the agent here
		if speech.heard("Something else was said since the question, so that may not be for it.") != 1 || speech.heard("Send the parcel.") != 2 {
			t.Errorf("heard %q", speech.lines())
		}
		var first string
		display.Plan(func(a *announce.Announcer, now time.Time) {
			if _, put, _ := a.OpenQuestion(now); put != nil {
				first = put.Payload.(*aaep.AwaitingConfirmation).Action
			}
		})
		if first != "Send the parcel." || speech.heard(taken) != 0 {
			t.Fatalf("an answer to another was taken; heard %q", speech.lines())
		}
		present.Answer(time.Time{}, "y", display.Presenter, speech.Presenter)
		display.Plan(func(a *announce.Announcer, now time.Time) {
			if _, put, _ := a.OpenQuestion(now); put != nil {
				first = put.Payload.(*aaep.AwaitingConfirmation).Action
			}
		})
		if first == "Send the parcel." {
			t.Errorf("an answer to what was named last was not taken; heard %q", speech.lines())
		}
	})
}

// The last words of an agent are told before Follow returns, though they take long, and whatever
// another agent goes on saying: a program may end then. Not where ctx is done, the output is gone,
// or none ever ran.
func TestLastWords(t *testing.T) {
	for name, tt := range map[string]struct {
		run  func(ctx context.Context, l *listener) // what happens to the output after the end
		told bool
	}{
		"told":        {func(context.Context, *listener) {}, true},
		"ctx is done": {func(_ context.Context, l *listener) { l.stop() }, false},
		"output gone": {func(_ context.Context, l *listener) { l.breaks <- struct{}{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bank, news := newAgent(t, "Bank"), newAgent(t, "News")
				agents := map[string]*agentOf{"Bank": bank, "News": news}
				l := listen(t, true, agents)
				babble, err := news.StartSession(t.Context(), aaep.Say("Reading the news."))
				if err != nil {
					t.Fatal(err)
				}
				babbling, quit := context.WithCancel(t.Context())
				var talking sync.WaitGroup
				talking.Go(func() {
					for out := babble.Output(); babbling.Err() == nil; time.Sleep(time.Second) {
						fmt.Fprint(out, "This is one more piece of the news. ")
					}
				})
				s, err := bank.StartSession(t.Context(), aaep.Say("Working."))
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(s.Output(), strings.Repeat("This takes some time to be said. ", 20)+"And these are the last words. ")
				time.Sleep(3 * time.Second)
				began := time.Now()
				bank.cut()
				synctest.Wait()
				if tt.run(l.ctx, l); tt.told {
					if err := <-l.ended["Bank"]; !errors.Is(err, subscriber.ErrEnded) {
						t.Errorf("Follow = %v", err)
					}
					time.Sleep(time.Nanosecond)
					if l.heard("And these are the last words") != 1 || l.heard("not followed any more") != 1 || time.Since(began) < time.Minute {
						t.Errorf("after %v it returned, and what was heard was %q", time.Since(began), l.lines())
					}
				} else if <-l.ended["Bank"]; time.Since(began) > 5*time.Second {
					t.Errorf("it returned after %v", time.Since(began))
				}
				delete(l.ended, "Bank")
				quit()
				talking.Wait()
				l.end(agents)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		bank := newAgent(t, "Bank")
		sub, err := subscriber.Dial(t.Context(), bank, config(true))
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() {
			over <- present.Follow(t.Context(), sub, "Bank", present.New(announce.Preferences{}))
		}()
		s, err := bank.StartSession(t.Context(), aaep.Say("Working."))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		bank.cut()
		if err := <-over; !errors.Is(err, subscriber.ErrEnded) {
			t.Errorf("without an output Follow = %v", err)
		}
		s.Close()
		bank.Shutdown(context.Background())
	})
}

// Put gives the question that is put, and its channel is closed when another is, when none is any
// more, and when there is more time for it; not when other news comes.
func TestPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := present.New(announce.Preferences{})
		isClosed := func(c <-chan struct{}) bool {
			select {
			case <-c:
				return true
			default:
				return false
			}
		}
		ask := func(session string) *aaep.Event {
			ev := event(&aaep.AwaitingConfirmation{Action: "Pay", ReplyToken: aaep.ReplyToken("rpl_" + session), TimeoutSeconds: 60}, "Pay?")
			ev.EventID, ev.SessionID = "evt_"+session, session
			return ev
		}
		_, none, _, changed := p.OpenQuestion()
		p.Add("Bank", answer("Some news. "))
		if none != nil || isClosed(changed) {
			t.Errorf("%v is put, and changed is %v", none, isClosed(changed))
		}
		first, second := ask("sess_1"), ask("sess_2")
		p.Add("Bank", first)
		if !isClosed(changed) {
			t.Error("that a question is put is not told")
		}
		source, question, until, changed := p.OpenQuestion()
		if source != "Bank" || question != first || !until.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("put is %s, %v until %v", source, question, until)
		}
		p.Add("Shop", second)
		time.Sleep(10 * time.Second)
		p.WhatWaits()
		if isClosed(changed) {
			t.Error("another that waits changes what is put")
		}
		p.Plan(func(a *announce.Announcer, now time.Time) { a.Settle(now, first) })
		if source, question, _, again := p.OpenQuestion(); source != "Shop" || question != second || !isClosed(changed) || isClosed(again) {
			t.Errorf("put is %s, %v after the first was settled, and changed is %v", source, question, isClosed(changed))
		}
	})
}
