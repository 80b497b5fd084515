package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	maxArtifacts = 1024 // of a task; of what more there are nothing is told
	maxStatuses  = 4096 // that are remembered, so that none is told twice
	mostAsked    = 4 << 10
)

// A telling is what a person has heard of a task so far. It belongs to the goroutine that owns the
// task.
type telling struct {
	s         *producer.Session
	agentName string
	contextID string
	artifacts map[string]*spoken
	open      *spoken // the artifact that is being told
	statuses  map[string]bool
	noted     map[string]bool // sentences that are told once
	now       string          // the state that was told last
	news      int             // how much of the task was told
	away      bool            // that the agent cannot be reached was told
	over      bool
	end       error // why the task did not reach its aim
	problem   error // why the agent did not answer last
	remember  func(memoryLine)
}

// spoken is how much of an artifact was told. An artifact that is sent anew is told from there.
type spoken struct {
	id   string
	out  *producer.Output // nil where it is ended
	size int
	sum  hash.Hash // of the text so far
	last bool
}

func newSpoken() *spoken { return &spoken{sum: sha256.New()} }

func newTelling(s *producer.Session, agent string) telling {
	return telling{s: s, agentName: agent, artifacts: map[string]*spoken{}, statuses: map[string]bool{},
		noted: map[string]bool{}, remember: func(memoryLine) {}}
}

// waiting reports whether the task waits for its user.
func (t *telling) waiting() bool { return t.now == inputRequired || t.now == authRequired }

// note tells something beside the task's own results.
func (t *telling) note(text string) {
	t.close()
	t.s.Progress(bridge.Ours(text), aaep.Progress{Description: text}, 0)
}

// noteOnce is note for what is told of a task no more than once.
func (t *telling) noteOnce(text string) {
	if !t.noted[text] {
		t.noted[text] = true
		t.note(text)
	}
}

// artifact returns what was told of an artifact; nil where there are too many.
func (t *telling) artifact(a artifact) *spoken {
	sp := t.artifacts[a.ID]
	switch {
	case sp != nil:
	case len(t.artifacts) >= maxArtifacts:
		t.noteOnce("The task has more than " + words.Count(maxArtifacts, "result") + ". The others are not told.")
	default:
		sp = newSpoken()
		t.artifacts[a.ID] = sp
	}
	return sp
}

// chunk tells an update of an artifact.
func (t *telling) chunk(u *artifactUpdate) {
	known := t.artifacts[u.Artifact.ID] != nil
	if !u.Append && known {
		t.whole(u.Artifact)
		return
	}
	sp := t.artifact(u.Artifact)
	if sp == nil {
		return
	}
	if u.Append && !known {
		t.note("The beginning of " + named(u.Artifact) + " was not received.")
	}
	t.write(u.Artifact, sp, textOf(u.Artifact.Parts))
	if u.Last {
		sp.last = true
		t.close()
	}
}

// whole tells what is new of an artifact that came as a whole.
func (t *telling) whole(a artifact) {
	sp := t.artifact(a)
	if sp == nil {
		return
	}
	text := textOf(a.Parts)
	if sp.size > len(text) || !sp.begins(text) {
		t.note(upperFirst(named(a)) + " was replaced.")
		*sp = *newSpoken()
	}
	t.write(a, sp, text[sp.size:])
}

// begins reports whether what was told is how a text begins.
func (sp *spoken) begins(text string) bool {
	sum := sha256.Sum256([]byte(text[:sp.size]))
	return string(sp.sum.Sum(nil)) == string(sum[:])
}

func named(a artifact) string {
	if name := toolwords.Label(a.Name); name != "" {
		return "the result " + name
	}
	return "a result"
}

// write tells more of an artifact.
func (t *telling) write(a artifact, sp *spoken, text string) {
	if text == "" {
		return
	}
	if t.open != sp {
		t.close()
		t.open, sp.id = sp, a.ID
	}
	if sp.out == nil {
		sp.out = t.s.Output()
		sp.out.SetContentType("text/markdown")
		if name := toolwords.Label(a.Name); name != "" && sp.size == 0 {
			sp.out.WriteString(name + ": ")
		}
	}
	sp.out.WriteString(strings.ToValidUTF8(text, "\uFFFD"))
	sp.size += len(text)
	t.news++
	sp.sum.Write([]byte(text))
}

// close ends the artifact that is being told: what comes next is not about it.
func (t *telling) close() {
	if t.open != nil && t.open.out != nil {
		t.open.out.Close()
		t.open.out = nil
		sum, _ := t.open.sum.(encoding.BinaryMarshaler).MarshalBinary()
		t.remember(memoryLine{Artifact: t.open.id, Told: &toldPart{t.open.size, sum}})
	}
	t.open = nil
}

// reply tells a message that the agent answered with instead of making a task.
func (t *telling) reply(m *message) {
	out := t.s.Output()
	out.SetContentType("text/markdown")
	out.WriteString(strings.ToValidUTF8(textOf(m.Parts), "\uFFFD"))
	out.Close()
	t.s.Complete(aaep.Text{})
	t.over = true
}

// changed reports whether a status is one that was not applied yet.
func (t *telling) changed(s taskStatus) bool {
	key := s.key()
	if t.over || s.state() == "" || key != "" && t.statuses[key] || key == "" && s.state() == t.now && s.text() == "" {
		return false
	}
	if key != "" && len(t.statuses) < maxStatuses {
		t.statuses[key] = true
	}
	return true
}

// state tells a status, and reports whether the user must be asked.
func (t *telling) state(s taskStatus) (ask bool) {
	text := bridge.Line(s.text())
	was := t.now
	t.now, t.away = s.state(), false
	t.news++
	switch t.now {
	case submitted, working, "unknown", "unspecified":
		if text != "" {
			t.note(words.Sentence(words.Fit(text, mostAsked)))
		} else if t.now == working && was != working {
			t.s.State(aaep.StateThinking, bridge.Ours("The agent works on it."))
		}
	case inputRequired, authRequired:
		t.close()
		return true
	case completed:
		t.finishWith(nil, func(end aaep.Text) { t.s.Complete(end) }, text)
	case canceled:
		t.finishWith(errCanceled, func(end aaep.Text) { t.s.Cancel(aaep.CancelledByProducer, end) }, cmp.Or(text, "The task was cancelled."))
	case failed, rejected:
		t.fail(text)
	default:
		t.note("The task is in a state that is not known here, " + words.Sentence(strings.TrimSpace(toolwords.Label(s.State)+" "+text)))
	}
	return false
}

var (
	errCanceled = errors.New("a2a: the task was cancelled")
	errFailed   = errors.New("a2a: the task failed")
	errRejected = errors.New("a2a: the agent rejected the task")
)

func (t *telling) fail(text string) {
	end, says := errFailed, "The task failed."
	if t.now == rejected {
		end, says = errRejected, "The agent rejected the task."
	}
	if text != "" {
		says += " " + t.agentName + ": " + words.Sentence(words.Fit(text, mostAsked))
		end = fmt.Errorf("%w: %s", end, toolwords.Label(text))
	}
	t.finishWith(end, func(aaep.Text) { t.s.Fail(errFailed, bridge.Ours(says)) }, "")
}

// finishWith ends the session by a function, with the agent's last words.
func (t *telling) finishWith(why error, by func(aaep.Text), text string) {
	t.close()
	var end aaep.Text
	if text != "" {
		end = aaep.Say(words.Sentence(words.Fit(text, mostAsked)))
	}
	by(end)
	t.over, t.end = true, why
}

// interrupted tells once that the agent cannot be reached.
func (t *telling) interrupted() {
	if !t.away {
		t.away = true
		t.note("The link to the agent was cut; it is tried again.")
	}
}

// finish ends the session where the task did not, and returns why the task did not reach its aim.
func (t *telling) finish(err error) error {
	t.close()
	defer t.s.Close()
	switch {
	case t.over:
		return t.end
	case errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable):
		t.s.Cancel(aaep.CancelledByTimeout, bridge.Ours("No answer came, and none was sent. The task waits at the agent."))
	case errors.Is(err, errDeclined):
		t.s.Cancel(aaep.CancelledByUser, bridge.Ours("You did not sign in. The task waits at the agent."))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		t.s.Cancel(aaep.CancelledBySystem, bridge.Ours("The task is no longer followed. It goes on at the agent."))
	default:
		t.s.Fail(err, bridge.Ours(words.Sentence(upperFirst(toolwords.Label(err.Error())))))
	}
	return fmt.Errorf("a2a: %w", err)
}

// sent notes that an answer is on its way.
func (t *telling) sent() { t.now = "" }

// errDeclined says that the user does not want to sign in.
var errDeclined = errors.New("the user does not want to sign in")

// question makes what is put to the user upon a status. The function it returns puts it, and waits;
// it runs beside the owner.
func (t *telling) question(s taskStatus, open time.Duration) func(context.Context) answer {
	text, session := words.Fit(bridge.Line(s.text()), mostAsked), t.s
	if s.state() == authRequired {
		q := producer.Question{
			Text:    aaep.Say(t.agentName + " wants you to sign in somewhere. Have you done that?"),
			Context: aaep.Say(cmp.Or(text, t.agentName+" does not say where.") + " Sign in with a program of your own; nothing is opened here."),
			Timeout: open,
		}
		return func(ctx context.Context) answer {
			yes, err := session.AskYesNo(ctx, q)
			switch {
			case err != nil:
				return answer{err: err}
			case !yes:
				return answer{err: errDeclined}
			}
			return answer{text: "The user says that they have signed in."}
		}
	}
	q := producer.Question{
		Text:    aaep.Say(t.agentName + " asks: " + words.Sentence(cmp.Or(text, "it needs something to go on, and does not say what"))),
		Context: aaep.Say("Your answer is sent to " + t.agentName + " as you give it."), Timeout: open,
	}
	return func(ctx context.Context) answer {
		given, err := session.AskText(ctx, q)
		return answer{text: given, err: err}
	}
}
