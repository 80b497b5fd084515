package a2a

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// A servedTask is a session as A2A shows it. Its updates are kept as long as it is, so that each
// stream goes through all of them in the same order.
type servedTask struct {
	id, principal, conversation string
	asked                       message
	session                     *producer.Session

	mu        sync.Mutex
	state     string // as 0.3 writes it
	text      string // the words of the newest status
	changed   time.Time
	artifacts []*servedArtifact
	byID      map[string]*servedArtifact
	updates   []servedUpdate
	size      int           // bytes of what is kept
	moved     chan struct{} // is closed at the next update
}

type servedArtifact struct {
	id   string
	text []byte
}

// A servedUpdate is a change of the state, or a part of an artifact.
type servedUpdate struct {
	state, text    string
	at             time.Time
	artifact       string // its id; empty for a change of the state
	appended, last bool
}

// newServedTask makes a task of a session that a principal's message began.
func newServedTask(session *producer.Session, principal, conversation string, m message) *servedTask {
	return &servedTask{id: session.ID(), principal: principal, conversation: conversation, asked: m, session: session,
		state: submitted, changed: time.Now(), moved: make(chan struct{}), byID: map[string]*servedArtifact{}}
}

// isEnded reports whether a state is the last of its task.
func isEnded(state string) bool {
	switch state {
	case completed, canceled, failed, rejected:
		return true
	}
	return false
}

// applyEvent adds an event of the agent's session to the task that a client sees, and reports
// whether the task is over. followAgent calls it.
func (t *servedTask) applyEvent(ev *aaep.Event) (over bool) {
	text := ev.Text(aaep.VerbosityNormal)
	switch p := ev.Payload.(type) {
	case *aaep.SessionStarted:
	case *aaep.OutputStreaming:
		t.appendOutput(p)
	case *aaep.SessionCompleted:
		t.showEnd(completed, text)
	case *aaep.SessionErrored:
		t.showEnd(failed, text)
	case *aaep.SessionCancelled:
		t.showEnd(canceled, text)
	case *aaep.StateChanged:
		if text == "" && p.ToState == aaep.StateAwaitingInput {
			text = "The agent waits for its user's answer."
		}
		t.showProgress(text)
	default:
		t.showProgress(text)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return isEnded(t.state)
}

// showProgress sets the task's state to working, with a text, for the clients that see it. A task
// that is over, or works already without a text, stays as it is. It takes t.mu.
func (t *servedTask) showProgress(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isEnded(t.state) || t.state == working && text == "" {
		return
	}
	t.enterState(working, text)
}

// showEnd sets the task's last state and its text, once; later ends change nothing. It takes t.mu.
func (t *servedTask) showEnd(state, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !isEnded(t.state) {
		t.enterState(state, text)
	}
}

// enterState sets the task's state and its text, and adds the update for clients. Past mostOfTask
// bytes news of work in progress is left out, so that the end still fits. The caller holds t.mu.
func (t *servedTask) enterState(state, text string) {
	t.state, t.text, t.changed = state, text, time.Now()
	if t.size > mostOfTask && state == working {
		return
	}
	t.addUpdate(servedUpdate{state: state, text: text, at: t.changed})
}

// appendOutput shows a part of an output as an artifact of the task. What is more than mostOfTask
// bytes is left out, and that is said. It takes t.mu.
func (t *servedTask) appendOutput(p *aaep.OutputStreaming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isEnded(t.state) || t.size > mostOfTask {
		return
	}
	if t.state == submitted {
		t.enterState(working, "")
	}
	id := p.OutputID
	if id == "" {
		id = "answer"
	}
	a := t.byID[id]
	appended := a != nil
	if a == nil {
		a = &servedArtifact{id: id}
		t.byID[id], t.artifacts = a, append(t.artifacts, a)
	}
	text, last := p.Chunk, p.Complete
	if t.size+len(text) > mostOfTask {
		text, last = " (The rest is left out.)", true
		t.size = mostOfTask
	}
	a.text = append(a.text, text...)
	t.addUpdate(servedUpdate{artifact: id, text: text, at: time.Now(), appended: appended, last: last})
}

// addUpdate appends an update, which all open streams then send. The caller holds t.mu.
func (t *servedTask) addUpdate(u servedUpdate) {
	t.updates = append(t.updates, u)
	t.size += len(u.text) + 64
	close(t.moved)
	t.moved = make(chan struct{})
}

// keptBytes returns about how many bytes are kept of a task, so that the server can bound those of
// tasks that are over. It takes t.mu.
func (t *servedTask) keptBytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.size
	for _, p := range t.asked.Parts {
		if n += len(p.Data); p.Text != nil {
			n += len(*p.Text)
		}
	}
	return n
}

// updatesAfter returns the updates from the nth on, whether the task is over with them, and a
// channel that is closed when there are more. It takes t.mu.
func (t *servedTask) updatesAfter(n int) (more []servedUpdate, over bool, moved <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.updates[n:], isEnded(t.state), t.moved
}

// awaitEnd blocks until the task is over, which returns nil, or returns ctx's error.
func (t *servedTask) awaitEnd(ctx context.Context) error {
	for n := 0; ; {
		more, isOver, moved := t.updatesAfter(n)
		if isOver {
			return nil
		}
		n += len(more)
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A dialect writes what is shown as a version of the protocol has it.
type dialect struct{ legacy bool }

// encodeState returns the name of a state on the wire: as it is in 0.3, and such as
// TASK_STATE_WORKING in 1.0.
func (d dialect) encodeState(state string) string {
	if d.legacy {
		return state
	}
	return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(state, "-", "_"))
}

// encodeObject returns members as an object; version 0.3 also has its kind in it.
func (d dialect) encodeObject(kind string, members map[string]any) map[string]any {
	if d.legacy {
		members["kind"] = kind
	}
	return members
}

// encodeItem returns an item of a stream, or the result of a message, for the wire: version 1.0
// wraps object in a member that names its kind; 0.3 sends it as it is.
func (d dialect) encodeItem(member string, object map[string]any) map[string]any {
	if d.legacy {
		return object
	}
	return map[string]any{member: object}
}

// encodeParts returns a text as the parts of a message or an artifact.
func (d dialect) encodeParts(text string) []any {
	return []any{d.encodeObject("text", map[string]any{"text": text})}
}

// encodeStatus returns a status of the task as JSON of the dialect, with the text that is said with
// it, unless that is empty.
func (d dialect) encodeStatus(t *servedTask, state, text string, changed time.Time) map[string]any {
	status := map[string]any{"state": d.encodeState(state),
		"timestamp": changed.UTC().Format("2006-01-02T15:04:05.000Z")}
	if text != "" {
		status["message"] = d.encodeObject("message", map[string]any{
			"messageId": rand.Text(), "contextId": t.conversation, "taskId": t.id,
			"role": d.encodeRole("agent"), "parts": d.encodeParts(text)})
	}
	return status
}

// encodeRole returns the name of a role, user or agent, on the wire: as it is in 0.3, and such as
// ROLE_USER in 1.0.
func (d dialect) encodeRole(role string) string {
	if d.legacy {
		return role
	}
	return "ROLE_" + strings.ToUpper(role)
}

// encodeTask returns a task as a whole, as JSON of the dialect, and the number of updates that it
// has in it. It takes t.mu.
func (d dialect) encodeTask(t *servedTask) (map[string]any, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	artifacts := []any{}
	for _, a := range t.artifacts {
		artifacts = append(artifacts, map[string]any{"artifactId": a.id, "parts": d.encodeParts(string(a.text))})
	}
	asked := d.encodeObject("message", map[string]any{
		"messageId": t.asked.MessageID, "contextId": t.conversation, "taskId": t.id,
		"role": d.encodeRole("user"), "parts": d.encodeParts(textOf(t.asked.Parts))})
	return d.encodeObject("task", map[string]any{"id": t.id, "contextId": t.conversation,
		"status": d.encodeStatus(t, t.state, t.text, t.changed), "artifacts": artifacts, "history": []any{asked},
	}), len(t.updates)
}

// encodeUpdate returns an update of the task, as an item of a stream of the dialect.
func (d dialect) encodeUpdate(t *servedTask, u servedUpdate) map[string]any {
	of := map[string]any{"taskId": t.id, "contextId": t.conversation}
	if u.artifact != "" {
		of["artifact"] = map[string]any{"artifactId": u.artifact, "parts": d.encodeParts(u.text)}
		of["append"], of["lastChunk"] = u.appended, u.last
		return d.encodeItem("artifactUpdate", d.encodeObject("artifact-update", of))
	}
	of["status"] = d.encodeStatus(t, u.state, u.text, u.at)
	if d.legacy {
		of["final"] = isEnded(u.state)
	}
	return d.encodeItem("statusUpdate", d.encodeObject("status-update", of))
}
