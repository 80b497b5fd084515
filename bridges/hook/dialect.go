package hook

import (
	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/internal/form"
	"github.com/aaep-go/aaep/internal/toolwords"
)

// What an event of an agent means. Events that are in no table mean nothing here.
type meaning int

const (
	nothing     meaning = iota
	began               // a conversation
	prompted            // the user has sent a prompt
	calling             // a tool is about to run, if it is allowed to
	permission          // a tool needs to be allowed
	called              // a tool has run
	failed              // a tool has failed
	chunk               // a piece of the answer
	answered            // the answer is whole, and the turn over
	broken              // the turn is over without an answer
	notice              // the agent has something to say to the user, such as that it waits
	helperBegan         // a subagent
	helperEnded         //
	elicitation         // a server of tools wants a form filled in
	over                // the conversation
)

// A dialect is how the hooks of one agent are called, and what they take for an answer.
type dialect struct {
	name   string // of the agent, as people know it
	events map[string]meaning
	tools  map[string]string // the kinds of the agent's own tools
	// asksAtCall says that there is no event for permissions: a call that can do harm is asked
	// about before it runs.
	asksAtCall bool
	// isFinal says that the agent asks no question of its own after the hook.
	isFinal bool
	camel   bool // the agent also has inputs of another form; see camelInput
	// allow and deny make outputs. Without allow the agent takes none, and an accepted call is left
	// to its own rules.
	allow func() any
	deny  func(reason string) any
}

var claudeEvents = map[string]meaning{
	"SessionStart": began, "UserPromptSubmit": prompted, "PreToolUse": calling, "PermissionRequest": permission,
	"PostToolUse":        called,
	"PostToolUseFailure": failed, "Stop": answered, "StopFailure": broken, "Notification": notice,
	"SubagentStart": helperBegan,
	"SubagentStop":  helperEnded, "Elicitation": elicitation, "SessionEnd": over,
}

// dialects are those of the agents, by the names that the command has for them.
var dialects = map[string]*dialect{
	"claude": {name: "Claude Code", events: claudeEvents, tools: claudeTools, allow: allowOutput, deny: denyOutput},
	"codex":  {name: "Codex", events: claudeEvents, tools: claudeTools, allow: allowOutput, deny: denyOutput},
	"gemini": {name: "Gemini CLI", events: map[string]meaning{
		"SessionStart": began, "BeforeAgent": prompted, "BeforeTool": calling, "AfterTool": called, "AfterModel": chunk,
		"AfterAgent":   answered,
		"Notification": notice, "SessionEnd": over,
	}, tools: geminiTools, asksAtCall: true, isFinal: true, deny: plainDenial},
	"copilot": {name: "Copilot CLI", events: map[string]meaning{
		"SessionStart": began, "UserPromptSubmit": prompted, "PreToolUse": calling, "PostToolUse": called,
		"PostToolUseFailure": failed,
		"Stop":               answered, "Notification": notice, "SubagentStop": helperEnded, "SessionEnd": over,
	}, tools: copilotTools, asksAtCall: true, camel: true, deny: func(reason string) any {
		return struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		}{"deny", reason}
	}},
	"crush": {name: "Crush", events: map[string]meaning{"PreToolUse": calling}, tools: crushTools, asksAtCall: true,
		allow: plainAllowance, deny: plainDenial},
}

// What an agent is told of why it may not do something.
const (
	declined   = "The user declined this action."
	unanswered = "Nobody answered, so this was not allowed."
	unsettled  = "The answer could not be put on record, so this was not allowed."
	untold     = "The user cannot be asked about this: it is too long to be told, or holds a secret. So it was not " +
		"allowed."
)

// specific is the form of output that Claude Code and Codex take.
type specific struct {
	Output any `json:"hookSpecificOutput"`
}

// permissionDecision returns the output that decides a permission of Claude Code and Codex:
// behavior is allow or deny, and message, which may be empty, is for the model.
func permissionDecision(behavior, message string) any {
	type decided struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message,omitzero"`
	}
	return specific{struct {
		Event    string  `json:"hookEventName"`
		Decision decided `json:"decision"`
	}{"PermissionRequest", decided{behavior, message}}}
}

// allowOutput is the output that allows a call of Claude Code, and of those that speak as it does.
func allowOutput() any { return permissionDecision("allow", "") }

// denyOutput is the output that refuses one.
func denyOutput(reason string) any { return permissionDecision("deny", reason) }

// plainDecision is the output that decides a call of Gemini CLI and of Crush.
type plainDecision struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason,omitzero"`
}

// plainAllowance is the plainDecision that allows a call.
func plainAllowance() any { return plainDecision{Decision: "allow"} }

// plainDenial is the plainDecision that refuses one.
func plainDenial(reason string) any { return plainDecision{"deny", reason} }

// formOutput returns the output that answers an elicitation of Claude Code.
func formOutput(answer form.Answer) any {
	return specific{struct {
		Event string `json:"hookEventName"`
		form.Answer
	}{"Elicitation", answer}}
}

// encodeOutput returns a hook's output as the agent reads it; nil for one that cannot be encoded,
// which is then no output.
func encodeOutput(output any) []byte {
	data, err := jsonv2.Marshal(output)
	if err != nil {
		return nil
	}
	return data
}

// The kinds of the agents' own tools. A tool that is in no table can do anything.
var (
	claudeTools = map[string]string{
		"Bash": toolwords.Execute, "PowerShell": toolwords.Execute, "apply_patch": toolwords.Edit,
		"Edit": toolwords.Edit, "MultiEdit": toolwords.Edit,
		"Write": toolwords.Edit, "NotebookEdit": toolwords.Edit, "Read": toolwords.Read, "Glob": toolwords.Search,
		"Grep": toolwords.Search,
		"LS":   toolwords.Search, "WebFetch": toolwords.Fetch, "WebSearch": toolwords.Fetch,
		"NetworkAccess": toolwords.Fetch, "Task": toolwords.Other,
		"Agent": toolwords.Other, "Skill": toolwords.Other, "TodoWrite": toolwords.Think, "TaskCreate": toolwords.Think,
		"TaskUpdate": toolwords.Think,
		"TaskList":   toolwords.Think, "TaskGet": toolwords.Think, "ToolSearch": toolwords.Think,
		"update_plan":     toolwords.Think,
		"AskUserQuestion": toolwords.Other, "ExitPlanMode": toolwords.Other, "request_user_input": toolwords.Other,
	}
	geminiTools = map[string]string{
		"run_shell_command": toolwords.Execute, "write_file": toolwords.Edit, "replace": toolwords.Edit,
		"read_file":       toolwords.Read,
		"read_many_files": toolwords.Read, "list_directory": toolwords.Search, "glob": toolwords.Search,
		"search_file_content": toolwords.Search,
		"grep_search":         toolwords.Search, "web_fetch": toolwords.Fetch, "google_web_search": toolwords.Fetch,
		"write_todos": toolwords.Think,
		"ask_user":    toolwords.Other, "activate_skill": toolwords.Other,
	}
	copilotTools = map[string]string{
		"bash": toolwords.Execute, "powershell": toolwords.Execute, "create": toolwords.Edit, "edit": toolwords.Edit,
		"view": toolwords.Read,
		"glob": toolwords.Search, "grep": toolwords.Search, "web_fetch": toolwords.Fetch, "task": toolwords.Other,
		"ask_user":      toolwords.Other,
		"report_intent": toolwords.Think,
	}
	crushTools = map[string]string{
		"bash": toolwords.Execute, "edit": toolwords.Edit, "multiedit": toolwords.Edit, "write": toolwords.Edit,
		"download": toolwords.Edit,
		"view":     toolwords.Read, "ls": toolwords.Search, "glob": toolwords.Search, "grep": toolwords.Search,
		"sourcegraph": toolwords.Fetch,
		"fetch":       toolwords.Fetch, "agentic_fetch": toolwords.Fetch, "agent": toolwords.Other,
		"todos": toolwords.Think,
	}
)

// onlyThere are tools by which the agent asks its user something that only its own window can
// answer.
var onlyThere = map[string]bool{"AskUserQuestion": true, "ExitPlanMode": true, "request_user_input": true,
	"ask_user": true}
