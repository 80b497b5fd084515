package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
)

// ErrAuthRequired is returned by NewConversation and Prompt where the agent wants its user to sign
// in first, which is done with the agent's own program. The error's text says by which ways.
var ErrAuthRequired = errors.New("acp: the agent wants you to sign in first")

// Config says how to be the client of an agent.
type Config struct {
	// Folder is where the agent works, an absolute path.
	Folder string
	// AnswerTime is how long a question of the agent is open. Zero is five minutes.
	AnswerTime time.Duration
	// BeforeAsking, if set, is waited for before a question of the agent is put, so that its user
	// can hear what was said before: a question overtakes what still waits to be told. Its context
	// ends when the question is withdrawn.
	BeforeAsking func(context.Context)
	// Version2 speaks the draft of version 2 of the protocol with an agent that does. Any other is
	// spoken to in version 1.
	Version2 bool
	// Thoughts also tells what the model thinks before it answers.
	Thoughts bool
	// Logger receives what the agent writes to standard error, and what of its messages cannot be
	// read. Nil discards it.
	Logger *slog.Logger
}

const (
	helloTimeout = time.Minute     // for an agent to load and answer the first request
	endTimeout   = 3 * time.Second // for a process to end by itself once its input has ended
)

// An Agent is one that speaks ACP, and whose client this is. All its methods may be called at once.
type Agent struct {
	cfg        Config
	peer       *peer
	hello      initializeResponse
	close      func() error
	stderrTail *lastLines    // of standard error; nil where there is none
	exited     chan struct{} // closed when the process has ended and all it wrote was read; nil where there is none
	done       chan struct{}
	err        error // why the link ended, once done is closed
	// besideEditor says that an editor is the client, and that this only stands between; see Tee.
	besideEditor bool
	questions    questionQueue // that the agent asks, in the order in which its requests came

	mu            sync.Mutex
	conversations map[string]*Conversation
	early         map[string][]jsontext.Value // updates of sessions that are not answered for yet
	reported      map[string]bool             // problems that were reported once
}

// Start runs an agent and agrees with it, for at most helloTimeout, on what both can do. The
// process ends with Close, which must be called. After an error nothing is left running. ctx bounds
// the agreeing alone.
func Start(ctx context.Context, cmd *exec.Cmd, cfg Config) (*Agent, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	last := &lastLines{log: cfg.Logger}
	cmd.Stdout, cmd.Stderr = write, last
	if cmd.Dir == "" {
		cmd.Dir = cfg.Folder
	}
	cmd.WaitDelay = endTimeout
	err = cmd.Start()
	write.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	exited := make(chan struct{})
	var ending error
	a := newAgent(out, in, cfg, func() error {
		in.Close()
		killTimer := time.AfterFunc(endTimeout, func() { cmd.Process.Kill() })
		defer killTimer.Stop()
		<-exited
		return ending
	})
	a.stderrTail, a.exited = last, exited
	go func() {
		ending = cmd.Wait()
		close(exited)
		select {
		case <-a.done:
		case <-time.After(time.Second): // what it left behind may hold its output
		}
		out.Close()
	}()
	return a.initialize(ctx)
}

// Connect is Start for an agent that runs already, and whose link is closed with Close.
func Connect(ctx context.Context, link io.ReadWriteCloser, cfg Config) (*Agent, error) {
	return newAgent(link, link, cfg, link.Close).initialize(ctx)
}

// newAgent begins to read from in. end ends the link, and the process where there is one; it is
// called at most once.
func newAgent(in io.Reader, out io.Writer, cfg Config, end func() error) *Agent {
	cfg.Logger = shield.Logger(cfg.Logger)
	if cfg.AnswerTime == 0 {
		cfg.AnswerTime = answerTime
	}
	a := &Agent{cfg: cfg, done: make(chan struct{}), conversations: map[string]*Conversation{},
		early: map[string][]jsontext.Value{}, reported: map[string]bool{}}
	a.close = sync.OnceValue(end)
	a.peer = newPeer(in, out, a.dispatchRequest, a.logOnce, a.reportLost, func() {
		a.cfg.Logger.Warn("acp: the agent reads nothing, and its link is ended", "after", writeTimeout)
		a.close()
	})
	go func() {
		a.err = a.peer.readUntilEnd()
		close(a.done)
	}()
	return a
}

// initialize agrees on the version of the protocol and on what both sides can do. If that fails the
// agent is closed, and the error says what it printed last.
func (a *Agent) initialize(ctx context.Context) (*Agent, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	ask := initializeRequest{ProtocolVersion: protocolVersion,
		Info: implementation{Name: "aaep", Title: "AAEP", Version: aaep.Version}}
	ask.Capabilities.FS.Read, ask.Capabilities.FS.Write, ask.Capabilities.Terminal = true, true, true
	if a.cfg.Version2 {
		ask.ProtocolVersion, ask.Capabilities2, ask.Info2 = protocolVersion2, &clientCapabilities2{}, &ask.Info
	}
	err := a.peer.callMethod(ctx, "initialize", ask, &a.hello)
	if a.cfg.Version2 = a.cfg.Version2 && a.hello.ProtocolVersion == protocolVersion2; a.cfg.Version2 {
		a.hello.useVersion2()
	}
	switch {
	case err == nil && a.hello.ProtocolVersion != protocolVersion && !a.cfg.Version2:
		err = fmt.Errorf("acp: the agent speaks version %d of the protocol, and only %d is known here",
			a.hello.ProtocolVersion, protocolVersion)
	case errors.Is(err, errEnded):
		err = fmt.Errorf("acp: the agent ended before it said that it speaks ACP%s", a.awaitLastLine())
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("acp: the program does not answer as an agent that speaks ACP does%s", a.stderrTail.lastLine())
	case err != nil:
		err = a.explainError(err)
	}
	if err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close ends the link, the agent where Start ran it, and the commands that were run for it. The
// error says how a process ended that failed.
func (a *Agent) Close() error {
	err := a.close()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conversations {
		c.killCommands()
	}
	return err
}

// Done returns a channel that is closed when the agent has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// Name is what the agent calls itself, in one line that is safe to show, or "".
func (a *Agent) Name() string { return toolwords.Label(cmp.Or(a.hello.Info.Title, a.hello.Info.Name)) }

// Version is what the agent says of its version, as Name.
func (a *Agent) Version() string { return toolwords.Label(a.hello.Info.Version) }

// NewConversation begins a conversation in Config.Folder, whose turns are sessions of p. The error
// is the agent's, in plain words.
func (a *Agent) NewConversation(ctx context.Context, p *producer.Producer) (*Conversation, error) {
	var created newSessionResponse
	if err := a.peer.callMethod(ctx, "session/new", newSessionRequest{CWD: a.cfg.Folder, MCPServers: []struct{}{}},
		&created); err != nil {
		return nil, a.explainError(err)
	}
	c := a.addConversation(p, created.SessionID)
	c.keepOffers(created)
	return c, nil
}

// Past is a conversation that an agent has kept.
type Past struct {
	ID    string
	Title string // safe to show, and perhaps empty
}

// ErrNotOffered is returned where an agent does not do what only some do.
var ErrNotOffered = errors.New("acp: the agent does not offer that")

// maxPast is how many conversations Past returns.
const maxPast = 100

// Past returns the conversations in Config.Folder that the agent has kept, the newest first as it
// gives them, 100 at most. ErrNotOffered says that the agent keeps none.
func (a *Agent) Past(ctx context.Context) (all []Past, err error) {
	if a.hello.Capabilities.Session.List == nil {
		return nil, ErrNotOffered
	}
	for ask := (listSessionsRequest{CWD: a.cfg.Folder}); ; {
		var page listSessionsResponse
		if err := a.peer.callMethod(ctx, "session/list", ask, &page); err != nil {
			return nil, a.explainError(err)
		}
		for _, s := range page.Sessions {
			if all = append(all, Past{s.ID, toolwords.Label(s.Title)}); len(all) == maxPast {
				return all, nil
			}
		}
		if page.Next == "" || len(page.Sessions) == 0 {
			return all, nil
		}
		ask.Cursor = page.Next
	}
}

// Resume goes on with a conversation that the agent has kept. Its earlier messages are not
// announced again. ErrNotOffered says that the agent cannot resume. A conversation that is open
// already is returned as it is.
func (a *Agent) Resume(ctx context.Context, p *producer.Producer, id string) (*Conversation, error) {
	method := "session/load" // which sends all of it anew
	switch {
	case a.hello.Capabilities.Session.Resume != nil:
		method = "session/resume"
	case !a.hello.Capabilities.LoadSession:
		return nil, ErrNotOffered
	}
	a.mu.Lock()
	c := a.conversations[id]
	a.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c = a.addConversation(p, id)
	var resumed newSessionResponse
	if err := a.peer.callMethod(ctx, method, newSessionRequest{CWD: a.cfg.Folder, MCPServers: []struct{}{}, SessionID: id},
		&resumed); err != nil {
		a.mu.Lock()
		delete(a.conversations, id)
		a.mu.Unlock()
		return nil, a.explainError(err)
	}
	c.keepOffers(resumed)
	return c, nil
}

// addConversation makes the conversation with an id, whose turns are sessions of p, and applies the
// updates of it that came before the agent had answered with that id. It takes a.mu.
func (a *Agent) addConversation(p *producer.Producer, id string) *Conversation {
	c := &Conversation{agent: a, p: p, id: id}
	a.mu.Lock()
	a.conversations[id] = c
	early := a.early[id]
	delete(a.early, id)
	a.mu.Unlock()
	for _, update := range early {
		c.applyUpdate(update)
	}
	return c
}

// dispatchRequest hands a request or notification of the agent to its conversation. The peer calls
// it in the order of the lines, on the goroutine that reads: updates are applied here, and each
// request is answered on a goroutine of its own.
func (a *Agent) dispatchRequest(r *request) {
	var params struct {
		SessionID string `json:"sessionId"`
	}
	if r.method == "$/cancel_request" {
		var c cancelRequest
		if decodeParams(r.params, &c) == nil {
			a.peer.cancelRequest(c.RequestID)
		}
		return
	}
	if err := decodeParams(r.params, &params); err != nil && !r.isNotification() {
		r.refuse(jsonrpc2.CodeInvalidParams, "the parameters cannot be read")
		return
	}
	a.mu.Lock()
	c := a.conversations[params.SessionID]
	a.mu.Unlock()
	switch {
	case r.method == "session/update" && c == nil:
		a.keepEarlyUpdate(params.SessionID, r.params)
	case r.method == "session/update":
		c.applyUpdate(r.params)
	case r.isNotification():
		if r.method != "elicitation/complete" { // that the user has been at an address
			a.logOnce("a notification that is not known: " + toolwords.Label(r.method))
		}
	case c == nil:
		r.refuse(jsonrpc2.CodeInvalidParams, "there is no such session")
	case r.method == "session/request_permission":
		a.answerInOrder(r, c.answerPermission)
	case r.method == "elicitation/create":
		a.answerInOrder(r, c.answerElicitation)
	case r.method == "fs/read_text_file":
		go c.answerReadFile(r)
	case r.method == "fs/write_text_file":
		a.answerInOrder(r, c.answerWriteFile)
	case r.method == "terminal/create":
		a.answerInOrder(r, c.answerCreateTerminal)
	case strings.HasPrefix(r.method, "terminal/"):
		go c.answerTerminal(r)
	default:
		r.refuse(jsonrpc2.CodeMethodNotFound, "this client does not do that")
	}
}

// answerInOrder calls answer on a goroutine of its own, for a request that may have to ask the
// user. It is called in the order of the requests, which is that of their questions.
func (a *Agent) answerInOrder(r *request, answer func(*request)) {
	r.place = a.questions.join()
	go func() {
		defer a.questions.leave(r.place)
		answer(r)
	}()
}

// A questionQueue puts the questions of an agent one after the other, in the order in which they
// joined. Each place in it is closed once it is the first.
type questionQueue struct {
	mu     sync.Mutex
	places []chan struct{}
}

// join adds a place at the end of the queue of questions, and returns a channel that is closed when
// that place is the first: at once where the queue is empty. leave gives the place back.
func (q *questionQueue) join() chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	place := make(chan struct{})
	if q.places = append(q.places, place); len(q.places) == 1 {
		close(place)
	}
	return place
}

// leave removes a place, wherever in the queue it stands; if it was the first, the next one's turn
// begins.
func (q *questionQueue) leave(place chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.places, place)
	if q.places = slices.Delete(q.places, i, i+1); i == 0 && len(q.places) > 0 {
		close(q.places[0])
	}
}

// maxEarly is how many updates of a session are kept until the answer that names it is here: agents
// send what they offer first.
const maxEarly = 16

// keepEarlyUpdate keeps an update of a session that no conversation stands for yet.
func (a *Agent) keepEarlyUpdate(session string, update jsontext.Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.early) < maxEarly && len(a.early[session]) < maxEarly {
		a.early[session] = append(a.early[session], update)
	}
}

// logOnce logs a problem of the link the first time it comes up.
func (a *Agent) logOnce(problem string) {
	if a.noteFirst(problem) {
		a.cfg.Logger.Warn("acp: the agent sent " + problem)
	}
}

// reportLost announces, once in each busy conversation, that a message of the agent could not be
// read, since the agent may wait for an answer to it. In others it is only logged.
func (a *Agent) reportLost(problem string) {
	a.logOnce(problem)
	a.mu.Lock()
	var busy []*Conversation
	for _, c := range a.conversations {
		if c.Busy() && !a.reported[c.id+" "+problem] && len(a.reported) < maxProblems {
			a.reported[c.id+" "+problem] = true
			busy = append(busy, c)
		}
	}
	a.mu.Unlock()
	for _, c := range busy {
		c.reportNews("The agent sent " + problem +
			". What it says there is lost, and what it asks there is not allowed.")
	}
}

// maxProblems is how many problems and kinds of updates are told apart.
const maxProblems = 100

// noteFirst reports whether a problem, or a kind of update, comes up for the first time. After
// maxProblems of them it reports false.
func (a *Agent) noteFirst(problem string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reported[problem] || len(a.reported) >= maxProblems {
		return false
	}
	a.reported[problem] = true
	return true
}

// waitBeforeAsking calls Config.BeforeAsking, if there is one, before a question is put.
func (a *Agent) waitBeforeAsking(ctx context.Context) {
	if a.cfg.BeforeAsking != nil {
		a.cfg.BeforeAsking(ctx)
	}
}

// explainError turns an error of a call into one whose text a person understands: errEnded with the
// last line that the agent printed, ErrAuthRequired with the ways to sign in, or what the agent
// reports. Other errors come back as they are.
func (a *Agent) explainError(err error) error {
	var e *jsonrpc2.Error
	switch {
	case errors.Is(err, errEnded):
		<-a.done // so that who gets the error finds Done closed
		return fmt.Errorf("%w%s", errEnded, a.awaitLastLine())
	case !errors.As(err, &e):
		return err
	case e.Code == codeAuthRequired:
		var ways []string
		for _, m := range a.hello.AuthMethods {
			ways = append(ways, toolwords.Label(cmp.Or(m.Name, m.ID)))
		}
		return fmt.Errorf("%w, with its own program. It offers: %s", ErrAuthRequired, strings.Join(ways, ", "))
	}
	return fmt.Errorf("acp: the agent reports: %s", toolwords.Label(e.Message))
}

// awaitLastLine waits until the process has ended, for a second at most, and returns what it
// printed last on standard error, to be put behind an error; "" for nothing.
func (a *Agent) awaitLastLine() string {
	if a.exited != nil {
		select {
		case <-a.exited:
		case <-time.After(time.Second): // what it left behind may hold its standard error
		}
	}
	return a.stderrTail.lastLine()
}

// lastLines keeps the end of what a program writes to standard error.
type lastLines struct {
	log  *slog.Logger // or nil
	mu   sync.Mutex
	text []byte
}

// maxLastBytes is how much of the end of standard error is kept.
const maxLastBytes = 4 << 10

// Write keeps the last maxLastBytes that the agent printed on its standard error, and logs p as it
// came. It never fails. os/exec calls it.
func (l *lastLines) Write(p []byte) (int, error) {
	if l.log != nil {
		l.log.Debug("acp: the agent printed", "text", string(p))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[max(len(p)-maxLastBytes, 0):]...)
	l.text = l.text[max(len(l.text)-maxLastBytes, 0):]
	return len(p), nil
}

// lastLine returns the last line that the agent printed, as a sentence to put behind an error; ""
// where nothing was printed, and for a nil lastLines.
func (l *lastLines) lastLine() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(l.text)), "\n")
	if last := toolwords.Label(lines[len(lines)-1]); last != "" {
		return ". The last it printed: " + last
	}
	return ""
}
