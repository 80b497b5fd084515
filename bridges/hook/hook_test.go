package hook_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/hook"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// A prompt to an agent is handed to a Bridge by the agent's hooks, one after the other.
func Example() {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "hook", AgentName: "Coding agents"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Shutdown(context.Background())
	b := hook.New(p, hook.Config{})
	print := func(output []byte) error { fmt.Printf("%s\n", output); return nil }
	for _, input := range []string{
		`{"hook_event_name":"UserPromptSubmit","session_id":"1","cwd":"/srv/plans","prompt":"Delete the old report."}`,
		`{"hook_event_name":"PermissionRequest","session_id":"1","cwd":"/srv/plans","tool_name":"Bash","tool_input":{"command":"rm report.txt"}}`,
		`{"hook_event_name":"Stop","session_id":"1","cwd":"/srv/plans","last_assistant_message":"The report is still there."}`,
	} {
		if err := b.Handle(context.Background(), "claude", []byte(input), print, nil); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("No subscriber listens, so nothing is printed, and the agent asks by itself.")
	// Output:
	// No subscriber listens, so nothing is printed, and the agent asks by itself.
}

// A turn is heard from the prompt to the answer, with the tools in words, once and in order.
func TestTurn(t *testing.T) {
	runBridge(t, hook.Config{}, neverAnswer, func(t *testing.T, f *fixture) {
		for _, input := range []string{
			eventInput("SessionStart", `"source":"startup"`),
			eventInput("UserPromptSubmit", `"prompt":"Make the greeting\nfriendlier."`),
			eventInput("PreToolUse", toolMembers("Read", `{"file_path":"/srv/plans/main.go"}`)+`,"tool_use_id":"t1"`),
			eventInput("PostToolUse", toolMembers("Read",
				`{"file_path":"/srv/plans/main.go"}`)+`,"tool_response":{"file":1},"tool_use_id":"t1"`),
			eventInput("SubagentStart", `"agent_id":"a1","agent_type":"Explore"`),
			eventInput("SubagentStop", `"agent_id":"a1","agent_type":"Explore","last_assistant_message":"Three files.\nMore."`),
			eventInput("PreToolUse", toolMembers("Edit",
				`{"file_path":"/srv/plans/main.go","old_string":"a","new_string":"b\nc"}`)+`,"tool_use_id":"t2"`),
		} {
			if out := f.callHook("claude", input); out != "" {
				t.Errorf("%s prints %s", input, out)
			}
		}
		f.checkHeard(`Claude Code in plans.
It has begun.
Claude Code in plans: Make the greeting friendlier.
Read main.go.
Read main.go finished.
A helper begins, Explore.
A helper has ended, Explore.
Three files.
Edit main.go.`)
		f.callHook("claude", eventInput("PostToolUseFailure", toolMembers("Edit",
			`{"file_path":"/srv/plans/main.go","old_string":"a","new_string":"b\nc"}`)+`,"tool_use_id":"t2","error":"The text was not found.\nMore"`))
		f.callHook("claude", eventInput("Stop",
			`"last_assistant_message":"I could not. The text is not there.","stop_hook_active":false`))
		f.callHook("claude", eventInput("Notification",
			`"message":"Claude is waiting for your input","notification_type":"idle_prompt"`))
		f.callHook("claude", eventInput("SessionEnd", `"reason":"other"`))
		f.checkHeard(`The text was not found.
Edit main.go failed.
I could not.
The text is not there.
The agent finished.
Claude Code in plans.
Claude is waiting for your input.
Claude Code in plans.
It has ended.`)
	})
}

const remove = `{"command":"rm report.txt","description":"Delete the old report"}`

// What each agent prints for each outcome of a question. Nothing but an accepted reply allows
// anything.
func TestPermission(t *testing.T) {
	const (
		allowed   = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
		denied    = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"The user declined this action."}}}`
		no        = `{"decision":"deny","reason":"The user declined this action."}`
		forbidden = `{"decision":"deny","reason":"Nobody answered, so this was not allowed."}`
	)
	for _, c := range []struct {
		agent, input          string
		accept, reject, later string
	}{
		{"claude", eventInput("PermissionRequest", toolMembers("Bash", remove)), allowed, denied, ""},
		{"codex", eventInput("PermissionRequest", toolMembers("Bash", remove)+`,"turn_id":"1","model":"m"`), allowed, denied, ""},
		{"gemini", eventInput("BeforeTool", toolMembers("run_shell_command", remove)), "", no, forbidden},
		// it has no question of its own after the hook
		{"copilot", eventInput("PreToolUse", toolMembers("bash", remove)), "",
			`{"permissionDecision":"deny","permissionDecisionReason":"The user declined this action."}`, ""},
		{"copilot", camelEvent(`"toolName":"bash","toolArgs":` + remove), "",
			`{"permissionDecision":"deny","permissionDecisionReason":"The user declined this action."}`, ""},
		{"copilot", camelEvent(`"toolName":"bash","toolArgs":` + quoteText(remove)), "",
			`{"permissionDecision":"deny","permissionDecisionReason":"The user declined this action."}`, ""},
		{"crush", strings.Replace(eventInput("PreToolUse", toolMembers("bash", remove)), "hook_event_name", "event", 1),
			`{"decision":"allow"}`, no, ""},
	} {
		for name, outcome := range map[string]struct {
			decide func(*fixture, *aaep.Event)
			want   string
		}{
			"accept": {answersWith(aaep.Accept), c.accept}, "reject": {answersWith(aaep.Reject), c.reject}, "silence": {neverAnswer,
				c.later}, "nobody": {nil, ""},
			"closed": {func(f *fixture, _ *aaep.Event) { go f.sub.Close() }, c.later},
		} {
			t.Run(c.agent+" "+name, func(t *testing.T) {
				runBridge(t, hook.Config{}, outcome.decide, func(t *testing.T, f *fixture) {
					if got := f.callHook(c.agent, c.input); got != outcome.want {
						t.Errorf("it prints %q, want %q", got, outcome.want)
					}
					asked, settled := 0, 0
					for _, r := range f.trail {
						switch r.Kind {
						case audit.Asked:
							asked++
						case audit.Settled:
							settled++
						}
					}
					if put := outcome.decide != nil; (asked == 1) != put || settled != asked {
						t.Errorf("the trail has %d questions and %d outcomes", asked, settled)
					}
				})
			})
		}
	}
}

// A question has all that is known in words, and comes before anything is told as done.
func TestQuestionWords(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"Bash", remove, `Confirm: Run the command "rm report.txt". Delete the old report. Claude Code asks, in the folder /srv/plans.`},
		{"Bash", `{"command":"cd /srv/plans/client && npm run build -- --mode production && sudo rm -rf dist"}`,
			`Confirm: Run a command with "sudo rm -rf dist" in it, after it goes to "/srv/plans/client": "cd /srv/plans/client && npm run build`},
		{"Bash", `{"command":"rm a\nrm b","dangerouslyDisableSandbox":true}`,
			`Confirm: Run the command "rm a <new line> rm b". dangerouslyDisableSandbox: true. Claude Code asks`},
		{"Edit", `{"file_path":"/srv/plans/a.txt","old_string":"x","new_string":"y","replace_all":true}`,
			`Confirm: Edit a.txt. In a.txt: 1 line added, 1 removed. Line 1 removed: x. Line 1 added: y. replace_all: true. Claude`},
		{"Write", `{"file_path":"/etc/passwd","content":"a\nb\n"}`,
			`Confirm: Edit /etc/passwd, which is not in the folder. All of /etc/passwd, which is not in the folder, is written: 2 lines. Claude`},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n+z\n*** Delete File: b.txt\n*** End Patch"}`, `Confirm: Edit 2 files, the first a.txt. In a.txt: 2 lines added, 1 removed. The file b.txt is deleted. Claude`},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Update File: a.txt\n*** Move to: /etc/cron.d/a\n@@\n x\n *** Delete File: c\n*** Add File: d\n+y\n *** Delete File: b.txt\n*** End Patch"}`,
			`Confirm: Edit 3 files, the first a.txt. In a.txt: 0 lines added, 0 removed. It is moved to /etc/cron.d/a, which is not in the folder. In d: a new file, 1 line. The file b.txt is deleted. Claude`},
		{"Edit", `{"file_path":"/srv/plans/Edit b.txt","old_string":"x","new_string":"y"}`, `Confirm: Edit Edit b.txt. In Edit b.txt:`},
		{"Edit", `{"file_path":"/srv/plans/a.txt","path":"/etc/passwd","old_string":"x","new_string":"y"}`, `Line 1 added: y. path: /etc/passwd. Claude`},
		{"MultiEdit", `{"file_path":"/srv/plans/a.txt","edits":[{"old_string":"x","new_string":"y","replace_all":true}]}`, `Line 1 added: y. replace_all: true. Claude`},
		{"Bash", `{"command":"rm a\u200b\u00a0b","path":"/etc"}`, `Confirm: Run the command "rm a<U+200B><U+00A0>b". path: /etc. Claude`},
		{"WebSearch", `{"query":"Read the file a.txt"}`, `Confirm: Fetch "Read the file a.txt". Claude`},
		{"Grep", `{"pattern":"key","path":"/srv/keys","glob":""}`, `Confirm: Search key. path: /srv/keys. glob: "", which is empty. Claude`},
		{"mcp__bank__transfer", `{"amount":500,"to":"Ann\u202eB"}`,
			`Confirm: Use the tool transfer of bank. amount: 500. to: Ann<U+202E>B. Claude`},
		{"WebFetch", `{"url":"https://example.com/a","prompt":"Read it"}`,
			`Confirm: Fetch https://example.com/a. prompt: Read it. Claude`},
		{"Skill", `{"skill":"deploy","command":"now"}`, `Confirm: Use the tool Skill. skill: deploy. command: now. Claude`},
	} {
		runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
			f.callHook("claude", eventInput("PreToolUse", toolMembers(c.tool, c.input)))
			f.callHook("claude", eventInput("PermissionRequest", toolMembers(c.tool, c.input)))
			if said := f.allHeard(); !strings.Contains(said, c.want) {
				t.Errorf("%s: heard\n%s\nwant\n%s", c.tool, said, c.want)
			}
		})
	}
}

// What cannot be told whole, or must not be told, is left to the agent, and that is said; its words
// are nowhere.
func TestNotTold(t *testing.T) {
	const secret = "ghp_0123456789abcdefABCDEF0123456789abcd"
	for name, c := range map[string]struct{ input, want string }{
		"long":     {toolMembers("Bash", `{"command":`+quoteText(strings.Repeat("x ", 4001))+`}`), "too long to be told"},
		"lines":    {toolMembers("Bash", `{"command":`+quoteText(strings.Repeat("x\n", 500))+`}`), "too long to be told"},
		"long mcp": {toolMembers("mcp__a__b", `{"text":`+quoteText(strings.Repeat("x ", 4001))+`}`), "too long to be told"},
		"huge":     {toolMembers("Bash", `{"command":`+quoteText(strings.Repeat("x", 50<<20))+`}`), "too long to be told"},
		"secret":   {toolMembers("Bash", `{"command":"curl -H token:`+secret+`"}`), "such as for a secret in it"},
		"number":   {toolMembers("Bash", `{"command":5}`), "too long to be told"},
		"nothing":  {toolMembers("Bash", `{}`), "too long to be told"},
		"patch":    {toolMembers("apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n***Delete File: b\n*** End Patch"}`), "too long to be told"},
		"question": {toolMembers("AskUserQuestion", `{"questions":[{"question":"Which colour?"}]}`),
			"It asks you something in its own window: Which colour?"},
	} {
		t.Run(name, func(t *testing.T) {
			runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
				if out := f.callHook("claude", eventInput("PermissionRequest", c.input)); out != "" {
					t.Errorf("it prints %s", out)
				}
				said := f.allHeard()
				if !strings.Contains(said, c.want) || strings.Contains(said, "Confirm:") {
					t.Errorf("heard\n%.2000s\nwant %s", said, c.want)
				}
				if trail := fmt.Sprint(f.trail); strings.Contains(said+trail, secret) {
					t.Error("the secret was told")
				}
			})
		})
	}
	runBridge(t, hook.Config{}, neverAnswer, func(t *testing.T, f *fixture) {
		f.callHook("claude", eventInput("UserPromptSubmit", `"prompt":"Use `+secret+`"`))
		f.callHook("claude", eventInput("PreToolUse", toolMembers("WebFetch", `{"url":"https://a.example/`+secret+`"}`)))
		f.callHook("claude", eventInput("PostToolUse", toolMembers("WebFetch", `{"url":"https://a.example/`+secret+`"}`)))
		f.checkHeard("Claude Code in plans.\nIt does something that is not told, since there is a secret in it.\nA tool finished.")
	})
}

// Gemini CLI has no question of its own after a hook. What cannot be put to the user who is there
// is refused, or an agent could have any call pass by making it long; where there is no user it
// goes on.
func TestNotToldByGemini(t *testing.T) {
	const refused = `{"decision":"deny","reason":"The user cannot be asked about this: it is too long to be told, or holds a secret. So it was not allowed."}`
	for name, command := range map[string]string{"long": strings.Repeat("x ", 4001), "huge": strings.Repeat("x", 50<<20),
		"a secret": "rm -r . # ghp_0123456789abcdefABCDEF0123456789abcd"} {
		input := eventInput("BeforeTool", toolMembers("run_shell_command", `{"command":`+quoteText(command)+`}`))
		runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
			if out := f.callHook("gemini", input); out != refused {
				t.Errorf("%s: it prints %s", name, out)
			}
			f.callHook("gemini", eventInput("AfterTool", toolMembers("run_shell_command", `{"command":`+quoteText(command)+`}`)+
				`,"tool_response":{"error":{"message":"blocked"}}`))
			if said := f.allHeard(); strings.Count(said, "It is not allowed.") != 1 || strings.Contains(said, "blocked") ||
				strings.Contains(said, "Confirm") {
				t.Errorf("%s: heard\n%s", name, said)
			}
		})
		runBridge(t, hook.Config{}, nil, func(t *testing.T, f *fixture) {
			if out := f.callHook("gemini", input); out != "" {
				t.Errorf("%s: without a user it prints %s", name, out)
			}
		})
	}
	runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
		deep := eventInput("BeforeTool", toolMembers("run_shell_command", `{"command":"rm x","z":`+strings.Repeat("[", 20000)+
			strings.Repeat("]", 20000)+`}`))
		if out := f.callHook("gemini", deep); out != refused {
			t.Errorf("what cannot be read is answered with %s", out)
		}
		if out := f.callHook("gemini", eventInput("BeforeTool", toolMembers("ask_user", `{"questions":[{"question":"Which?"}]}`))); out != "" {
			t.Errorf("a question of the agent's own is answered with %s", out)
		}
	})
}

// Whatever an input is, nothing is printed where no person listens, and nothing breaks.
func FuzzHandle(f *testing.F) {
	for _, input := range []string{eventInput("PermissionRequest", toolMembers("Bash", remove)), eventInput("BeforeTool", toolMembers("replace",
		`{"file_path":"a","old_string":"b","new_string":"c"}`)),
		eventInput("AfterModel", `"llm_response":{"candidates":[{"content":{"parts":["a",1]},"finishReason":"x"}]}`),
		eventInput("Stop", `"last_assistant_message":"x"`),
		eventInput("PostToolUse", toolMembers("apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+b"}`)),
		eventInput("Elicitation", `"requested_schema":{}`), eventInput("SessionEnd", "")} {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input string) {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "hook"}, RefuseSecrets: true})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(context.Background())
		b := hook.New(p, hook.Config{})
		for _, agent := range []string{"claude", "codex", "gemini", "copilot", "crush"} {
			b.Handle(t.Context(), agent, []byte(input), func(out []byte) error {
				t.Errorf("%s prints %s", agent,
					out)
				return nil
			}, nil)
		}
	})
}

// Inputs that are not as they should be print nothing and end nothing.
func TestBadInput(t *testing.T) {
	runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
		whole := eventInput("PermissionRequest", toolMembers("Bash", remove))
		bad := []string{"", " ", "null", "[]", "1", `{}`, whole[:len(whole)/2], whole + "x", strings.Replace(whole, `"cwd"`,
			`"tool_name":"Read","cwd"`, 1),
			strings.Replace(whole, `"command"`, `"command":"ls","command"`, 1), "\x00\xff", strings.Repeat("[", 20000)}
		for _, input := range bad {
			err := f.bridge.Handle(t.Context(), "claude", []byte(input), func(out []byte) error {
				t.Errorf("%.100q prints %s",
					input, out)
				return nil
			}, nil)
			if err == nil {
				t.Errorf("%.100q is taken", input)
			}
		}
		if err := f.bridge.Handle(t.Context(), "other", []byte(whole), nil, nil); err != hook.ErrUnknownAgent {
			t.Errorf("an unknown agent is %v", err)
		}
		for _, input := range []string{eventInput("Surprise", `"more":{"a":[1]}`), eventInput("PostToolUse", toolMembers("Bash", remove)),
			eventInput("Stop", ""), eventInput("StopFailure", `"error":"rate_limit"`)} {
			if out := f.callHook("claude", input); out != "" {
				t.Errorf("%s prints %s", input, out)
			}
		}
		f.checkHeard("")
		if out := f.callHook("claude", strings.Replace(whole, `{"session`, `{"unknown":{"a":1},"session`,
			1)); !strings.Contains(out, "allow") {
			t.Errorf("with an unknown member it prints %q", out)
		}
	})
}

// A hook that is killed while it asks has its question withdrawn, and that is said; an answer that
// comes later counts for nothing.
func TestKilled(t *testing.T) {
	runBridge(t, hook.Config{}, func(f *fixture, ev *aaep.Event) {
		go func() {
			time.Sleep(30 * time.Second)
			f.sub.Question(ev).Accept(context.Background())
		}()
	}, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if out := f.callUntil(ctx, "claude", eventInput("PermissionRequest", toolMembers("Bash", remove))); out != "" {
			t.Errorf("it prints %s", out)
		}
		time.Sleep(time.Minute)
		said := f.allHeard()
		if !strings.Contains(said, "Claude Code does not wait for an answer here any more.") || strings.Contains(said,
			"Using") {
			t.Errorf("heard\n%s", said)
		}
	})
}

// An agent that asks so late that its call was told as running is asked about all the same, and
// what was told ends.
func TestLatePermission(t *testing.T) {
	for _, d := range []aaep.Decision{aaep.Accept, aaep.Reject} {
		runBridge(t, hook.Config{}, answersWith(d), func(t *testing.T, f *fixture) {
			f.callHook("claude", eventInput("PreToolUse", toolMembers("Bash", remove)+`,"tool_use_id":"t1"`))
			time.Sleep(2 * time.Second)
			f.callHook("claude", eventInput("PermissionRequest", toolMembers("Bash", remove)))
			if d == aaep.Accept {
				f.callHook("claude", eventInput("PostToolUse", toolMembers("Bash", remove)+`,"tool_use_id":"t1"`))
			}
			f.callHook("claude", eventInput("Stop", `"last_assistant_message":"So be it."`))
			if said := f.allHeard(); !strings.HasSuffix(said, "So be it.\nThe agent finished.") || strings.Count(said,
				"Confirm:") != 1 {
				t.Errorf("%s: heard\n%s", d, said)
			}
		})
	}
}

// A turn that the user interrupts is over when the agent waits for the next prompt.
func TestInterrupted(t *testing.T) {
	runBridge(t, hook.Config{}, neverAnswer, func(t *testing.T, f *fixture) {
		f.callHook("claude", eventInput("UserPromptSubmit", `"prompt":"One"`))
		f.callHook("claude", eventInput("Notification",
			`"message":"Claude is waiting for your input","notification_type":"idle_prompt"`))
		f.checkHeard("Claude Code in plans: One\nIt was stopped.\nClaude Code in plans.\nClaude is waiting for your input.")
	})
}

// Two agents that ask at once are each named, and each gets its own answer.
func TestTwoAgents(t *testing.T) {
	runBridge(t, hook.Config{}, func(f *fixture, ev *aaep.Event) {
		d := aaep.Reject
		if strings.Contains(ev.Payload.(*aaep.AwaitingConfirmation).Consequence, "Codex asks") {
			d = aaep.Accept
		}
		go func() { time.Sleep(2 * time.Second); replies.Send(context.Background(), f.sub.Question(ev), d, nil) }()
	}, func(t *testing.T, f *fixture) {
		f.callHook("claude", eventInput("UserPromptSubmit", `"prompt":"One"`))
		f.callHook("codex", eventInput("UserPromptSubmit", `"prompt":"Two"`))
		f.callHook("codex", eventInput("PreToolUse", toolMembers("WebFetch", `{"url":"https://a.example"}`)))
		out := make(chan string, 2)
		for _, agent := range []string{"claude", "codex"} {
			go func() {
				out <- agent + " " + f.callHook(agent, eventInput("PermissionRequest", toolMembers("Bash", remove)))
			}()
		}
		for range 2 {
			got := <-out
			if strings.HasPrefix(got, "claude") != strings.Contains(got, "deny") || strings.HasPrefix(got,
				"codex") != strings.Contains(got, "allow") {
				t.Error(got)
			}
		}
		if said := f.allHeard(); !strings.Contains(said, "Codex in plans: Fetch https://a.example.") || !strings.Contains(said,
			"Confirm: Claude Code in plans: Run") {
			t.Errorf("heard\n%s", said)
		}
	})
}

// An answer that comes in pieces is told once; and with QuietUntilDone no tool is.
func TestGeminiAnswer(t *testing.T) {
	piece := func(text, finish string) string {
		return eventInput("AfterModel",
			`"llm_request":{},"llm_response":{"candidates":[{"content":{"role":"model","parts":[`+quoteText(text)+`]}`+finish+`}]}`)
	}
	for _, quiet := range []bool{false, true} {
		runBridge(t, hook.Config{QuietUntilDone: quiet}, neverAnswer, func(t *testing.T, f *fixture) {
			for _, input := range []string{
				eventInput("BeforeAgent", `"prompt":"Hello"`), piece("I look. ", ""), piece("There it is.", `,"finishReason":"STOP"`),
				eventInput("BeforeTool", toolMembers("read_file", `{"absolute_path":"/srv/plans/a"}`)),
				eventInput("AfterTool", toolMembers("read_file",
					`{"absolute_path":"/srv/plans/a"}`)+`,"tool_response":{"llmContent":"x","error":{"message":"No such file"}}`),
				eventInput("AfterAgent", `"prompt":"Hello","prompt_response":"I look. There it is."`),
			} {
				if out := f.callHook("gemini", input); out != "" {
					t.Errorf("%s prints %s", input, out)
				}
			}
			want := "Gemini CLI in plans: Hello\nI look.\nThere it is.\nRead a.\nNo such file.\nRead a failed.\nThe agent " +
				"finished."
			f.checkHeard(want)
		})
	}
}

// A form of a server is filled in field by field, and one that is not answered is left to the
// agent.
func TestElicitation(t *testing.T) {
	form := eventInput("Elicitation",
		`"mcp_server_name":"bank","message":"Whose account?","mode":"form","requested_schema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	runBridge(t, hook.Config{}, func(f *fixture, ev *aaep.Event) {
		time.Sleep(2 * time.Second)
		f.sub.Question(ev).AnswerText(context.Background(), "Ann")
	}, func(t *testing.T, f *fixture) {
		if out := f.callHook("claude",
			form); out != `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"name":"Ann"}}}` {
			t.Errorf("it prints %s", out)
		}
	})
	for _, decide := range []func(*fixture, *aaep.Event){neverAnswer, nil} {
		runBridge(t, hook.Config{}, decide, func(t *testing.T, f *fixture) {
			if out := f.callHook("claude", form); out != "" {
				t.Errorf("it prints %s", out)
			}
		})
	}
}

// An accepted call that the agent did not get is not told as done; one that ran although it was not
// allowed is told.
func TestAfterwards(t *testing.T) {
	runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
		f.bridge.Handle(t.Context(), "claude", []byte(eventInput("PermissionRequest", toolMembers("Bash", remove))),
			func([]byte) error { return context.Canceled }, nil)
		synctest.Wait()
		if said := f.allHeard(); strings.Contains(said, "done.") {
			t.Errorf("heard\n%s", said)
		}
	})
	runBridge(t, hook.Config{}, answersWith(aaep.Reject), func(t *testing.T, f *fixture) {
		f.callHook("claude", eventInput("PermissionRequest", toolMembers("Bash", remove)))
		f.callHook("claude", eventInput("PostToolUse", toolMembers("Bash", remove)))
		if said := f.allHeard(); !strings.Contains(said,
			`Although that was not allowed, the agent reports that it was done: Run the command "rm report.txt".`) {
			t.Errorf("heard\n%s", said)
		}
	})
}

// An agent without a question of its own gets a no when what it asks about is withdrawn, whether
// the hook is ended or the conversation; before the question is put it gets what to take if nothing
// follows. Where no user can be asked it gets neither.
func TestUnanswered(t *testing.T) {
	const forbidden = `{"decision":"deny","reason":"Nobody answered, so this was not allowed."}`
	asks := eventInput("BeforeTool", toolMembers("run_shell_command", remove))
	for name, withdraw := range map[string]func(f *fixture, cancel func()){
		"the hook is ended": func(_ *fixture, cancel func()) { cancel() },
		"the agent is closed": func(f *fixture, _ func()) {
			f.bridge.Handle(t.Context(), "gemini", []byte(eventInput("SessionEnd", "")), nil, nil)
		},
	} {
		runBridge(t, hook.Config{}, neverAnswer, func(t *testing.T, f *fixture) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var printed, before string
			time.AfterFunc(time.Minute, func() { withdraw(f, cancel) })
			f.bridge.Handle(ctx, "gemini", []byte(asks), func(out []byte) error { printed = string(out); return nil },
				func(out []byte) error { before = string(out); return nil })
			if printed != forbidden || before != forbidden {
				t.Errorf("%s: it prints %q, and %q beforehand", name, printed, before)
			}
		})
	}
	runBridge(t, hook.Config{}, nil, func(t *testing.T, f *fixture) {
		print := func(out []byte) error { t.Errorf("without a subscriber it prints %s", out); return nil }
		f.bridge.Handle(t.Context(), "gemini", []byte(asks), print, print)
	})
}

// Of a question that gets no answer, an agent that asks again in its own window is not said to have
// done nothing, on record either; one that does not ask again is.
func TestSilenceWords(t *testing.T) {
	for _, c := range []struct{ agent, input, silence, settled, recorded string }{
		{"claude", eventInput("PermissionRequest", toolMembers("Bash", remove)), "No answer: the agent asks in its own window.",
			`Nobody answered here; the agent asks in its own window: Run the command "rm report.txt".`, "asks_elsewhere"},
		{"gemini", eventInput("BeforeTool", toolMembers("run_shell_command", remove)), "No answer: it will not be done.",
			`Nobody answered in time, so this was not done: Run the command "rm report.txt".`, "reject"},
	} {
		put := ""
		runBridge(t, hook.Config{}, func(_ *fixture, ev *aaep.Event) { put = announce.Text(ev, aaep.VerbosityNormal).String() },
			func(t *testing.T, f *fixture) {
				f.callHook(c.agent, c.input)
				if said := f.allHeard(); !strings.Contains(said, c.settled) {
					t.Errorf("%s: heard\n%s\nwant\n%s", c.agent, said, c.settled)
				}
				if !strings.Contains(put, c.silence) {
					t.Errorf("%s: asked is\n%s\nwant\n%s", c.agent, put, c.silence)
				}
				if asked := f.trail[slices.IndexFunc(f.trail, func(r audit.Record) bool { return r.Kind == audit.Asked })]; asked.Default != c.recorded {
					t.Errorf("%s: on record is %q", c.agent, asked.Default)
				}
			})
	}
	ctx, cancel := context.WithCancel(t.Context())
	runBridge(t, hook.Config{}, func(*fixture, *aaep.Event) { cancel() }, func(t *testing.T, f *fixture) {
		f.callUntil(ctx, "claude", eventInput("PermissionRequest", toolMembers("Bash", remove)))
		if said := f.allHeard(); !strings.Contains(said, `Not asked here any more: Run the command "rm report.txt".`) {
			t.Errorf("heard\n%s", said)
		}
	})
}

// camelEvent is an input of Copilot CLI for a hook whose event is written as preToolUse.
func camelEvent(more string) string {
	return `{"sessionId":"s1","timestamp":1700000000000,"cwd":"/srv/plans",` + more + `}`
}

// What Copilot CLI reports in its two forms is heard alike.
func TestCopilotForms(t *testing.T) {
	command := `{"command":"ls"}`
	var heard []string
	for _, inputs := range [][]string{
		{eventInput("SessionStart", `"source":"new"`), eventInput("UserPromptSubmit", `"prompt":"Look."`), eventInput("PreToolUse", toolMembers("bash", command)),
			eventInput("PostToolUse", toolMembers("bash", command)+`,"tool_response":{}`), eventInput("Stop", `"stop_reason":"end_turn"`), eventInput("SessionEnd", `"reason":"complete"`)},
		{camelEvent(`"source":"new"`), camelEvent(`"prompt":"Look."`), camelEvent(`"toolName":"bash","toolArgs":` + command),
			camelEvent(`"toolName":"bash","toolArgs":` + command + `,"toolResult":{"resultType":"success","textResultForLlm":"a"}`),
			camelEvent(`"transcriptPath":"t","stopReason":"end_turn"`), camelEvent(`"reason":"complete"`)},
	} {
		runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
			for _, in := range inputs {
				f.callHook("copilot", in)
			}
			heard = append(heard, f.allHeard())
		})
	}
	if heard[0] != heard[1] || !strings.Contains(heard[0], "Look.") || !strings.Contains(heard[0], `"ls"`) {
		t.Errorf("heard\n%s\nand\n%s", heard[0], heard[1])
	}
}

// A call whose end the agent does not report is told as one of which that is not known, and not as
// one that failed.
func TestEndNotReported(t *testing.T) {
	runBridge(t, hook.Config{}, answersWith(aaep.Accept), func(t *testing.T, f *fixture) {
		f.callHook("claude", eventInput("UserPromptSubmit", `"prompt":"Delete it"`))
		f.callHook("claude", eventInput("PreToolUse", toolMembers("Bash", remove)))
		f.callHook("claude", eventInput("PermissionRequest", toolMembers("Bash", remove)))
		f.callHook("claude", eventInput("Stop", ""))
		said := f.allHeard()
		if !strings.Contains(said, `The command "rm report.txt" may have been done: how it ended is not known.`) ||
			strings.Contains(said, "failed") {
			t.Errorf("heard\n%s", said)
		}
	})
}
