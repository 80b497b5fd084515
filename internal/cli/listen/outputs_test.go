package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// dying is a voice that dies in the middle of the next thing it says.
type dying struct{ pacedVoice }

func (d *dying) Present(ctx context.Context, u announce.Utterance) error {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	d.pacedVoice.Present(ctx, u)
	return errors.New("the speech server died")
}

// An output that dies in the middle of a question, again and again, is opened anew. The person is
// told, the terminal tells what there is meanwhile, the question stays open, and is accepted at
// once only by a person who had all of it.
func TestOutputDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, dial := clitest.AgentOf(t, producer.Config{})
		defer agent.Shutdown(t.Context())
		var opened atomic.Int32
		voice := &pacedVoice{}
		again := func(context.Context) (present.Output, error) {
			switch opened.Add(1) {
			case 1:
				return nil, errors.New("it is not there yet")
			case 2:
				return &dying{}, nil
			}
			return voice, nil
		}
		e, ctx := newTestListener(t, subscriber.ScreenReader("en-US")), t.Context()
		prepare := func(ctx context.Context, e *testListener) {
			told := &personOutput{outputKind: outputKind{name: "test", words: true}, p: present.New(e.l.preferences(false))}
			e.l.out = &outputs{tellings: []*personOutput{told}, changed: make(chan struct{}, 1)}
			e.l.printing.Go(func() {
				told.p.RunAgain(ctx, &dying{}, again, func(gone error) { e.l.out.tellGone(told.name, gone, e.l.informOfOutput) })
			})
		}
		e.listen(ctx, prepare, []clitest.DialerFunc{dial}, func() {
			paid := e.asksToPay(agent)
			clitest.PassTime(700 * time.Millisecond)
			other, err := agent.StartSession(t.Context(), aaep.Say("Other."))
			if err != nil {
				t.Fatal(err)
			}
			other.Fail(errors.New("it broke"), aaep.Say("It broke."))
			clitest.PassTime(300 * time.Millisecond)
			if got := e.out.String(); !strings.Contains(got, "It broke.") {
				t.Errorf("while no output is left, the terminal says %q", got)
			}
			clitest.PassTime(6 * time.Second)
			e.typeLine("y")
			clitest.PassTime(time.Second)
			if len(paid) > 0 {
				t.Fatal("a yes counts to a question that was not heard")
			}
			clitest.PassTime(time.Minute)
			if got := voice.String(); !strings.Contains(got, "Decide: Pay $20 to Ada.\n") || !strings.Contains(got, "High risk.\n") {
				t.Errorf("heard in the end: %q", got)
			}
			e.typeLine("y")
			clitest.PassTime(time.Second)
			if len(paid) == 0 {
				t.Error("the question does not count as heard")
			}
			if got := e.err.String() + e.screen.String(); strings.Count(got,
				"The output is gone: test: the speech server died. Trying again.") != 2 ||
				strings.Count(got, "The output test is there again.") != 2 {
				t.Errorf("the person is told %q", got)
			}
		})
	})
}

// hanging is a voice that says nothing, and neither ends nor closes until it is let go.
type hanging struct {
	pacedVoice
	let chan struct{}
}

func (h *hanging) Present(context.Context, announce.Utterance) error { <-h.let; return nil }
func (h *hanging) Close() error                                      { <-h.let; return nil }

// A voice that hangs, whatever it is told, is given up when a question has to be put: the terminal
// puts it, after what the voice had not said, a yes counts there, and the listener ends though the
// voice does not. A band that is felt besides takes no voice's place.
func TestOutputHangs(t *testing.T) {
	for _, hasBand := range []bool{false, true} {
		t.Run(fmt.Sprint("with a band: ", hasBand), func(t *testing.T) { testOutputHangs(t, hasBand) })
	}
}

func testOutputHangs(t *testing.T, hasBand bool) {
	synctest.Test(t, func(t *testing.T) {
		agent, dial := clitest.AgentOf(t, producer.Config{})
		defer agent.Shutdown(t.Context())
		voice := &hanging{let: make(chan struct{})}
		defer close(voice.let)
		e := newTestListener(t, subscriber.ScreenReader("en-US"))
		prepare := func(ctx context.Context, e *testListener) {
			told := &personOutput{outputKind: outputKind{name: "test", words: true}, p: present.New(e.l.preferences(false))}
			e.l.out = &outputs{tellings: []*personOutput{told}, changed: make(chan struct{}, 1)}
			if hasBand {
				band := &personOutput{outputKind: outputKind{name: "touch"}, p: present.New(e.l.preferences(false))}
				e.l.out.tellings = append(e.l.out.tellings, band)
				e.l.printing.Go(func() { band.p.Run(ctx, &pacedVoice{}) })
			}
			never := func(context.Context) (present.Output, error) { return nil, errors.New("it is not there") }
			e.l.printing.Go(func() {
				told.p.RunAgain(ctx, voice, never, func(gone error) { e.l.out.tellGone(told.name, gone, e.l.informOfOutput) })
			})
		}
		var ending time.Time
		e.listen(t.Context(), prepare, []clitest.DialerFunc{dial}, func() {
			if _, err := agent.StartSession(t.Context(), aaep.Say("It goes on.")); err != nil {
				t.Fatal(err)
			}
			clitest.PassTime(time.Minute)
			paid := e.asksToPay(agent)
			clitest.PassTime(time.Minute)
			got := e.screen.String()
			for _, want := range []string{"The output is gone: test: ", "\nIt goes on.\n", "Decide: Pay $20 to Ada."} {
				if strings.Count(got, want) != 1 {
					t.Errorf("the terminal says %q", got)
				}
			}
			e.typeLine("accept")
			clitest.PassTime(time.Second)
			e.typeLine("y")
			clitest.PassTime(time.Second)
			if len(paid) == 0 {
				t.Errorf("a yes to what stands on the terminal does not count: %q", e.screen.String())
			}
			ending = time.Now()
		})
		if took := time.Since(ending); took > 20*time.Second {
			t.Errorf("the listener ended after %v", took)
		}
	})
}

// mute is a voice for everything but Yoruba.
type mute struct{ pacedVoice }

func (m *mute) Present(ctx context.Context, u announce.Utterance) error {
	if !m.Speaks(u.Language) {
		return announce.ErrLanguage
	}
	return m.pacedVoice.Present(ctx, u)
}

func (m *mute) Speaks(language string) bool { return language != "yo" }

// A question that could not be spoken is never accepted unheard, however often the person says yes;
// they are told so, and how else they can have it, in a language that is spoken. It is heard once
// it was spelled.
func TestNeverAcceptedUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, dial := clitest.AgentOf(t, producer.Config{Language: "yo"})
		defer agent.Shutdown(t.Context())
		e, voice := newTestListener(t, subscriber.ScreenReader("yo", "en")), &mute{}
		e.listen(t.Context(), func(ctx context.Context, e *testListener) { e.hearOver(ctx, voice) }, []clitest.DialerFunc{dial}, func() {
			if got := e.l.out.spokenFirst([]string{"yo", "es", "yo", "en"}); !slices.Equal(got,
				[]string{"es", "en", "yo", "yo"}) {
				t.Errorf("asked for %q", got)
			}
			paid := e.asksToPay(agent)
			for range 3 {
				clitest.PassTime(time.Minute)
				e.typeLine("y")
			}
			clitest.PassTime(10 * time.Second)
			heard := voice.String()
			if len(paid) > 0 || strings.Count(heard, "You may not have heard all of it.") != 3 {
				t.Errorf("it was accepted: %v; heard\n%s", len(paid) > 0, heard)
			}
			for _, want := range []string{"There is no voice for the language Yoruba.", "Type /spell to have it spelled",
				"High risk.", "Type y to accept or n to reject, then Enter."} {
				if !strings.Contains(heard, want) {
					t.Errorf("%q is not heard in\n%s", want, heard)
				}
			}
			e.typeLine("/spell")
			clitest.PassTime(3 * time.Minute)
			e.typeLine("y")
			clitest.PassTime(time.Second)
			if len(paid) == 0 {
				t.Errorf("once spelled it does not count as heard:\n%s", voice.String())
			}
		})
	})
}

// How to have more time is heard with the first questions, and then only read.
func TestHintOfMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, dial := clitest.AgentOf(t, producer.Config{})
		defer agent.Shutdown(t.Context())
		e, voice := newTestListener(t, subscriber.ScreenReader("en-US")), &pacedVoice{}
		prepare := func(ctx context.Context, e *testListener) { e.hearOver(ctx, voice).plain(e) }
		e.listen(t.Context(), prepare, []clitest.DialerFunc{dial}, func() {
			for range hinted + 2 {
				e.asksToPay(agent)
				clitest.PassTime(time.Minute)
				e.typeLine("n")
				clitest.PassTime(30 * time.Second)
			}
			const hint = "/more asks for more time."
			if heard, read := strings.Count(voice.String(), hint), strings.Count(e.out.String(), hint); heard != hinted ||
				read != hinted+2 {
				t.Errorf("heard %d times and read %d times:\n%s", heard, read, voice.String())
			}
		})
	})
}

// plain has the terminal print everything too.
func (told *personOutput) plain(e *testListener) { e.l.out.plain = true }

// asksToPay has an agent ask whether to pay, and returns where what it was told comes.
func (e *testListener) asksToPay(agent *producer.Producer) <-chan error {
	e.t.Helper()
	s, err := agent.StartSession(e.t.Context(), aaep.Say("Working."))
	if err != nil {
		e.t.Fatal(err)
	}
	paid := make(chan error, 1)
	go func() {
		_, err := s.Tool(e.t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Timeout: 20 * time.Minute,
			Action: aaep.Say("Pay $20 to Ada."), Consequence: aaep.Say("The money is gone.")},
			func(context.Context) (string, error) { return "", nil })
		paid <- err
		s.Complete(aaep.Say("Ready."))
	}()
	return paid
}

// A person who hears, and types, is told on the terminal too why an answer does not count.
func TestRefusalIsPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, dial := clitest.AgentOf(t, producer.Config{})
		defer agent.Shutdown(t.Context())
		e, voice := newTestListener(t, subscriber.ScreenReader("en-US")), &pacedVoice{}
		e.listen(t.Context(), func(ctx context.Context, e *testListener) { e.hearOver(ctx, voice) }, []clitest.DialerFunc{dial}, func() {
			e.asksToPay(agent)
			clitest.PassTime(3 * time.Second)
			for range 3 {
				e.wantSaid("y", "You may not have heard all of it.")
				clitest.PassTime(time.Second)
			}
			if got := e.out.String(); got != "" {
				t.Errorf("printed: %q", got)
			}
			clitest.PassTime(time.Minute)
			began := time.Now()
			e.lines <- terminal.Line{At: began, Began: began, Key: true} // its own key does not keep a yes from counting
			clitest.PassTime(200 * time.Millisecond)
			e.err.Reset()
			e.lines <- terminal.Line{Text: "y", At: time.Now(), Began: began}
			synctest.Wait()
			if got := e.err.String(); got != "aaep: Answer sent: accept.\n" {
				t.Errorf("a yes at a terminal: %q", got)
			}
		})
	})
}

// stopped is a terminal that takes nothing until it goes on.
type stopped struct {
	goesOn chan struct{} // is closed then
	clitest.Buffer
}

func (s *stopped) Write(b []byte) (int, error) {
	<-s.goesOn
	return s.Buffer.Write(b)
}

// A terminal that takes nothing any more keeps no person from hearing what is said after a text
// that has no voice, nor from a command, with --json neither.
func TestStoppedTerminal(t *testing.T) {
	for _, json := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			agent, dial := clitest.AgentOf(t, producer.Config{Language: "en"})
			defer agent.Shutdown(t.Context())
			e := newTestListener(t, subscriber.ScreenReader("en-US"))
			screen := &stopped{goesOn: make(chan struct{})}
			voice := &mute{}
			term := terminal.Open(t.Context(), strings.NewReader(""), screen, screen)
			e.l.json, e.l.Printer.Out, e.l.Status.Out = json, term.Out, term.Talk
			prepare := func(ctx context.Context, e *testListener) {
				e.hearOver(ctx, voice).p.Unsaid = e.l.printUnsaid
			}
			e.listen(t.Context(), prepare, []clitest.DialerFunc{dial}, func() {
				s, err := agent.StartSession(t.Context(), aaep.Say("One."))
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					out := s.Output()
					out.SetLanguage("yo")
					io.WriteString(out, "Ẹ káàbọ̀.\n")
					out.Close()
					clitest.PassTime(5 * time.Second)
				}
				io.WriteString(s.Output(), "Two.\n")
				clitest.PassTime(10 * time.Second)
				e.typeLine("/agents")
				e.typeLine("/nonsense")
				clitest.PassTime(10 * time.Second)
				heard := voice.String()
				for _, want := range []string{"Two.", "asker: connected", "There is no command /nonsense."} {
					if !strings.Contains(heard, want) {
						t.Errorf("json %t: %q is not heard in\n%s", json, want, heard)
					}
				}
				close(screen.goesOn)
				synctest.Wait()
				shown := screen.String()
				if n := strings.Count(shown, "Ẹ káàbọ̀."); n != 3 || !strings.Contains(shown, "There is no command /nonsense.") {
					t.Errorf("json %t: the terminal shows\n%s", json, shown)
				}
				for line := range strings.Lines(shown) {
					if json && !strings.HasPrefix(line, "aaep: ") && !strings.HasPrefix(line, "{") {
						t.Errorf("among the events stands %q", line)
					}
				}
			})
			term.Close()
		})
	}
}
