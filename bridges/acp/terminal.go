package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
)

// Commands that the agent has its client run, in Config.Folder. Each was accepted as it is, by a
// permission that showed that command or by a question of its own, and ends with the agent.

const (
	maxTerminals = 32      // of a conversation at once
	maxOutput    = 1 << 20 // bytes that are kept of what one prints
)

type createTerminalRequest struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	CWD   *string `json:"cwd"`
	Limit *int    `json:"outputByteLimit"`
}

type terminalResponse struct {
	TerminalID string `json:"terminalId"`
}

type outputResponse struct {
	Output    string      `json:"output"`
	Truncated bool        `json:"truncated"`
	Exit      *exitStatus `json:"exitStatus,omitzero"`
}

type exitStatus struct {
	Code   *int    `json:"exitCode"`
	Signal *string `json:"signal"`
}

// A terminal is a command that runs, or has run.
type terminal struct {
	cmd  *exec.Cmd
	most int
	over chan struct{} // closed when it has ended
	exit exitStatus    // then

	mu        sync.Mutex
	output    []byte
	truncated bool
}

// Write keeps the last bytes that the command prints, up to the limit that the agent set; what is
// kept begins with a whole character. It never fails.
func (m *terminal) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.output = append(m.output, p...)
	if excess := len(m.output) - m.most; excess > 0 {
		m.truncated = true
		for excess < len(m.output) && !utf8.RuneStart(m.output[excess]) {
			excess++
		}
		m.output = append([]byte(nil), m.output[excess:]...)
	}
	return len(p), nil
}

// readOutput returns what the command has printed so far, as UTF-8, and how it ended if it has. It
// takes m.mu.
func (m *terminal) readOutput() outputResponse {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := outputResponse{Output: strings.ToValidUTF8(string(m.output), "\uFFFD"), Truncated: m.truncated}
	select {
	case <-m.over:
		r.Exit = &m.exit
	default:
	}
	return r
}

// answerCreateTerminal answers terminal/create once the command was accepted and runs. It runs on a
// goroutine of its own. A command that cannot be read is refused unasked.
func (c *Conversation) answerCreateTerminal(r *request) {
	var ask createTerminalRequest
	if err := decodeParams(r.params, &ask); err != nil || ask.Command == "" {
		r.refuse(jsonrpc2.CodeInvalidParams, "the command cannot be read")
		return
	}
	c.runInTurn(r, "The agent wants to run a command.", nil, func(t *turn) {
		id, err := t.runCommand(r, ask)
		if err != nil {
			r.refuse(jsonrpc2.CodeInternalError, toolwords.Label(err.Error()))
			return
		}
		r.sendResult(terminalResponse{id})
	})
}

// runCommand starts a command and returns its id, after asking the user unless a permission that
// they accepted has shown exactly this command. A folder outside Config.Folder, settings that
// cannot be told, and a command too long to be told are errors, and are not asked about.
func (t *turn) runCommand(r *request, ask createTerminalRequest) (id string, err error) {
	cfg := t.c.agent.cfg
	folder := cfg.Folder
	if ask.CWD != nil && *ask.CWD != "" {
		if folder, err = cfg.resolvePath(*ask.CWD); err != nil {
			return "", err
		}
	}
	raw := ask.quotedCommand()
	command := toolwords.Exact(raw)
	begin := func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.halted { // and its commands are being ended
			return context.Canceled
		}
		id, err = t.c.startCommand(ask, folder)
		return err
	}
	isPlain := len(ask.Env) == 0 && folder == cfg.Folder && raw == command
	if isPlain && t.spendGrant(func(g grantedAction) bool { return g.command == raw }) {
		err = begin()
		return id, err
	}
	context, err := ask.describeSettings(folder)
	if err != nil {
		return "", err
	}
	if !fitsQuestion(command) || !fitsQuestion(context) {
		return "", fmt.Errorf("a command with its settings can have %d characters at most, so that the user can be "+
			"told all of it", toolwords.Most)
	}
	about := &call{title: command, kind: "execute",
		content: []toolContent{{Type: "content", Content: contentBlock{Type: "text", Text: context}}}}
	err = t.askThenDo(r, about, about.describeAction(), begin)
	return id, err
}

// fitsQuestion reports whether a question can hold the whole of a text.
func fitsQuestion(text string) bool {
	return len(text) <= maxToldBytes-100 && utf8.RuneCountInString(text) <= toolwords.Most
}

// quotedCommand returns the command as a user reads it. With arguments its words are quoted, so
// that neither two of them can pass for one, nor a word for what a shell would make of it; without,
// it is as the agent wrote it, for that may be a whole line for a shell.
func (ask createTerminalRequest) quotedCommand() string {
	if len(ask.Args) == 0 {
		return ask.Command
	}
	command := quoteWord(ask.Command)
	for _, arg := range ask.Args {
		command += " " + quoteWord(arg)
	}
	return command
}

// describeSettings returns the sentences that say in which folder the command is to run, and with
// which variables of the environment. A variable with a name that cannot be told is an error.
func (ask createTerminalRequest) describeSettings(folder string) (string, error) {
	sentences := []string{"In the folder " + words.Sentence(toolwords.Exact(folder))}
	for _, v := range ask.Env {
		if v.Name == "" || toolwords.Exact(v.Name) != v.Name || strings.ContainsAny(v.Name, "= ") {
			return "", errors.New("the name of a setting is none that can be told")
		}
		value := strconv.QuoteToASCII(v.Value)
		if toolwords.Exact(v.Value) == v.Value && !strings.ContainsAny(v.Value, "\"\\") {
			value = "\"" + v.Value + "\""
		}
		sentences = append(sentences, fmt.Sprintf("With %s set to %s.", v.Name, value))
	}
	return strings.Join(sentences, " "), nil
}

// quoteWord returns a word of a command so that the user reads where it ends: in single quotes
// where a shell would divide or obey it, else as it is.
func quoteWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'\\|&;<>$`*?[]{}()~#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// startCommand starts a command that was accepted, with folder resolved, and returns its id. It
// checks once more that the folder is the same. At most maxTerminals run at once. The command ends
// with the agent.
func (c *Conversation) startCommand(ask createTerminalRequest, folder string) (id string, err error) {
	m := &terminal{cmd: exec.Command(ask.Command, ask.Args...), most: maxOutput, over: make(chan struct{})}
	if strings.ContainsAny(ask.Command, " |&;<>$`\"'") && len(ask.Args) == 0 { // agents give whole command lines too
		m.cmd = exec.Command("sh", "-c", ask.Command)
	}
	if ask.Limit != nil {
		m.most = min(max(*ask.Limit, 0), maxOutput)
	}
	if folder != c.agent.cfg.Folder {
		if now, err := c.agent.cfg.resolvePath(folder); err != nil || now != folder {
			return "", fmt.Errorf("%s is another folder than it was", folder)
		}
	}
	setProcessGroup(m.cmd)
	m.cmd.Dir, m.cmd.Stdout, m.cmd.Stderr, m.cmd.Env = folder, m, m, os.Environ()
	m.cmd.WaitDelay = endTimeout
	for _, v := range ask.Env {
		m.cmd.Env = append(m.cmd.Env, v.Name+"="+v.Value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.terminals) >= maxTerminals {
		return "", errors.New("too many commands run at once")
	}
	if err := m.cmd.Start(); err != nil {
		return "", err
	}
	c.lastTerminal++
	id = fmt.Sprintf("terminal-%d", c.lastTerminal)
	if c.terminals == nil {
		c.terminals = map[string]*terminal{}
	}
	c.terminals[id] = m
	go m.awaitExit()
	go func() {
		select {
		case <-c.agent.done:
			m.killProcess()
		case <-m.over:
		}
	}()
	return id, nil
}

// awaitExit waits until the command has ended, and keeps how: by a signal, or with an exit code. It
// is a goroutine of its own, and closes m.over.
func (m *terminal) awaitExit() {
	err := m.cmd.Wait()
	var exit *exec.ExitError
	if wasSignalled := errors.As(err, &exit) && exit.ExitCode() < 0; wasSignalled {
		m.exit.Signal = new(exit.String())
	} else {
		m.exit.Code = new(m.cmd.ProcessState.ExitCode())
	}
	close(m.over)
}

// killProcess ends a command that still runs, with all that it has started.
func (m *terminal) killProcess() {
	select {
	case <-m.over:
	default:
		killGroup(m.cmd.Process)
	}
}

// killCommands ends the commands that were run for the agent, and what they started. It takes c.mu.
func (c *Conversation) killCommands() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.terminals {
		m.killProcess()
	}
}

// answerTerminal answers what the agent wants of a command that it has had run: its output, its
// end, to kill it. It runs on a goroutine of its own. An id that there is not is refused.
func (c *Conversation) answerTerminal(r *request) {
	var ask terminalResponse
	err := decodeParams(r.params, &ask)
	c.mu.Lock()
	m := c.terminals[ask.TerminalID]
	if m != nil && r.method == "terminal/release" {
		delete(c.terminals, ask.TerminalID)
	}
	c.mu.Unlock()
	if err != nil || m == nil {
		r.refuse(jsonrpc2.CodeInvalidParams, "there is no such terminal")
		return
	}
	switch r.method {
	case "terminal/output":
		r.sendResult(m.readOutput())
	case "terminal/wait_for_exit":
		select {
		case <-m.over:
			r.sendResult(m.exit)
		case <-r.ctx.Done():
		}
	default: // kill, and release, which kills too
		m.killProcess()
		r.sendResult(struct{}{})
	}
}
