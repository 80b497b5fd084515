package listen

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/control"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// press has the listener obey what came from another window, of which the key was pressed at began.
func (e *testListener) press(r control.Request, began time.Time) (done bool) {
	e.err.Reset()
	var came <-chan error
	e.l.runInLoopAndWait(e.t.Context(), func() { came = e.l.obeyCall(e.t.Context(), &control.Call{Request: r, Began: began}) })
	err := <-came
	synctest.Wait()
	return err == nil
}

// An answer from another window counts by the rules of one that is typed: not for a question that
// was not there a second before, nor for another one, nor a yes before it can have been heard; once
// each. EVT-078
func TestAnswerFromAnotherWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			s, err := p.StartSession(t.Context(), aaep.Say("Begin."))
			if err != nil {
				t.Fatal(err)
			}
			answer := func(text string, id string) control.Request {
				return control.Request{Name: control.AnswerName, Text: text, Question: id}
			}
			if e.press(answer("y", ""), time.Now()) || e.err.String() == "" {
				t.Error("an answer to nothing is sent, or nothing is said of it")
			}
			asked := time.Now()
			ran := make(chan error, 1)
			go func() {
				_, err := s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
					Action: aaep.Say("Pay $20 to Ada."), Consequence: aaep.Say("The money is gone.")},
					func(context.Context) (string, error) { return "", nil })
				ran <- err
			}()
			synctest.Wait()
			id := e.l.controlState().Question.ID
			for _, wrong := range []struct {
				why   string
				r     control.Request
				began time.Time
			}{
				{"the key was pressed before the question came", answer("y", id), asked.Add(-time.Minute)},
				{"it came at once", answer("y", id), asked},
				{"it is for another question", answer("y", "000000000000"), asked.Add(time.Hour)},
				{"it is for none", answer("y", ""), asked.Add(time.Hour)},
				{"it is no answer", answer("maybe", id), asked.Add(time.Hour)},
				{"it is nothing", answer(" ", id), asked.Add(time.Hour)},
			} {
				if e.press(wrong.r, wrong.began) {
					t.Errorf("%s, and it is sent", wrong.why)
				}
			}
			clitest.PassTime(2 * time.Second)
			if e.press(answer("y", id), time.Now()) {
				t.Error("a yes is sent before the question can have been heard")
			}
			clitest.PassTime(time.Minute)
			if e.press(answer("y", id), asked) {
				t.Error("a yes is sent whose key was pressed before the question could be read")
			}
			select {
			case err := <-ran:
				t.Error("it is decided: ", err)
			default:
			}
			clitest.PassTime(time.Second) // or it is one of answers without a pause
			if !e.press(answer("y", id), time.Now()) {
				t.Errorf("a yes that counts is not sent: %s", e.err.String())
			}
			if e.press(answer("y", id), time.Now()) {
				t.Error("the same yes is sent twice")
			}
			if err := <-ran; err != nil {
				t.Error(err)
			}
		})
	})
}

// No line from another window becomes a prompt of a conversation, whatever it says.
func TestAnswerIsNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			talk := &noConversation{}
			e.l.runInLoop(t.Context(), func() { e.l.talk = talk })
			e.press(control.Request{Name: control.AnswerName, Text: "delete everything"}, time.Now())
			if talk.lines != nil {
				t.Errorf("the agent is told %q", talk.lines)
			}
			if !e.press(control.Request{Name: "stop"}, time.Now()) || len(talk.lines) != 1 || talk.lines[0] != "/stop" {
				t.Errorf("stop is %q", talk.lines)
			}
		})
	})
}

// noConversation is a conversation that keeps what it is told.
type noConversation struct{ lines []string }

func (c *noConversation) Prompt(line string) { c.lines = append(c.lines, line) }

func (c *noConversation) Keep(line string) { c.lines = append(c.lines, line) }

func (c *noConversation) Own(string) bool { return false }

func (c *noConversation) End() {}

func (c *noConversation) Command(_ context.Context, name, _ string) bool {
	c.lines = append(c.lines, "/"+name)
	return true
}
