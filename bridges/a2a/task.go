package a2a

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	maxTasks     = 4096             // that are followed at once
	giveUp       = 10 * time.Minute // without any answer of the agent
	pollTime     = 5 * time.Second  // between two looks at a task that has no stream, as one that waits for an answer
	silentTime   = time.Minute      // of a stream until the agent is asked whether there is news
	streamLag    = time.Second      // for a stream to bring what a push notification says there is
	pushInterval = 100 * time.Millisecond
)

// ErrTooMany is returned by Send and Follow while 4096 tasks are followed.
var ErrTooMany = errors.New("a2a: too many tasks are followed at once")

// A Task is one of an agent, and a session of AAEP from when it is followed to its end. All its
// methods may be called at once.
type Task struct {
	agent *Agent
	taskAnnouncer
	done  chan struct{}
	err   error // once done is closed
	named chan struct{}
	id    string // once named is closed
	push  *pushConfig
	news  chan struct{} // holds one when a push notification came

	// The rest belongs to the goroutine of followTask.
	text       string // of the message that begins the task
	switched   bool   // to 0.3, since the agent does not know the methods of 1.0 that its card names
	streamed   bool   // the latest message asked for a stream
	stream     *stream
	reattached bool        // the stream is not the first of the task
	loose      bool        // what the stream brings is no more than a hint that there is news
	fresh      bool        // nothing came on the stream yet
	refused    bool        // the agent did not take a stream up again that was cut
	streamless bool        // it has no method for that, and is asked for the task instead
	polled     bool        // it was told that the task is asked for
	opened     time.Time   // the stream
	asking     chan answer // of the open question; nil where there is none
	withdraw   context.CancelFunc
	unsent     *sendParams // an answer that the agent is not known to have
	lastNews   time.Time
	retry      time.Duration
	wake       *time.Timer
}

// answer is what came of a question.
type answer struct {
	text string // to send; empty is none
	err  error
}

// Send sends a message to the agent and follows the task that it makes of it as a session of p.
// When ctx ends the task is no longer followed, and goes on at the agent; Cancel ends it there.
func (a *Agent) Send(ctx context.Context, p *producer.Producer, text string) (*Task, error) {
	t, err := a.beginTask(ctx, p, aaep.Say(cmp.Or(toolwords.Label(text), "A message without words.")))
	if err != nil {
		return nil, err
	}
	t.text = text
	go t.runTask(ctx, t.sendFirst)
	return t, nil
}

// Follow follows a task that the agent has already, as a session of p. What the task brought before
// is announced first.
func (a *Agent) Follow(ctx context.Context, p *producer.Producer, id string) (*Task, error) {
	t, err := a.beginTask(ctx, p, bridge.Ours("Following the task "+toolwords.Label(id)+"."))
	if err != nil {
		return nil, err
	}
	a.memory.restoreTask(id, &t.taskAnnouncer)
	t.setID(id)
	go t.runTask(ctx, func(ctx context.Context) {
		if t.push != nil {
			a.registerPush(ctx, t)
		}
		t.wake.Reset(0)
	})
	return t, nil
}

// makeMessage returns the parameters of SendMessage for a text of the user, in the version that the
// agent speaks. push is nil for none.
func (a *Agent) makeMessage(text string, push *pushConfig) (p sendParams) {
	p.Message = message{MessageID: rand.Text(), Role: "ROLE_USER", Parts: []part{{Text: &text}}}
	p.Configuration.AcceptedOutputModes = []string{"text/plain", "text/markdown", "application/json"}
	if !a.legacy.Load() {
		p.Configuration.Push, p.Configuration.Return = push, !a.streams.Load()
		return p
	}
	p.Message.Kind, p.Message.Role, p.Message.Parts[0].Kind = "message", "user", "text"
	p.Configuration.LegacyPush, p.Configuration.Blocking = push, new(a.streams.Load())
	return p
}

// registerPush asks for push notifications of a task that is there already. Without them it is
// still followed.
func (a *Agent) registerPush(ctx context.Context, t *Task) {
	var params any = pushParams{t.id, *t.push}
	if a.legacy.Load() {
		params = struct {
			TaskID string      `json:"taskId"`
			Config *pushConfig `json:"pushNotificationConfig"`
		}{t.id, t.push}
	}
	if _, err := a.callMethod(ctx, "CreateTaskPushNotificationConfig", params); err != nil {
		a.cfg.Logger.Warn("a2a: there are no push notifications of a task", "error", err)
	}
}

// beginTask makes a Task and its session, and registers its token for push notifications.
// ErrTooMany says that maxTasks are followed.
func (a *Agent) beginTask(ctx context.Context, p *producer.Producer, summary aaep.Text) (*Task, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tasks >= maxTasks {
		return nil, ErrTooMany
	}
	s, err := p.StartSession(context.WithoutCancel(ctx), summary)
	if err != nil {
		return nil, err
	}
	a.tasks++
	t := &Task{agent: a, taskAnnouncer: newTaskAnnouncer(s, a.spokenName()), done: make(chan struct{}), named: make(chan struct{}),
		news: make(chan struct{}, 1), retry: bridge.FirstRetry}
	if a.memory != nil {
		t.remember = t.recordLine
	}
	if a.cfg.PushURL != "" && a.card.Capabilities.Push {
		t.push = &pushConfig{URL: a.cfg.PushURL, Token: rand.Text()}
		a.pushes[sha256.Sum256([]byte(t.push.Token))] = t
	}
	return t, nil
}

// ID returns the agent's id of the task; empty until the agent has given it one.
func (t *Task) ID() string {
	select {
	case <-t.named:
		return t.id
	default:
		return ""
	}
}

// Wait waits for the end of the task, or of following it. The error says why it did not reach its
// aim; it was told in the session, too.
func (t *Task) Wait() error {
	<-t.done
	return t.err
}

// Cancel asks the agent to end the task, once the agent has given it an id. That it did comes as
// the end of the task. The error is the agent's, or that of ctx; a task that is over is nil.
func (t *Task) Cancel(ctx context.Context) error {
	select {
	case <-t.named:
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := t.agent.callMethod(ctx, "CancelTask", taskParams{t.id})
	if codeOf(err) == codeNotCancelable {
		return fmt.Errorf("a2a: the task cannot be cancelled: %w", err)
	}
	t.hintNews()
	return err
}

// hintNews has the owner of the task ask for news.
func (t *Task) hintNews() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// setID takes over the id that the agent gave the task, once, and remembers the task from then on.
func (t *Task) setID(id string) {
	if t.ID() == "" && id != "" {
		t.id = id
		close(t.named)
		t.remember(memoryLine{})
	}
}

// runTask follows the task to its end, having begun with start, and ends its session. It owns the
// task, on a goroutine of its own; t.done is closed at its end, and t.err says then why it did not
// reach its aim.
func (t *Task) runTask(ctx context.Context, start func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	t.lastNews, t.wake = time.Now(), time.NewTimer(silentTime)
	start(ctx)
	err := t.followTask(ctx)
	cancel()
	t.wake.Stop()
	if t.asking != nil {
		t.withdraw()
		<-t.asking
	}
	t.err = t.finishSession(err)
	wasStopped := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if goesOn := wasStopped && !t.over; t.ID() != "" && !goesOn {
		t.remember(memoryLine{Over: true})
	}
	a := t.agent
	a.mu.Lock()
	a.tasks--
	if t.push != nil {
		delete(a.pushes, sha256.Sum256([]byte(t.push.Token)))
	}
	a.mu.Unlock()
	close(t.done)
}

// followTask applies what comes until the task is over, which returns nil. An error says that it
// could not be followed to its end. It runs on the goroutine that owns the task.
func (t *Task) followTask(ctx context.Context) error {
	for !t.over {
		var updates chan update
		if t.stream != nil {
			updates = t.stream.updates
		}
		select {
		case u, ok := <-updates:
			if !ok {
				if err := t.handleCut(ctx, t.stream.err); err != nil {
					return err
				}
				continue
			}
			t.takeUpdate(ctx, u)
		case <-t.news:
			if t.stream != nil { // which brings it, too, unless it is broken
				t.wake.Reset(streamLag)
				continue
			}
			if err := t.checkTask(ctx); err != nil {
				return err
			}
			select { // so that many notifications are one look
			case <-time.After(pushInterval):
			case <-ctx.Done():
			}
		case <-t.wake.C:
			if err := t.checkTask(ctx); err != nil {
				return err
			}
		case a := <-t.asking:
			t.asking = nil
			if err := t.sendAnswer(ctx, a); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// takeUpdate applies an update that the stream brought. Where what came before it may be missing,
// after a reconnection or an update that cannot be read, the whole task is fetched instead, now and
// for each later update of this stream. An update of another task is left out.
func (t *Task) takeUpdate(ctx context.Context, u update) {
	t.lastNews, t.retry, t.unsent = time.Now(), bridge.FirstRetry, nil
	t.wake.Reset(silentTime)
	first := t.fresh
	t.fresh = false
	switch {
	case u.Task != nil:
		t.applySnapshot(ctx, u.Task)
	case u.Message != nil:
		t.announceReply(u.Message)
	case u.Unreadable:
		t.announceNoteOnce("The agent sent something that cannot be read. It is asked for the task as a whole.")
		t.loose = t.fetchTask(ctx) || t.loose
	case t.loose || first && t.reattached: // what came before this is not known
		t.loose = true
		t.fetchTask(ctx)
	case u.Status != nil && t.isMine(u.Status.TaskID):
		t.setConversation(u.Status.ContextID)
		t.applyStatus(ctx, u.Status.Status)
	case u.Artifact != nil && t.isMine(u.Artifact.TaskID):
		t.announceChunk(u.Artifact)
	}
}

// isMine reports whether an update with a task's id is of this task, which gets its id from the
// first.
func (t *Task) isMine(id string) bool {
	t.setID(id)
	if id != t.ID() {
		t.agent.cfg.Logger.Warn("a2a: the agent sent an update of another task on the stream of one")
	}
	return id == t.ID()
}

// setConversation takes over the id that the agent gave the conversation.
func (t *Task) setConversation(id string) {
	if id != "" {
		t.agent.mu.Lock()
		t.agent.context = id
		t.agent.mu.Unlock()
		t.contextID = id
	}
}

// applySnapshot applies the task as it is now as a whole; one with another id is left out.
func (t *Task) applySnapshot(ctx context.Context, now *taskObject) {
	if !t.isMine(now.ID) {
		return
	}
	t.setConversation(now.ContextID)
	for _, a := range now.Artifacts {
		t.announceArtifact(a)
	}
	t.applyStatus(ctx, now.Status)
}

// fetchTask asks the agent for the task, applies it, and reports whether the agent answered;
// t.problem says why not.
func (t *Task) fetchTask(ctx context.Context) bool {
	if t.ID() == "" {
		return false
	}
	value, err := t.agent.callMethod(ctx, "GetTask", taskParams{t.id})
	var now taskObject
	if err == nil {
		err = bridge.Decode(value, &now)
	}
	if err != nil {
		t.problem = err
		return false
	}
	t.lastNews = time.Now()
	t.applySnapshot(ctx, &now)
	return true
}

// handleCut decides what follows when the stream of updates has ended with err, or nil: the message
// is sent anew in a way that the agent may know, the task is asked for by polling, or the stream is
// opened again, soon or later. An error ends the task: the agent never took the message.
func (t *Task) handleCut(ctx context.Context, err error) error {
	t.stream.cancel()
	t.stream = nil
	var remote *remoteError
	switch refused := errors.As(err, &remote); {
	case t.ID() == "" && t.text != "" && (t.switchVersion(err) || t.giveUpStreams(err)):
		t.sendFirst(ctx)
	case t.ID() == "": // the agent never took the message
		return cmp.Or(err, errors.New("the agent ended the answer before it began"))
	case refused && t.unsent != nil:
		t.unsent = nil
		t.announceNote("The agent did not take your answer: " + words.Sentence(toolwords.Label(remote.Message)))
		t.wake.Reset(0)
	case refused: // it has no stream of this task, which may wait, or be over
		t.refused, t.streamless = t.reattached, codeOf(err) == codeMethodNotFound
		t.wake.Reset(min(pollTime, time.Since(t.opened)+bridge.FirstRetry))
	case t.isWaiting():
		t.wake.Reset(pollTime)
	case t.fresh, err != nil:
		t.problem = cmp.Or(err, t.problem)
		t.retryLater()
	case time.Since(t.opened) < bridge.FirstRetry:
		t.wake.Reset(bridge.FirstRetry)
	default:
		t.wake.Reset(0)
	}
	return nil
}

// retryLater waits, longer each time, until the agent is tried again.
func (t *Task) retryLater() {
	t.announceCut()
	t.wake.Reset(t.retry)
	t.retry = min(2*t.retry, bridge.LastRetry)
}

// checkTask runs when the timer fires: it fetches the task, sends an answer that did not arrive,
// opens the stream again, or falls back to polling. An error ends the following. It runs on the
// goroutine that owns the task.
func (t *Task) checkTask(ctx context.Context) error {
	t.wake.Reset(silentTime)
	before := t.news
	answered := t.fetchTask(ctx)
	switch {
	case t.over || ctx.Err() != nil:
		return ctx.Err()
	case !answered && codeOf(t.problem) == codeNotFound:
		return t.problem
	case !answered && t.switchVersion(t.problem):
		t.wake.Reset(0)
		return nil
	case !answered && codeOf(t.problem) == codeMethodNotFound:
		return fmt.Errorf("the agent does not say how the task goes on: %w", t.problem)
	case !answered && time.Since(t.lastNews) > giveUp:
		return fmt.Errorf("the agent has not answered for %v: %w", giveUp, t.problem)
	case !answered:
		t.dropStream()
		t.retryLater()
		return nil
	}
	t.away = false
	if t.news != before { // which the stream should have brought
		t.dropStream()
		t.unsent = nil
	}
	if t.refused && !t.polled && !t.isWaiting() {
		t.polled = true
		t.announceNote("The agent cannot go on where its answer was cut off. It is asked for the rest until the task ends.")
	}
	switch {
	case t.unsent != nil && t.stream == nil:
		t.sendOut(ctx, *t.unsent)
	case t.isWaiting() || t.streamless || !t.agent.streams.Load():
		t.wake.Reset(pollTime)
	case t.stream == nil:
		t.replaceStream(t.agent.openStream(ctx, "SubscribeToTask", taskParams{t.id}))
	}
	return nil
}

// sendFirst sends the message that begins the task, in the conversation of the agent's newest task.
func (t *Task) sendFirst(ctx context.Context) {
	params := t.agent.makeMessage(t.text, t.push)
	t.agent.mu.Lock()
	params.Message.ContextID = t.agent.context
	t.agent.mu.Unlock()
	t.sendOut(ctx, params)
}

// switchVersion has 0.3 spoken from now on where the agent knows no method of 1.0, and reports
// whether it was not yet tried. The server of a2a-go 2.3.1 has such a card.
func (t *Task) switchVersion(err error) bool {
	if codeOf(err) != codeMethodNotFound || t.switched || t.agent.overREST {
		return false
	}
	t.switched = true
	t.agent.legacy.Store(true)
	return true
}

// giveUpStreams has the agent asked without streams from now on where it refused the one that its
// card promises, and reports whether this task had asked for one. The command of a2a-go 2.3.1 has
// such a card for a program whose output is one piece.
func (t *Task) giveUpStreams(err error) bool {
	if code := codeOf(err); !t.streamed || code != codeUnsupported && code != codeMethodNotFound {
		return false
	}
	t.agent.streams.Store(false)
	return true
}

// dropStream ends the stream.
func (t *Task) dropStream() {
	if t.stream != nil {
		t.stream.cancel()
		t.stream = nil
	}
}

// sendOut sends a message to the agent, whose answer becomes the task's stream.
func (t *Task) sendOut(ctx context.Context, params sendParams) {
	method := "SendMessage"
	if t.streamed = t.agent.streams.Load(); t.streamed {
		method = "SendStreamingMessage"
	}
	t.replaceStream(t.agent.openStream(ctx, method, params))
	t.reattached = false
}

// replaceStream takes what comes from now on from another stream. Nothing came on it yet.
func (t *Task) replaceStream(s *stream) {
	t.dropStream()
	t.stream, t.opened, t.fresh, t.loose, t.reattached = s, time.Now(), true, false, true
	t.wake.Reset(silentTime)
}

// applyStatus announces a new status of the task, withdraws a question that it makes needless, and
// asks the user where the agent waits for input.
func (t *Task) applyStatus(ctx context.Context, s taskStatus) {
	if !t.isNewStatus(s) {
		return
	}
	if t.asking != nil { // what was asked is no longer what the agent waits for
		t.withdraw()
		if a := <-t.asking; a.text != "" {
			t.announceNote("The task went on before your answer was sent.")
		}
		t.asking = nil
	}
	if t.announceState(s) {
		t.askUser(ctx, s)
	} else if !t.over {
		t.remember(memoryLine{State: t.now, Status: s.statusKey()})
	}
}

// recordLine remembers a line of the task.
func (t *Task) recordLine(line memoryLine) {
	line.Task = t.ID()
	if err := t.agent.memory.recordLine(line); err != nil {
		t.agent.cfg.Logger.Error("a2a: what was told is not remembered across a restart", "error", err)
	}
}

// askUser puts the agent's question of the status s to the user on a goroutine of its own, which
// sends the answer to t.asking. t.withdraw takes the question back.
func (t *Task) askUser(ctx context.Context, s taskStatus) {
	ctx, t.withdraw = context.WithCancel(ctx)
	answers := make(chan answer, 1)
	t.asking = answers
	ask := t.makeQuestion(s, t.agent.cfg.AnswerTime)
	go func() { answers <- ask(ctx) }()
}

// sendAnswer sends the user's answer, a.text, to the agent; it is sent again after a cut. The error
// is that of asking.
func (t *Task) sendAnswer(ctx context.Context, a answer) error {
	t.withdraw()
	switch {
	case errors.Is(a.err, context.Canceled):
		return ctx.Err()
	case a.err != nil:
		return a.err
	}
	params := t.agent.makeMessage(a.text, nil)
	params.Message.TaskID, params.Message.ContextID = t.id, t.contextID
	t.noteSent()
	t.unsent = &params
	t.sendOut(ctx, params)
	return nil
}
