package acp_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
)

// An agent is connected to, and a turn with it is followed.
func Example() {
	ctx := context.Background()
	_, link := startScript(func(a *scriptedAgent, prompt string) string {
		a.sendText("You said: " + prompt)
		return "end_turn"
	})
	agent, err := acp.Connect(ctx, link, acp.Config{Folder: "/srv/project"}) // or acp.Start, which runs it
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent", AgentName: agent.Name()}})
	defer p.Shutdown(ctx)
	// Who follows p, as by package subscriber, hears the turns and is asked what the agent may do.
	conversation, _ := agent.NewConversation(ctx, p)
	fmt.Println(agent.Name(), conversation.Prompt(ctx, "hello"))
	// Output: Scripted agent <nil>
}

// deletingTurn is a turn that asks before it deletes a file, as Gemini CLI does: it says nothing of
// the call before it asks.
func deletingTurn(selected *string) func(*scriptedAgent, string) string {
	return func(a *scriptedAgent, _ string) string {
		a.sendText("I will look. ")
		a.sendText("Then I delete it.")
		if *selected = a.askPermission("0", removes, offers); *selected == "once" || *selected == "always" {
			a.sendUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`)
		}
		a.sendText("That was all.")
		return "end_turn"
	}
}

// Each way in which a question can end has one answer: only an accepted confirmation allows, and
// only once.
func TestPermission(t *testing.T) {
	for _, tc := range []struct {
		name   string
		decide func(*person, *aaep.Event)
		do     func(f *fixture) // while the question is open
		want   string
		hears  string
	}{
		{"yes", answerWith(aaep.Accept), nil, "once", `The command "rm report.txt" finished.`},
		{"no", answerWith(aaep.Reject), nil, "no", "Rejected, and not done"},
		{"silence", neverAnswer, nil, "no", "not done"},
		{"no subscriber", nil, nil, "no", ""},
		{"stop", neverAnswer, func(f *fixture) { f.talk.Stop() }, "cancelled", "Withdrawn, and not done"},
		{"the listener leaves", neverAnswer, func(f *fixture) { f.person.sub.Close() }, "no", ""},
		{"the agent withdraws", neverAnswer, func(f *fixture) {
			f.script.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
		}, "error", "Withdrawn, and not done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var selected string
			runConversation(t, deletingTurn(&selected), tc.decide, func(t *testing.T, f *fixture) {
				if tc.do != nil {
					go func() { time.Sleep(3 * time.Second); tc.do(f) }()
				}
				if err := f.talk.Prompt(t.Context(), "Delete the old report."); err != nil {
					t.Fatal(err)
				}
				waitTenSeconds()
				if selected != tc.want {
					t.Errorf("the agent was answered %q, want %q", selected, tc.want)
				}
				if f.person != nil && !strings.Contains(f.person.allHeard(), tc.hears) {
					t.Errorf("the person has not heard %q, but\n%s", tc.hears, f.person.allHeard())
				}
			})
		})
	}
}

// What the person hears of a turn is what the agent said, in its order, and what it did, each once.
func TestTurn(t *testing.T) {
	var selected string
	runConversation(t, deletingTurn(&selected), answerWith(aaep.Accept), func(t *testing.T, f *fixture) {
		if err := f.talk.Prompt(t.Context(), "Delete the old report."); err != nil {
			t.Fatal(err)
		}
		waitTenSeconds()
		const want = `Delete the old report.
I will look.
Then I delete it.
Confirm: Run the command "rm report.txt". Delete the old report. In the folder /srv/project.
Run the command "rm report.txt".
The command "rm report.txt" finished.
That was all.
The agent finished.`
		if got := f.person.allHeard(); got != want {
			t.Errorf("heard\n%s\n\nwant\n%s", got, want)
		}
	})
}

// The option that counts for later is asked about in its own name, and only its own yes selects it.
func TestAlways(t *testing.T) {
	for _, tc := range []struct {
		second aaep.Decision
		want   string
	}{{aaep.Accept, "always"}, {aaep.Reject, "no"}} {
		t.Run(string(tc.second), func(t *testing.T) {
			var selected string
			asked := 0
			decide := func(p *person, ev *aaep.Event) {
				if asked++; asked == 2 {
					replies.Send(context.Background(), p.sub.Question(ev), tc.second, nil)
				}
			}
			runConversation(t, deletingTurn(&selected), decide, func(t *testing.T, f *fixture) {
				go func() {
					time.Sleep(3 * time.Second)
					options := f.talk.Options()
					if len(options) != 3 || !options[0].Always || options[1].Always || options[2].Allows {
						t.Errorf("the options are %+v", options)
					}
					if err := f.talk.Choose(0); err != nil {
						t.Error(err)
					}
				}()
				if err := f.talk.Prompt(t.Context(), "Delete it."); err != nil {
					t.Fatal(err)
				}
				waitTenSeconds()
				if selected != tc.want {
					t.Errorf("the agent was answered %q, want %q", selected, tc.want)
				}
				if says := `Confirm: Allow it from now on without being asked, which the agent calls "Allow for this session".`; !strings.Contains(f.person.allHeard(), says) {
					t.Errorf("not heard: %s\nbut\n%s", says, f.person.allHeard())
				}
			})
		})
	}
}

// Of several questions at once the person is asked one after the other, in the order in which they
// came. What Details and Options say is about the one that is open, and each is of high risk
// whatever kind the agent gives it.
func TestQuestionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := func(a *scriptedAgent, _ string) string {
			var lines strings.Builder // sent at once
			for i, title := range []string{"rm a", "rm b", "rm c"} {
				fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":"p%d","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c%[1]d","title":%q,"kind":"think"},"options":[{"optionId":%[2]q,"name":"Yes","kind":"allow_once"}]}}`+"\n", i, title)
			}
			lines.WriteString(`{"jsonrpc":"2.0","id":"t","method":"terminal/create","params":{"sessionId":"s1","command":"rm d"}}`)
			a.send("%s", lines.String())
			for i := range 3 {
				a.awaitOutcome(fmt.Sprintf(`"p%d"`, i))
			}
			a.awaitResponse(`"t"`)
			return "end_turn"
		}
		var f *fixture
		asked, order := 0, ""
		var open atomic.Int32
		decide := func(p *person, ev *aaep.Event) {
			defer open.Add(-1)
			waitTenSeconds()
			if n := open.Load(); n != 1 {
				t.Errorf("%d questions are open", n)
			}
			c := ev.Payload.(*aaep.AwaitingConfirmation)
			name := strings.TrimRight(c.Action, `".`)
			order += name[len(name)-1:]
			if details := f.talk.Details(); len(details) == 0 || !strings.Contains(c.Action, details[0]) {
				t.Errorf("asked %q, and the details are %q", c.Action, details)
			}
			if c.RiskLevel != aaep.RiskHigh {
				t.Errorf("%q is of the risk %q", c.Action, c.RiskLevel)
			}
			if options := f.talk.Options(); len(options) != 1 && !strings.Contains(c.Action, "rm d") ||
				len(options) > 0 && strings.Contains(c.Action, "rm d") {
				t.Errorf("asked %q, and the options are %+v", c.Action, options)
			}
			p.sub.Question(ev).Reject(context.Background())
		}
		f = newFixture(t, t.TempDir(), turn, func(p *person, ev *aaep.Event) {
			asked++
			open.Add(1)
			go decide(p, ev)
		})
		f.talk.Prompt(t.Context(), "Go on.")
		waitTenSeconds()
		if asked != 4 || order != "abcd" {
			t.Errorf("%d questions were asked, in the order %q", asked, order)
		}
	})
}

// Permissions that the agent asks for of its own accord, with no prompt, are put one after another
// and answered, also where one of them is withdrawn before it is put. The session that tells of
// them ends with the last.
func TestQuestionsWithoutPrompt(t *testing.T) {
	for _, tc := range []struct{ withdrawn, want string }{{"", "abc"}, {"b", "ac"}} {
		t.Run("without "+tc.withdrawn, func(t *testing.T) {
			runConversation(t, nil, answerWith(aaep.Accept), func(t *testing.T, f *fixture) {
				waitTenSeconds()
				for _, id := range []string{"a", "b", "c"} {
					f.script.send(`{"jsonrpc":"2.0","id":%q,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":%[1]q,"title":"Do %[1]s"},"options":%[2]s}}`, id, offers)
				}
				if tc.withdrawn != "" {
					synctest.Wait() // until the first is put
					f.script.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%q}}`, tc.withdrawn)
				}
				for _, id := range tc.want {
					if got := f.script.awaitOutcome(fmt.Sprintf("%q", string(id))); got != "once" {
						t.Errorf("%c was answered %q", id, got)
					}
				}
				waitTenSeconds()
				heard := f.person.allHeard()
				rest := heard // in which each question stands before what it allows, and that before the next
				for _, id := range tc.want {
					before, after, found := strings.Cut(rest, "\nDo "+string(id)+".\n")
					if rest = after; !found || strings.Count(before, "Confirm: ") != 1 {
						t.Errorf("heard\n%s", heard)
						break
					}
				}
				if strings.Count(rest, "Confirm: ") != 0 || strings.Count(heard, "The agent finished.") != 1 || f.talk.Busy() {
					t.Errorf("heard\n%s", heard)
				}
			})
		})
	}
}

// Options that are more than a yes and a no are a choice by the agent's own names; what allows is
// confirmed.
func TestChoice(t *testing.T) {
	for _, tc := range []struct{ name, options, choice, want string }{
		{"two kinds of yes", `[{"optionId":"a","name":"Yes, edit by hand","kind":"allow_once"},{"optionId":"b","name":"Yes, and plan on","kind":"allow_once"},{"optionId":"c","name":"Keep planning","kind":"reject_once"}]`, "2", "b"},
		{"only always", `[{"optionId":"a","name":"Trust it","kind":"allow_always"},{"optionId":"c","name":"Leave","kind":"reject_once"}]`, "1", "a"},
		{"a no of several", `[{"optionId":"a","name":"One","kind":"allow_once"},{"optionId":"b","name":"Two","kind":"allow_once"},{"optionId":"c","name":"Never","kind":"reject_always"}]`, "3", "c"},
		{"nothing", `[]`, "", "cancelled"},
		{"one no", `[{"optionId":"c","name":"Leave","kind":"reject_once"}]`, "", "c"},
		{"the same id twice", `[{"optionId":"a","name":"Once","kind":"allow_once"},{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"c","name":"Leave","kind":"reject_once"}]`, "", "c"},
		{"no id", `[{"optionId":"","name":"Yes","kind":"allow_once"},{"optionId":"c","name":"Leave","kind":"reject_once"}]`, "", "c"},
		{"unknown kinds", `[{"optionId":"a","name":"Yes","kind":"allow_some"},{"optionId":"b","name":"Yes","kind":"ALLOW_ONCE"}]`, "", "cancelled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var selected string
			turn := func(a *scriptedAgent, _ string) string {
				selected = a.askPermission(`"perm"`, removes, tc.options)
				return "end_turn"
			}
			decide := func(p *person, ev *aaep.Event) {
				switch ev.Payload.(type) {
				case *aaep.AwaitingClarification:
					p.sub.Question(ev).AnswerText(context.Background(), tc.choice)
				case *aaep.AwaitingConfirmation:
					p.sub.Question(ev).Accept(context.Background())
				}
			}
			runConversation(t, turn, decide, func(t *testing.T, f *fixture) {
				f.talk.Prompt(t.Context(), "Go on.")
				waitTenSeconds()
				if selected != tc.want {
					t.Errorf("answered %q, want %q; heard\n%s", selected, tc.want, f.person.allHeard())
				}
			})
		})
	}
}

// A call whose end the agent never reports is told as one of which it is not known how it ended.
func TestCallWithoutEnd(t *testing.T) {
	for _, reason := range []string{"end_turn", "max_tokens"} {
		turn := func(a *scriptedAgent, _ string) string {
			a.sendUpdate(`{"sessionUpdate":"tool_call","toolCallId":"c1","status":"in_progress","title":"Read a.go","kind":"read"}`)
			time.Sleep(10 * time.Second)
			return reason
		}
		runConversation(t, turn, neverAnswer, func(t *testing.T, f *fixture) {
			f.talk.Prompt(t.Context(), "Go on.")
			waitTenSeconds()
			if heard := f.person.allHeard(); !strings.Contains(heard, "Read a.go may have been done: how it ended is not known.") ||
				strings.Contains(heard, "Read a.go finished") || strings.Contains(heard, "Read a.go failed") {
				t.Errorf("heard\n%s", heard)
			}
		})
	}
}

// What an agent sends that cannot be read, or is not known, is told once, and ends nothing.
func TestOddMessages(t *testing.T) {
	turn := func(a *scriptedAgent, _ string) string {
		a.send("npm warn something")
		a.send("")
		a.send(`{"jsonrpc":"2.0","id":99,"result":{}}`)
		a.send(`{"jsonrpc":"2.0","id":null,"method":"session/request_permission","params":{"sessionId":"s1"}}`)
		a.send(`{"jsonrpc":"2.0","id":1.5,"method":"session/request_permission","params":{"sessionId":"s1"}}`)
		a.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk"},"Update":1,"update":{}}}`)
		a.send(`{"a":%q}`, strings.Repeat("x", 20<<20)) // longer than a message may be
		a.sendUpdate(`{"sessionUpdate":"juggling","toolCallId":"c9","title":"x","kind":"execute","status":"completed"}`)
		a.sendUpdate(`{"sessionUpdate":"juggling"}`)
		a.sendUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"never","status":"completed","title":"Read a.go","kind":"read"}`)
		a.sendUpdate(`{"sessionUpdate":"plan","entries":"none"}`)
		a.sendText("Still here.")
		return "end_turn"
	}
	runConversation(t, turn, neverAnswer, func(t *testing.T, f *fixture) {
		if err := f.talk.Prompt(t.Context(), "Go on."); err != nil {
			t.Fatal(err)
		}
		waitTenSeconds()
		const want = `Go on.
The agent sent a message that cannot be read.
What it says there is lost, and what it asks there is not allowed.
The agent sent a message of more than 16 MiB.
What it says there is lost, and what it asks there is not allowed.
The agent sent news of a kind that is not known here, juggling.
Read a.go.
Read a.go finished.
The agent sent news that cannot be read, of the kind plan.
Still here.
The agent finished.`
		if got := f.person.allHeard(); got != want {
			t.Errorf("heard\n%s\n\nwant\n%s", got, want)
		}
	})
}

// Whatever an agent sends, its question is put: what is too long is shortened with a word that it
// is, and half a surrogate is shown as such.
func TestQuestionThatDoesNotFit(t *testing.T) {
	long := func(text string, times int) string {
		part := `{"type":"content","content":{"type":"text","text":"` + strings.Repeat(text, 4000) + `"}}`
		return `"content":[` + strings.TrimSuffix(strings.Repeat(part+",", times), ",") + `]`
	}
	const twice = `[{"optionId":"once","name":"A","kind":"allow_once"},{"optionId":"b","name":"B","kind":"allow_once"}]`
	for _, tc := range []struct{ name, call, options, hears string }{
		{"a remark", `{"toolCallId":"c","title":"x",` + long("a", 20) + `}`, offers, "This is not all"},
		{"a remark of marks", `{"toolCallId":"c","title":"` + strings.Repeat(`\"`, 4000) + `",` + long(`\"`, 20) + `}`,
			offers, "This is not all"},
		{"a remark of large letters", `{"toolCallId":"c","title":"` + strings.Repeat("𝔸", 4000) + `",` + long("𝔸",
			20) + `}`, offers, "This is not all"},
		{"a choice", `{"toolCallId":"c","title":"` + strings.Repeat("字", 4000) + `",` + long("字", 2) + `}`, twice,
			"This is not all"},
		{"a name", `{"toolCallId":"c","title":"x","name":"` + strings.Repeat(`n\n`, 4000) + `","kind":"` +
			strings.Repeat("k", 4000) + `"}`, offers, "X"},
		{"half a surrogate", `{"toolCallId":"c","title":"a \ud83d b"}`, offers, "a \uFFFD b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			selected, asked := "", ""
			turn := func(a *scriptedAgent, _ string) string {
				selected = a.askPermission("0", tc.call, tc.options)
				return "end_turn"
			}
			decide := func(p *person, ev *aaep.Event) {
				asked += eventWords(ev)
				if _, ok := ev.Payload.(*aaep.AwaitingClarification); ok {
					p.sub.Question(ev).AnswerText(context.Background(), "1")
					return
				}
				p.sub.Question(ev).Accept(context.Background())
			}
			runConversation(t, turn, decide, func(t *testing.T, f *fixture) {
				f.talk.Prompt(t.Context(), "Go on.")
				waitTenSeconds()
				if selected != "once" || !strings.Contains(strings.ToLower(asked), strings.ToLower(tc.hears)) {
					t.Errorf("answered %q; asked %.300q … %.100q; heard %.600q", selected, asked,
						asked[max(0, len(asked)-100):], f.person.allHeard())
				}
			})
		})
	}
}

// Two open requests with one id, however it is written, are both refused: an answer could be taken
// for either.
func TestSameID(t *testing.T) {
	for _, ids := range [][2]string{{"7", "7"}, {`"a"`, `"\u0061"`}, {"0", "-0"}, {"9007199254740992", "9007199254740993"}} {
		t.Run(ids[1], func(t *testing.T) {
			var selected string
			turn := func(a *scriptedAgent, _ string) string {
				a.send(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":%s,"options":%s}}`,
					ids[0], `{"toolCallId":"harmless","title":"ls","kind":"read"}`, offers)
				time.Sleep(100 * time.Millisecond)
				a.send(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":%s,"options":%s}}`,
					ids[1], removes, offers)
				selected = a.awaitOutcome(ids[0])
				return "end_turn"
			}
			runConversation(t, turn, answerWith(aaep.Accept), func(t *testing.T, f *fixture) {
				f.talk.Prompt(t.Context(), "Go on.")
				waitTenSeconds()
				if selected != "error" {
					t.Errorf("answered %q", selected)
				}
			})
		})
	}
}

// An agent that dies in the middle is told of, and nothing waits for it.
func TestAgentEnds(t *testing.T) {
	turn := func(a *scriptedAgent, _ string) string {
		a.sendText("I begin")
		go a.askPermission("1", removes, offers)
		time.Sleep(time.Second)
		a.out.(io.Closer).Close()
		return ""
	}
	runConversation(t, turn, neverAnswer, func(t *testing.T, f *fixture) {
		if err := f.talk.Prompt(t.Context(), "Go on."); err == nil {
			t.Error("there is no error")
		}
		waitTenSeconds()
		if got := f.person.allHeard(); !strings.HasSuffix(got, "The agent has ended.") ||
			!strings.Contains(got, "Withdrawn, and not done") {
			t.Errorf("heard\n%s", got)
		}
		synctest.Wait()
	})
}

// An agent that reads nothing is stopped all the same, and its link ends.
func TestAgentReadsNothing(t *testing.T) {
	turn := func(a *scriptedAgent, _ string) string {
		for n := range 200 {
			a.send(`{"jsonrpc":"2.0","id":%d,"method":"unknown","params":{"sessionId":"s1"}}`, n)
		}
		return ""
	}
	runConversation(t, turn, nil, func(t *testing.T, f *fixture) {
		release := make(chan struct{})
		f.script.judge = func(map[string]any) { <-release }
		ended := make(chan error, 1)
		go func() { ended <- f.talk.Prompt(t.Context(), "Go on.") }()
		time.Sleep(time.Second)
		stopped := make(chan bool, 1)
		go func() { stopped <- f.talk.Stop() }()
		select {
		case ok := <-stopped:
			if !ok {
				t.Error("it was not at work")
			}
		case <-time.After(2 * toRead):
			t.Error("it cannot be stopped")
		}
		close(release)
		<-f.agent.Done()
		if err := <-ended; err == nil {
			t.Error("there is no error")
		}
	})
}

// A prompt to an agent that reads nothing ends with its context, as Ctrl-C ends that.
func TestPromptEndsWithContext(t *testing.T) {
	turn := func(a *scriptedAgent, _ string) string {
		for n := range 200 {
			a.send(`{"jsonrpc":"2.0","id":%d,"method":"unknown","params":{"sessionId":"s1"}}`, n)
		}
		return ""
	}
	runConversation(t, turn, nil, func(t *testing.T, f *fixture) {
		release := make(chan struct{})
		f.script.judge = func(map[string]any) { <-release }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := f.talk.Prompt(ctx, "Go on."); err == nil {
			t.Error("there is no error")
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		close(release)
	})
}

const toRead = 5 * time.Second // that an agent has

// A form is one question a field, and an address is told with its host; what is not answered
// cancels it.
func TestElicitation(t *testing.T) {
	for _, tc := range []struct {
		name, params string
		answers      []any
		want, hears  string
	}{
		{"a form", `"mode":"form","message":"Set it up.","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","title":"Its name"},
			"parts":{"type":"array","items":{"type":"string","enum":["a","b","c"]}},"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}}}`,
			[]any{"demo", "c, a", "l"}, `map[action:accept content:map[name:demo parts:[c a] size:l]]`,
			"Choose: Its name? Set it up."},
		{"a long form", `"mode":"form","message":"` + strings.Repeat("字", 4000) +
			`","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
			"parts":{"type":"array","items":{"type":"string","enum":["` + strings.Repeat("a", 1900) + `","b"]}}}}`,
			[]any{"demo", "b"}, `map[action:accept content:map[name:demo parts:[b]]]`, "This is not all"},
		{"silence", `"mode":"form","message":"Set it up.","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}`, []any{nil}, "map[action:cancel]", "name?"},
		{"an address", `"mode":"url","message":"Sign in.","elicitationId":"e1","url":"https://login.example@evil.example/x"`, []any{true},
			"map[action:accept]", "Do you want to go to an address at evil.example yourself? Sign in. The whole address is: https://login.example@evil.example/x"},
		{"no address of the web", `"mode":"url","message":"Sign in.","elicitationId":"e1","url":"file:///etc/passwd"`,
			nil, "map[action:cancel]", "none of the web"},
		{"a list of nothing", `"mode":"form","message":"x","requestedSchema":{"type":"object","properties":{"a":{"type":"array"}}}`, nil, "<nil>", "cannot be asked here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			turn := func(a *scriptedAgent, _ string) string {
				a.send(`{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"sessionId":"s1",%s}}`,
					strings.ReplaceAll(tc.params, "\n", ""))
				got = fmt.Sprint(a.awaitResponse(`"e"`)["result"])
				return "end_turn"
			}
			n := 0
			decide := func(p *person, ev *aaep.Event) {
				if n++; tc.answers[n-1] != nil {
					replies.Send(context.Background(), p.sub.Question(ev), "", tc.answers[n-1])
				}
			}
			runConversation(t, turn, decide, func(t *testing.T, f *fixture) {
				f.talk.Prompt(t.Context(), "Go on.")
				waitTenSeconds()
				if got != tc.want {
					t.Errorf("answered %s, want %s", got, tc.want)
				}
				if !strings.Contains(f.person.allHeard(), tc.hears) {
					t.Errorf("not heard: %s\nbut\n%s", tc.hears, f.person.allHeard())
				}
			})
		})
	}
}
