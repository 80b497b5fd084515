package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

type dialerFunc func(context.Context) (transports.Conn, error)

func (f dialerFunc) Dial(ctx context.Context) (transports.Conn, error) { return f(ctx) }

// said is what was written, which the test may read at any time.
type said struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *said) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

// An ear is a listener in virtual time, with a person who types.
type ear struct {
	t        *testing.T
	l        *listener
	lines    chan typed
	out, err said
	screen   said // both, as they come
	ended    error
}

// listenTo follows what dial reaches while f runs. It must be called in a bubble.
func listenTo(t *testing.T, dial dialerFunc, caps aaep.Capabilities, f func(e *ear)) *ear {
	t.Helper()
	return listenToAll(t, caps, []dialerFunc{dial}, f)
}

func listenToAll(t *testing.T, caps aaep.Capabilities, dials []dialerFunc, f func(e *ear)) *ear {
	t.Helper()
	e := &ear{t: t, lines: make(chan typed)}
	e.l = &listener{announcer: announcer{out: io.MultiWriter(&e.out, &e.screen)}, status: announcer{out: io.MultiWriter(&e.err, &e.screen)}}
	var agents []*following
	for _, dial := range dials {
		f := &following{listener: e.l, wanted: caps}
		var err error
		if f.sub, err = subscriber.Dial(t.Context(), dial, f.config(false)); err != nil {
			t.Fatal(err)
		}
		defer f.sub.Close()
		agents = append(agents, f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.ended = e.l.follow(ctx, e.lines, agents...) }()
	synctest.Wait()
	e.err.Reset() // the first lines
	f(e)
	cancel()
	<-done
	return e
}

// types types a line, and returns what is said about it.
func (e *ear) types(line string) string {
	e.err.Reset()
	e.lines <- typed{text: line, at: time.Now()}
	synctest.Wait()
	return e.err.String()
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) // in a bubble, where it takes no time
	synctest.Wait()
}

// wants types a line, and checks what is said about it.
func (e *ear) wants(line string, said ...string) {
	e.t.Helper()
	want := ""
	for _, s := range said {
		want += "aaep: " + s + "\n"
	}
	if got := e.types(line); got != want {
		e.t.Errorf("%s: %q, want %q", line, got, want)
	}
}

// agentOf serves an agent in this process, and ends it with the test.
func agentOf(t *testing.T, cfg producer.Config) (*producer.Producer, dialerFunc) {
	t.Helper()
	return agentNamed(t, "asker", cfg)
}

func agentNamed(t *testing.T, name string, cfg producer.Config) (*producer.Producer, dialerFunc) {
	t.Helper()
	cfg.Agent = aaep.Producer{AgentID: name}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, pipeTo(p)
}

// pipeTo reaches an agent of this process.
func pipeTo(p *producer.Producer) dialerFunc {
	return func(context.Context) (transports.Conn, error) {
		a, b := transports.Pipe()
		go p.ServeConn(b)
		return a, nil
	}
}

// Each command changes one term, and what holds from then on is said. HS-072, HS-073, HS-075
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{MaxEventsPerSecond: 10})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			e.wants("/rate 1", "From now on: at most 1 event a second.")
			e.wants("/rate 50", "From now on: at most 10 events a second.", "At most 10 events per second are served.")
			e.wants("/verbosity terse", "From now on: in few words.")
			e.wants("/load low", "From now on: answers when they are whole and only the main steps.")
			e.wants("/load medium", "From now on: answers sentence by sentence and the usual steps.")
			e.wants("/PACE  300", "From now on: a pace of 300 words a minute.")
			e.wants("/boundary word", "From now on: answers word by word.")
			e.wants("/terms", "You get at most 10 events a second, in the language en-US, in few words, answers word by word, the usual steps, "+
				"a pace of 300 words a minute, and questions to decide.")
			if got := e.types("/help"); !strings.HasPrefix(got, "aaep: Type a line with one of these:\naaep: /rate 1: ") {
				t.Errorf("/help: %q", got)
			}
			c := p.Subscriptions()[0].Terms
			if c.MaxEventsPerSecond != 10 || c.PreferredVerbosity != aaep.VerbosityTerse || c.CognitiveLoad != aaep.LoadMedium || c.PaceWPM != 300 ||
				!slices.Equal(c.CoalesceBoundaries, []aaep.Boundary{aaep.BoundaryWord, aaep.BoundaryCompletion}) {
				t.Errorf("the agent holds %+v", c)
			}
		})
	})
}

// A wrong command says what would be right and sends nothing: the scripted producer would take it. D-54
func TestWrongCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		listenTo(t, s.dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			for line, want := range map[string]string{
				"/rate":             `/rate must be followed by a whole number from 1 to 100000.`,
				"/rate 0":           `/rate must be followed by a whole number from 1 to 100000, not by "0".`,
				"/rate 1 2":         `/rate must be followed by a whole number from 1 to 100000, not by "1 2".`,
				"/pace 1001":        `/pace must be followed by a whole number from 50 to 1000, not by "1001".`,
				"/verbosity loud":   `/verbosity must be followed by terse, normal or detailed, not by "loud".`,
				"/boundary letter":  `/boundary must be followed by none, word, sentence, paragraph or completion, not by "letter".`,
				"/language yo, ,en": `/language must be followed by language tags such as en-US, best first and joined by commas, not by "yo, ,en".`,
				"/load 3":           `/load must be followed by low, medium or high, not by "3".`,
				"/quiet please":     `/quiet must be followed by nothing or by off, not by "please".`,
				"/quiet off":        `It is not quiet.`,
				"/stop":             `There is no command /stop. Type /help for those there are.`,
				"/":                 `There is no command /. Type /help for those there are.`,
				"/\x1b[2J":          `There is no command /<U+001B>[2j. Type /help for those there are.`,
			} {
				e.wants(line, want)
			}
		})
		for m := range s.got {
			if _, ok := m.(*aaep.SubscriptionRenegotiate); ok {
				t.Errorf("a wrong command was sent: %+v", m)
			}
		}
	})
}

// An agent that has none of the languages would end the subscription, so the ones that are heard stay behind the
// new ones. D-46, D-54
func TestLanguageCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		e := listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			e.wants("/language yo, ha", "From now on: in the language en-US.", "Not granted: the language yo, the language ha.")
			e.wants("/language en", "From now on: in the language en, or else en-US.")
			e.wants("/rate 1", "From now on: at most 1 event a second.")
			if got := p.Subscriptions(); len(got) != 1 || !got[0].Connected {
				t.Errorf("subscriptions %+v", got)
			}
		})
		if e.ended != nil {
			t.Error(e.ended)
		}
	})
}

// A command is never an answer, and the question stays while the terms change; a space before the slash makes it
// one. EVT-078, HS-077
func TestCommandWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Complete(aaep.Say("Ready."))
			paid := make(chan error, 1)
			go func() {
				_, err := s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
					Action: aaep.Say("Pay $20 to Ada."), Consequence: aaep.Say("The money is gone.")},
					func(context.Context) (string, error) { return "", nil })
				paid <- err
			}()
			pass(5 * time.Second) // the question is read
			e.wants("/rate 1", "From now on: at most 1 event a second.")
			e.wants("/y", "There is no command /y. Type /help for those there are. If it is your answer, type a space before it.")
			e.wants("/terms", "You get at most 1 event a second, in the language en-US, in a normal number of words, answers sentence by sentence, the usual steps, and questions to decide.")
			e.wants("maybe", "That is no answer. "+promptDecision+offerAgain)
			select {
			case err := <-paid:
				t.Fatalf("the question was settled: %v", err)
			default:
			}
			e.wants("y", "Answer sent: accept.")
			if err := <-paid; err != nil {
				t.Error(err)
			}

			where := make(chan any, 1)
			go func() {
				answer, _ := s.Clarify(t.Context(), producer.Question{Ask: aaep.Say("Which file?"), Kinds: []aaep.ResponseKind{aaep.ResponseFreetext}})
				where <- answer
			}()
			pass(5 * time.Second)
			e.wants(" /letters/ada", "Answer sent.")
			if got := <-where; got != "/letters/ada" {
				t.Errorf("the answer is %v", got)
			}
		})
	})
}

// New terms hold in the middle of an output, and no character of it is lost or said twice. HS-076, INV-20
func TestCommandWithinOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			out := s.Output()
			write := func(text string) {
				if _, err := out.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				pass(2 * time.Second)
			}
			write("One is short. Two is ")
			e.wants("/boundary completion", "From now on: answers when they are whole.")
			write("longer. Three")
			write(" is last.")
			if !strings.HasSuffix(e.out.String(), "\nOne is short.\n") {
				t.Errorf("before the end %q", e.out.String())
			}
			out.Close()
			s.Complete(aaep.Say("Ready."))
			pass(3 * time.Second)
			if got := e.out.String(); !strings.HasSuffix(got, "\nOne is short.\nTwo is longer. Three is last.\nDone. Ready.\n") {
				t.Errorf("heard %q", got)
			}
		})
	})
}

// A scripted producer agrees to everything, extensions included, when it is let.
type scripted struct {
	got   chan aaep.Message // all that came
	let   chan struct{}     // lets one renegotiation be answered; closed, all
	short func(*aaep.Capabilities)
}

func newScripted() *scripted {
	s := &scripted{got: make(chan aaep.Message, 100), let: make(chan struct{}, 100)}
	close(s.let)
	return s
}

func (s *scripted) dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go func() {
		defer close(s.got)
		defer b.Close()
		ctx := context.Background()
		var honored aaep.Capabilities
		for {
			data, err := b.Receive(ctx)
			if err != nil {
				return
			}
			m, err := aaep.Decode(data)
			if err != nil {
				panic(err)
			}
			s.got <- m
			switch m := m.(type) {
			case *aaep.SubscriptionRequest:
				honored = m.Capabilities
			case *aaep.SubscriptionRenegotiate:
				<-s.let
				honored = honored.With(m.Capabilities)
			default:
				return
			}
			if s.short != nil {
				s.short(&honored)
			}
			msg, err := aaep.Encode(&aaep.SubscriptionAccepted{SubscriptionID: "sub_1", AAEPVersion: aaep.Version,
				Producer: aaep.Producer{AgentID: "scripted"}, HonoredCapabilities: honored})
			if err != nil {
				panic(err)
			}
			if b.Send(ctx, msg) != nil {
				return
			}
		}
	}()
	return a, nil
}

// changes are the renegotiations that were asked for.
func (s *scripted) changes() (list []aaep.Capabilities) {
	for m := range s.got {
		if r, ok := m.(*aaep.SubscriptionRenegotiate); ok {
			list = append(list, r.Capabilities)
		}
	}
	return list
}

// Somebody who types is left alone, but for at most five minutes; the other extensions stay as they were.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		caps := subscriber.Braille(40, "en")
		caps.Extensions["delivery"] = json.RawMessage(`{"min_relevance":0.3}`)
		listenTo(t, s.dial, caps, func(e *ear) {
			e.wants("/quiet", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			e.wants("/quiet off", "No longer quiet. What was held back follows.")
			e.wants("/quiet on", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			e.wants("/rate 1", "From now on: at most 1 event a second.")
			pass(quietTime)
			if got := e.err.String(); !strings.HasSuffix(got, "aaep: No longer quiet. What was held back follows.\n") {
				t.Errorf("after five minutes %q", got)
			}
			e.wants("/quiet off", "It is not quiet.")
		})
		var got []string
		for _, c := range s.changes() {
			if c.MaxEventsPerSecond != 0 {
				continue
			}
			if len(c.SupportedExtensions) != 3 {
				t.Errorf("extensions %q, want the display's and this one", c.SupportedExtensions)
			}
			got = append(got, string(c.Extensions["delivery"]))
		}
		typing, not := `{"min_relevance":0.3,"presence":"user_typing","presence_expires_in":300}`, `{"min_relevance":0.3,"presence":"active"}`
		if want := []string{typing, not, typing, not}; !slices.Equal(got, want) {
			t.Errorf("asked for %q, want %q", got, want)
		}
	})
}

// While somebody types, the agent holds back what can wait, and a question still comes. What was held follows.
func TestQuietAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			e.wants("/quiet", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			pass(time.Minute)
			if got := e.out.String(); got != "" {
				t.Errorf("while somebody types: %q", got)
			}
			answered := make(chan any, 1)
			go func() {
				answer, _ := s.Clarify(t.Context(), producer.Question{Ask: aaep.Say("Which file?"), Kinds: []aaep.ResponseKind{aaep.ResponseFreetext}})
				answered <- answer
			}()
			pass(5 * time.Second)
			if got := e.out.String(); !strings.HasPrefix(got, "Question: Which file?\n") {
				t.Errorf("the question did not come first: %q", got)
			}
			e.wants("mine", "Answer sent.")
			<-answered
			e.wants("/quiet off", "No longer quiet. What was held back follows.")
			pass(5 * time.Second)
			if got := e.out.String(); !strings.Contains(got, "\nWorking.\n") {
				t.Errorf("what was held back did not follow: %q", got)
			}
		})
	})
}

// An agent that does not serve the extension goes on talking, and is not asked for it again.
func TestQuietNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{Extensions: []handshake.Extension{}})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.Braille(40, "en-US"), func(e *ear) {
			e.wants("/quiet", "This agent cannot be quiet. It goes on as before.")
			e.wants("/quiet off", "It is not quiet.")
			if isQuiet(e.l.agents[0].wanted) {
				t.Errorf("a new link would ask for %+v", e.l.agents[0].wanted)
			}
		})
	})
}

// While an answer is waited for, lines are taken, and what they ask for is asked for together. The agent's
// silence changes nothing and ends nothing. HS-072, TERM-008
func TestCommandsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		s.let = make(chan struct{}, 100)
		listenTo(t, s.dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			e.wants("/rate 1")
			e.wants("/rate 5")
			e.wants("/verbosity terse")
			e.wants("/terms", "You get at most 2 events a second, in the language en-US, in a normal number of words, answers sentence by sentence, the usual steps, and questions to decide.")
			e.wants("y", "Nothing is being asked.")
			e.err.Reset()
			s.let <- struct{}{}
			s.let <- struct{}{}
			synctest.Wait()
			if got, want := e.err.String(), "aaep: From now on: at most 1 event a second.\naaep: From now on: at most 5 events a second and in few words.\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			e.wants("/pace 200")
			pass(time.Minute)
			if got, want := e.err.String(), "aaep: Asked for: a pace of 200 words a minute. Not changed so far: the producer did not answer the renegotiation in time.\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			close(s.let)
		})
		if got := s.changes(); len(got) != 3 || got[1].MaxEventsPerSecond != 5 || got[1].PreferredVerbosity != aaep.VerbosityTerse {
			t.Errorf("asked for %+v", got)
		}
	})
}

// An answer that grants more than was asked for ends the subscription, and that is said. D-45
func TestCommandRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		s.short = func(c *aaep.Capabilities) {
			if c.MaxEventsPerSecond == 1 {
				c.MaxEventsPerSecond = 4
			}
		}
		e := listenTo(t, s.dial, subscriber.ScreenReader("en-US"), func(e *ear) { e.types("/rate 1") })
		var exit *exitError
		if !errors.As(e.ended, &exit) || exit.code != exitFailed || !strings.Contains(exit.Error(), "honors 4 events per second; 1 were asked for") {
			t.Errorf("ended with %v", e.ended)
		}
	})
}

// On the screen too, a state is told when it lasts, and a call that is over at once in one line. EVT-032, LVL-014
func TestStatesThatLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			call := func(took time.Duration) {
				s.Tool(t.Context(), producer.Tool{Name: "balance"}, func(context.Context) (string, error) {
					time.Sleep(took)
					return "", nil
				})
			}
			call(20 * time.Millisecond)
			pass(10 * time.Second)
			call(4 * time.Second)
			s.Complete(aaep.Say("Ready."))
			pass(10 * time.Second)
			if got, want := e.out.String(), "Working.\nUsing the tool balance.\nThinking.\nUsing the tool balance.\nBalance finished.\nDone. Ready.\n"; got != want {
				t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
			}
		})
	})
}
