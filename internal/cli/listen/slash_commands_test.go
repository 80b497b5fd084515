package listen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// Each command changes one term, and what holds from then on is said. HS-072, HS-073, HS-075
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{MaxEventsPerSecond: 10})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			e.wantSaid("/rate 1", "From now on: at most 1 event a second.")
			e.wantSaid("/rate 50", "From now on: at most 10 events a second.",
				"At most 10 events per second are served.")
			e.wantSaid("/verbosity terse", "From now on: in few words.")
			e.wantSaid("/load low", "From now on: answers when they are whole and only the main steps.")
			e.wantSaid("/load medium", "From now on: answers sentence by sentence and the usual steps.")
			e.wantSaid("/PACE  300", "From now on: a pace of 300 words a minute.")
			e.wantSaid("/boundary word", "From now on: answers word by word.")
			e.wantSaid("/terms", "You get at most 10 events a second, in the language en-US, in few words, answers word by word, the usual steps, "+
				"a pace of 300 words a minute, and questions to decide.")
			if got := e.typeLine("/help"); !strings.HasPrefix(got,
				"aaep: Type a line with one of these:\naaep: /rate 1: ") {
				t.Errorf("/help: %q", got)
			}
			c := p.Subscriptions()[0].Terms
			if c.MaxEventsPerSecond != 10 || c.PreferredVerbosity != aaep.VerbosityTerse ||
				c.CognitiveLoad != aaep.LoadMedium || c.PaceWPM != 300 ||
				!slices.Equal(c.CoalesceBoundaries, []aaep.Boundary{aaep.BoundaryWord, aaep.BoundaryCompletion}) {
				t.Errorf("the agent holds %+v", c)
			}
		})
	})
}

// A wrong command says what would be right and sends nothing: the scripted producer would take it.
// D-54
func TestWrongCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		listenTo(t, s.dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			for line, want := range map[string]string{
				"/rate":             `Not understood: /rate. Right would be: /rate 1-100000.`,
				"/rate 0":           `Not understood: /rate 0. Right would be: /rate 1-100000.`,
				"/rate 1 2":         `Not understood: /rate 1 2. Right would be: /rate 1-100000.`,
				"/pace 1001":        `Not understood: /pace 1001. Right would be: /pace 50-1000.`,
				"/verbosity loud":   `Not understood: /verbosity loud. Right would be: /verbosity terse, /verbosity normal, /verbosity detailed.`,
				"/boundary letter":  `Not understood: /boundary letter. Right would be: /boundary none, /boundary word, /boundary sentence, /boundary paragraph, /boundary completion.`,
				"/language yo, ,en": `Not understood: /language yo, ,en. Right would be: /language es,en.`,
				"/load 3":           `Not understood: /load 3. Right would be: /load low, /load medium, /load high.`,
				"/quiet please":     `Not understood: /quiet please. Right would be: /quiet, /quiet off.`,
				"/quiet off":        `It is not quiet.`,
				"/stop":             `There is no command /stop. Type /help for commands.`,
				"/":                 `There is no command /. Type /help for commands.`,
				"/\x1b[2J":          `There is no command /<U+001B>[2j. Type /help for commands.`,
			} {
				e.wantSaid(line, want)
			}
		})
		for m := range s.got {
			if _, ok := m.(*aaep.SubscriptionRenegotiate); ok {
				t.Errorf("a wrong command was sent: %+v", m)
			}
		}
	})
}

// An agent that has none of the languages would end the subscription, so the ones that are heard
// stay behind the new ones. D-46, D-54
func TestLanguageCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		e := listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			e.wantSaid("/language yo, ha", "Láti ìsinsìnyí lọ: ní èdè en-US.", "A kò fúnni ní: èdè yo, èdè ha.")
			e.wantSaid("/language en", "From now on: in the language en, or else en-US.")
			e.wantSaid("/rate 1", "From now on: at most 1 event a second.")
			if got := p.Subscriptions(); len(got) != 1 || !got[0].Connected {
				t.Errorf("subscriptions %+v", got)
			}
		})
		if e.ended != nil {
			t.Error(e.ended)
		}
	})
}

// A command is never an answer, and the question stays while the terms change; a space before the
// slash makes it one. EVT-078, HS-077
func TestCommandWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
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
			clitest.PassTime(15 * time.Second) // the question is read
			e.wantSaid("/rate 1", "From now on: at most 1 event a second.")
			e.wantSaid("/y", "There is no command /y. Type /help for commands. If it is your answer, type a space before it.")
			e.wantSaid("/terms", "You get at most 1 event a second, in the language en-US, in a normal number of words, answers sentence by sentence, the usual steps, and questions to decide.")
			e.wantSaid("maybe", "That is no answer. Type y to accept or n to reject, then Enter. Enter alone repeats the question.")
			select {
			case err := <-paid:
				t.Fatalf("the question was settled: %v", err)
			default:
			}
			clitest.PassTime(time.Second) // or it is one of answers without a pause
			e.wantSaid("y", "Answer sent: accept.")
			if err := <-paid; err != nil {
				t.Error(err)
			}

			where := make(chan any, 1)
			go func() {
				answer, _ := s.AskText(t.Context(),
					producer.Question{Text: aaep.Say("Which file?")})
				where <- answer
			}()
			clitest.PassTime(5 * time.Second)
			e.wantSaid(" /letters/ada", "Answer sent.")
			if got := <-where; got != "/letters/ada" {
				t.Errorf("the answer is %v", got)
			}
		})
	})
}

// New terms hold in the middle of an output, and no character of it is lost or said twice. HS-076,
// INV-20
func TestCommandWithinOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			out := s.Output()
			write := func(text string) {
				if _, err := out.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				clitest.PassTime(2 * time.Second)
			}
			write("One is short. Two is ")
			e.wantSaid("/boundary completion", "From now on: answers when they are whole.")
			write("longer. Three")
			write(" is last.")
			if !strings.HasSuffix(e.out.String(), "\nOne is short.\n") {
				t.Errorf("before the end %q", e.out.String())
			}
			out.Close()
			s.Complete(aaep.Say("Ready."))
			clitest.PassTime(3 * time.Second)
			if got := e.out.String(); !strings.HasSuffix(got,
				"\nOne is short.\nTwo is longer. Three is last.\nDone. Ready.\n") {
				t.Errorf("heard %q", got)
			}
		})
	})
}

// While an answer is waited for, lines are taken, and what they ask for is asked for together. The
// agent's silence changes nothing and ends nothing. HS-072, TERM-008
func TestCommandsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		s.let = make(chan struct{}, 100)
		listenTo(t, s.dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			e.wantSaid("/rate 1")
			e.wantSaid("/rate 5")
			e.wantSaid("/verbosity terse")
			e.wantSaid("/terms", "You get at most 2 events a second, in the language en-US, in a normal number of words, answers sentence by sentence, the usual steps, and questions to decide.")
			e.wantSaid("y", "No question is open.")
			e.err.Reset()
			s.let <- struct{}{}
			s.let <- struct{}{}
			synctest.Wait()
			if got, want := e.err.String(), "aaep: From now on: at most 1 event a second.\naaep: From now on: at most 5 events a second and in few words.\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			e.wantSaid("/pace 200")
			clitest.PassTime(time.Minute)
			if got, want := e.err.String(), "aaep: Asked for: a pace of 200 words a minute. Not changed so far: the producer did not answer the renegotiation in time.\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			close(s.let)
		})
		if got := s.changes(); len(got) != 3 || got[1].MaxEventsPerSecond != 5 ||
			got[1].PreferredVerbosity != aaep.VerbosityTerse {
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
		e := listenTo(t, s.dial, subscriber.ScreenReader("en-US"), func(e *testListener) { e.typeLine("/rate 1") })
		var exit *exits.Error
		if !errors.As(e.ended, &exit) || exit.Code != exits.Failed ||
			!strings.Contains(exit.Error(), "honors 4 events per second; 1 were asked for") {
			t.Errorf("ended with %v", e.ended)
		}
	})
}

// On the screen too, a state is told when it lasts, and a call that is over at once in one line.
// EVT-032, LVL-014
func TestStatesThatLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
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
			clitest.PassTime(10 * time.Second)
			call(4 * time.Second)
			s.Complete(aaep.Say("Ready."))
			clitest.PassTime(10 * time.Second)
			// The rate holds the end of the first call, which the state then stands for, unless
			// what came before had left by itself.
			const story = "Working.\nUsing the tool balance.\n%s\nUsing the tool balance.\nBalance finished.\nDone. Ready.\n"
			held, alone := fmt.Sprintf(story, "Thinking."), fmt.Sprintf(story, "Balance finished.")
			if got := e.out.String(); got != held && got != alone {
				t.Errorf("the screen shows\n%s\nwant\n%s", got, held)
			}
		})
	})
}

// A person walks in what was said, looks for words, and saves it where they say; never over a file
// that is there.
func TestWalkCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.md")
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(s.Output(), "# First\n\nThe key is blue.\n\n## Second\n\nThe end.\n")
			s.Complete(aaep.Say("Ready."))
			time.Sleep(time.Minute)
			for _, tt := range []struct{ line, want string }{
				{"/to", "Not understood: /to. Right would be: /to turn, heading, "},
				{"/to chapter", "Not understood: /to chapter. Right would be: /to turn, heading, "},
				{"/to heading", "Heading 1: First."},
				{"/to", "Heading 2: Second."},
				{"/to", "Nothing of that kind comes there."},
				{"/back", "Heading 1: First."},
				{"/find KEY", "The key is blue."},
				{"/find nothing", "Not found: nothing."},
				{"/save " + file, "Saved in: " + file},
				{"/save " + file, "Not saved: "},
			} {
				e.screen.Reset()
				if e.typeLine(tt.line); !strings.Contains(e.screen.String(), tt.want) {
					got := e.screen.String()
					t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
				}
			}
		})
	})
	saved, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(saved), "] Working.\n") || !strings.Contains(string(saved), "\n## Second\n\nThe end.\n") {
		t.Errorf("saved %q, %v", saved, err)
	}
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file is %o", info.Mode().Perm())
	}
}
