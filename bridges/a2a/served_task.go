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

func newServedTask(session *producer.Session, principal, conversation string, m message) *servedTask {
	return &servedTask{id: session.ID(), principal: principal, conversation: conversation, asked: m, session: session,
		state: submitted, changed: time.Now(), moved: make(chan struct{}), byID: map[string]*servedArtifact{}}
}

// ended reports whether a state is the last of its task.
func ended(state string) bool {
	switch state {
	case completed, canceled, failed, rejected:
		return true
	}
	return false
}

// apply shows what an event tells, and reports whether it is the end of the task.
func (t *servedTask) apply(ev *aaep.Event) (over bool) {
	text := ev.Text(aaep.VerbosityNormal)
	switch p := ev.Payload.(type) {
	case *aaep.SessionStarted:
	case *aaep.OutputStreaming:
		t.grow(p)
	case *aaep.SessionCompleted:
		t.finish(completed, text)
	case *aaep.SessionErrored:
		t.finish(failed, text)
	case *aaep.SessionCancelled:
		t.finish(canceled, text)
	case *aaep.StateChanged:
		if text == "" && p.ToState == aaep.StateAwaitingInput {
			text = "The agent waits for its user's answer."
		}
		t.progress(text)
	default:
		t.progress(text)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return ended(t.state)
}

// progress shows that the task works.
func (t *servedTask) progress(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ended(t.state) || t.state == working && text == "" {
		return
	}
	t.enter(working, text)
}

// finish shows the end of the task, once.
func (t *servedTask) finish(state, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ended(t.state) {
		t.enter(state, text)
	}
}

// enter shows a state, with t.mu held.
func (t *servedTask) enter(state, text string) {
	t.state, t.text, t.changed = state, text, time.Now()
	if t.size > mostOfTask && state == working {
		return
	}
	t.add(servedUpdate{state: state, text: text, at: t.changed})
}

// grow shows a part of an output. What is more than can be kept is left out, and that is said.
func (t *servedTask) grow(p *aaep.OutputStreaming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ended(t.state) || t.size > mostOfTask {
		return
	}
	if t.state == submitted {
		t.enter(working, "")
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
	t.add(servedUpdate{artifact: id, text: text, at: time.Now(), appended: appended, last: last})
}

// add keeps an update and has all streams send it, with t.mu held.
func (t *servedTask) add(u servedUpdate) {
	t.updates = append(t.updates, u)
	t.size += len(u.text) + 64
	close(t.moved)
	t.moved = make(chan struct{})
}

// keptBytes returns how much is kept of a task that is over, about.
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

// after returns the updates from the nth, whether the task is over with them, and what is closed
// when there are more.
func (t *servedTask) after(n int) (more []servedUpdate, over bool, moved <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.updates[n:], ended(t.state), t.moved
}

// await waits for the end of the task.
func (t *servedTask) await(ctx context.Context) error {
	for n := 0; ; {
		more, over, moved := t.after(n)
		if over {
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

func (d dialect) state(state string) string {
	if d.legacy {
		return state
	}
	return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(state, "-", "_"))
}

// object is an object, whose kind 0.3 names.
func (d dialect) object(kind string, members map[string]any) map[string]any {
	if d.legacy {
		members["kind"] = kind
	}
	return members
}

// item is an item of a stream, or the result of a message, whose kind 1.0 names by a member.
func (d dialect) item(member string, object map[string]any) map[string]any {
	if d.legacy {
		return object
	}
	return map[string]any{member: object}
}

func (d dialect) parts(text string) []any {
	return []any{d.object("text", map[string]any{"text": text})}
}

func (d dialect) status(t *servedTask, state, text string, at time.Time) map[string]any {
	status := map[string]any{"state": d.state(state), "timestamp": at.UTC().Format("2006-01-02T15:04:05.000Z")}
	if text != "" {
		status["message"] = d.object("message", map[string]any{"messageId": rand.Text(), "contextId": t.conversation, "taskId": t.id,
			"role": d.role("agent"), "parts": d.parts(text)})
	}
	return status
}

func (d dialect) role(role string) string {
	if d.legacy {
		return role
	}
	return "ROLE_" + strings.ToUpper(role)
}

// task is a task as a whole, and the number of updates that it has in it.
func (d dialect) task(t *servedTask) (map[string]any, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	artifacts := []any{}
	for _, a := range t.artifacts {
		artifacts = append(artifacts, map[string]any{"artifactId": a.id, "parts": d.parts(string(a.text))})
	}
	asked := d.object("message", map[string]any{"messageId": t.asked.MessageID, "contextId": t.conversation, "taskId": t.id,
		"role": d.role("user"), "parts": d.parts(textOf(t.asked.Parts))})
	return d.object("task", map[string]any{"id": t.id, "contextId": t.conversation, "status": d.status(t, t.state, t.text, t.changed),
		"artifacts": artifacts, "history": []any{asked}}), len(t.updates)
}

func (d dialect) update(t *servedTask, u servedUpdate) map[string]any {
	of := map[string]any{"taskId": t.id, "contextId": t.conversation}
	if u.artifact != "" {
		of["artifact"] = map[string]any{"artifactId": u.artifact, "parts": d.parts(u.text)}
		of["append"], of["lastChunk"] = u.appended, u.last
		return d.item("artifactUpdate", d.object("artifact-update", of))
	}
	of["status"] = d.status(t, u.state, u.text, u.at)
	if d.legacy {
		of["final"] = ended(u.state)
	}
	return d.item("statusUpdate", d.object("status-update", of))
}
