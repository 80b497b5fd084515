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

// A taskAnnouncer announces a task in a session, and knows how much of it was announced so far. It
// belongs to the goroutine that owns the task.
type taskAnnouncer struct {
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

// newSpoken returns an artifact of which nothing was told.
func newSpoken() *spoken { return &spoken{sum: sha256.New()} }

// newTaskAnnouncer returns a taskAnnouncer that announces in s a task of an agent with that name,
// and remembers nothing across a restart.
func newTaskAnnouncer(s *producer.Session, agent string) taskAnnouncer {
	return taskAnnouncer{s: s, agentName: agent, artifacts: map[string]*spoken{}, statuses: map[string]bool{},
		noted: map[string]bool{}, remember: func(memoryLine) {}}
}

// isWaiting reports whether the task waits for its user.
func (t *taskAnnouncer) isWaiting() bool { return t.now == inputRequired || t.now == authRequired }

// announceNote announces a sentence of the bridge, beside the task's own results.
func (t *taskAnnouncer) announceNote(text string) {
	t.closeOutput()
	bridge.AnnounceNotice(t.s, text)
}

// announceNoteOnce is announceNote for a sentence that is announced once for each task.
func (t *taskAnnouncer) announceNoteOnce(text string) {
	if !t.noted[text] {
		t.noted[text] = true
		t.announceNote(text)
	}
}

// findArtifact returns the record of how much of an artifact was announced, a new one where it is
// unknown, or nil where there are too many.
func (t *taskAnnouncer) findArtifact(a artifact) *spoken {
	sp := t.artifacts[a.ID]
	switch {
	case sp != nil:
	case len(t.artifacts) >= maxArtifacts:
		t.announceNoteOnce("The task has more than " + words.Count(maxArtifacts, "result") + ". The others are not told.")
	default:
		sp = newSpoken()
		t.artifacts[a.ID] = sp
	}
	return sp
}

// announceChunk announces a chunk that the stream brought of an artifact: text to append, or the
// artifact as a whole. Where the beginning was not received, it says so.
func (t *taskAnnouncer) announceChunk(u *artifactUpdate) {
	known := t.artifacts[u.Artifact.ID] != nil
	if !u.Append && known {
		t.announceArtifact(u.Artifact)
		return
	}
	sp := t.findArtifact(u.Artifact)
	if sp == nil {
		return
	}
	if u.Append && !known {
		t.announceNote("The beginning of " + nameArtifact(u.Artifact) + " was not received.")
	}
	t.writeArtifact(u.Artifact, sp, textOf(u.Artifact.Parts))
	if u.Last {
		sp.last = true
		t.closeOutput()
	}
}

// announceArtifact announces the part of an artifact, received as a whole, that was not announced
// yet; all of it where the announced part was replaced.
func (t *taskAnnouncer) announceArtifact(a artifact) {
	sp := t.findArtifact(a)
	if sp == nil {
		return
	}
	text := textOf(a.Parts)
	if sp.size > len(text) || !sp.isPrefixOf(text) {
		t.announceNote(upperFirst(nameArtifact(a)) + " was replaced.")
		*sp = *newSpoken()
	}
	t.writeArtifact(a, sp, text[sp.size:])
}

// isPrefixOf reports whether what was told is how a text begins.
func (sp *spoken) isPrefixOf(text string) bool {
	sum := sha256.Sum256([]byte(text[:sp.size]))
	return string(sp.sum.Sum(nil)) == string(sum[:])
}

// nameArtifact returns how a sentence names an artifact: "the result" with its name, or "a result"
// for one without.
func nameArtifact(a artifact) string {
	if name := toolwords.Label(a.Name); name != "" {
		return "the result " + name
	}
	return "a result"
}

// writeArtifact writes more text of an artifact to the output that is open for it, or closes
// another and opens one, which begins with the artifact's name. Empty text changes nothing.
func (t *taskAnnouncer) writeArtifact(a artifact, sp *spoken, text string) {
	if text == "" {
		return
	}
	if t.open != sp {
		t.closeOutput()
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

// closeOutput closes the output of the artifact that is being announced, and remembers how far that
// is: the next text is of something else.
func (t *taskAnnouncer) closeOutput() {
	if t.open != nil && t.open.out != nil {
		t.open.out.Close()
		t.open.out = nil
		sum, _ := t.open.sum.(encoding.BinaryMarshaler).MarshalBinary()
		t.remember(memoryLine{Artifact: t.open.id, Told: &toldPart{t.open.size, sum}})
	}
	t.open = nil
}

// announceReply announces a message that the agent sent instead of a task, and ends the session.
func (t *taskAnnouncer) announceReply(m *message) {
	out := t.s.Output()
	out.SetContentType("text/markdown")
	out.WriteString(strings.ToValidUTF8(textOf(m.Parts), "\uFFFD"))
	out.Close()
	t.s.Complete(aaep.Text{})
	t.over = true
}

// isNewStatus reports whether a status is one that was not applied yet, and remembers it, for at
// most maxStatuses. One that has no key is new where its state is, or it says something. A task
// that is over has none.
func (t *taskAnnouncer) isNewStatus(s taskStatus) bool {
	key := s.statusKey()
	wasApplied := t.statuses[key]
	if key == "" {
		wasApplied = s.stateName() == t.now && s.messageText() == ""
	}
	if t.over || s.stateName() == "" || wasApplied {
		return false
	}
	if key != "" && len(t.statuses) < maxStatuses {
		t.statuses[key] = true
	}
	return true
}

// announceState announces a status: its progress, or its end, which ends the session. It reports
// whether the agent waits for input, so that the user must be asked.
func (t *taskAnnouncer) announceState(s taskStatus) (ask bool) {
	text := bridge.Line(s.messageText())
	previous := t.now
	t.now, t.away = s.stateName(), false
	t.news++
	switch t.now {
	case submitted, working, "unknown", "unspecified":
		if text != "" {
			text = words.Sentence(words.Fit(text, mostAsked))
			t.closeOutput()
			t.s.Progress(bridge.Ours(text), aaep.Progress{Description: text}, 0)
		} else if t.now == working && previous != working {
			t.s.State(aaep.StateThinking, bridge.Ours("The agent works on it."))
		}
	case inputRequired, authRequired:
		t.closeOutput()
		return true
	case completed:
		t.finishWith(nil, func(end aaep.Text) { t.s.Complete(end) }, text)
	case canceled:
		t.finishWith(errCanceled, func(end aaep.Text) { t.s.Cancel(aaep.CancelledByProducer, end) },
			cmp.Or(text, "The task was cancelled."))
	case failed, rejected:
		t.failTask(text)
	default:
		t.announceNote("The task is in a state that is not known here, " +
			words.Sentence(strings.TrimSpace(toolwords.Label(s.State)+" "+text)))
	}
	return false
}

var (
	errCanceled = errors.New("a2a: the task was cancelled")
	errFailed   = errors.New("a2a: the task failed")
	errRejected = errors.New("a2a: the agent rejected the task")
)

// failTask ends the session of a task that failed or was rejected, with the agent's words.
func (t *taskAnnouncer) failTask(text string) {
	end, sentence := errFailed, "The task failed."
	if t.now == rejected {
		end, sentence = errRejected, "The agent rejected the task."
	}
	if text != "" {
		sentence += " " + t.agentName + ": " + words.Sentence(words.Fit(text, mostAsked))
		end = fmt.Errorf("%w: %s", end, toolwords.Label(text))
	}
	t.finishWith(end, func(aaep.Text) { t.s.Fail(errFailed, bridge.Ours(sentence)) }, "")
}

// finishWith ends the session by calling finish with the agent's last words, which may be empty;
// why is what the task's error will be, or nil.
func (t *taskAnnouncer) finishWith(why error, finish func(aaep.Text), text string) {
	t.closeOutput()
	var end aaep.Text
	if text != "" {
		end = aaep.Say(words.Sentence(words.Fit(text, mostAsked)))
	}
	finish(end)
	t.over, t.end = true, why
}

// announceCut announces, once until the agent answers again, that it cannot be reached.
func (t *taskAnnouncer) announceCut() {
	if !t.away {
		t.away = true
		t.announceNote("The link to the agent was cut; it is tried again.")
	}
}

// finishSession ends the session where the task did not, with words that say why, by err, and
// returns why the task did not reach its aim, or nil.
func (t *taskAnnouncer) finishSession(err error) error {
	t.closeOutput()
	defer t.s.Close()
	switch {
	case t.over:
		return t.end
	case errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable):
		t.s.Cancel(aaep.CancelledByTimeout,
			bridge.Ours("No answer came, and none was sent. The task waits at the agent."))
	case errors.Is(err, errDeclined):
		t.s.Cancel(aaep.CancelledByUser, bridge.Ours("You did not sign in. The task waits at the agent."))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		t.s.Cancel(aaep.CancelledBySystem, bridge.Ours("The task is no longer followed. It goes on at the agent."))
	default:
		t.s.Fail(err, bridge.Ours(words.Sentence(upperFirst(toolwords.Label(err.Error())))))
	}
	return fmt.Errorf("a2a: %w", err)
}

// noteSent notes that an answer is on its way.
func (t *taskAnnouncer) noteSent() { t.now = "" }

// errDeclined says that the user does not want to sign in.
var errDeclined = errors.New("the user does not want to sign in")

// makeQuestion makes what is put to the user upon a status that needs input, or that they sign in;
// open is how long it is open. The function it returns puts it, and waits; it runs beside the
// owner.
func (t *taskAnnouncer) makeQuestion(s taskStatus, open time.Duration) func(context.Context) answer {
	text, session := words.Fit(bridge.Line(s.messageText()), mostAsked), t.s
	if s.stateName() == authRequired {
		q := producer.Question{
			Text: aaep.Say(t.agentName + " wants you to sign in somewhere. Have you done that?"),
			Context: aaep.Say(cmp.Or(text, t.agentName+" does not say where.") +
				" Sign in with a program of your own; nothing is opened here."),
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
		Text: aaep.Say(t.agentName + " asks: " +
			words.Sentence(cmp.Or(text, "it needs something to go on, and does not say what"))),
		Context: aaep.Say("Your answer is sent to " + t.agentName + " as you give it."), Timeout: open,
	}
	return func(ctx context.Context) answer {
		reply, err := session.AskText(ctx, q)
		return answer{text: reply, err: err}
	}
}
