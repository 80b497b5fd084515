package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A room is a person who listens: a voice that says so many words a minute, in a time of its own.
type room struct {
	t     *testing.T
	a     *Announcer
	now   time.Time
	began time.Time
	voice *Utterance
	shown *Utterance // of a question, the newest
	until time.Time
	heard []string // "0.0 text", with " /" behind what was cut
	n     int
	mute  bool // the voice presents nothing in a language that it has none for
}

const voiceWPM = 120 // two words a second

func newRoom(t *testing.T, p Preferences) *room {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &room{t: t, a: New(p), now: at, began: at}
}

// passTime lets time pass.
func (r *room) passTime(d time.Duration) {
	r.t.Helper()
	for end := r.now.Add(d); ; {
		wake := r.takeActions()
		next := end
		if r.voice != nil && r.until.Before(next) {
			next = r.until
		}
		if !wake.IsZero() && wake.Before(next) {
			next = wake
		}
		if next.After(r.now) {
			r.now = next
		}
		if r.voice != nil && !r.now.Before(r.until) {
			r.endUtterance("", Heard)
			continue
		}
		if !r.now.Before(end) {
			r.takeActions()
			return
		}
	}
}

// takeActions does what the Announcer wants now.
func (r *room) takeActions() time.Time {
	for range 100 {
		do, wake := r.a.Next(r.now)
		switch {
		case do.Cancel:
			r.endUtterance(" /", Waiting)
		case do.Say != nil:
			r.voice = do.Say
			if do.Say.Kind == Question {
				r.shown = do.Say
			}
			r.until = r.now.Add(time.Duration(len(strings.Fields(do.Say.Text))) * time.Minute / voiceWPM)
			r.heard = append(r.heard, fmt.Sprintf("%.1f %s", r.now.Sub(r.began).Seconds(), do.Say.Text))
			if r.mute && !r.a.hasVoice(do.Say.Language) {
				r.endUtterance(" (unsaid)", Unsaid)
			}
		default:
			return wake
		}
	}
	r.t.Fatalf("it never comes to rest: %q", r.heard[max(0, len(r.heard)-8):])
	return time.Time{}
}

func (r *room) endUtterance(mark string, what Outcome) {
	r.heard[len(r.heard)-1] += mark
	id := r.voice.ID
	r.voice = nil
	r.a.Ended(r.now, id, what)
}

// typeAnswer has the person type an answer, and the link take it, or not. It reports whether there
// was anything to send.
func (r *room) typeAnswer(text string, err error) bool {
	reply := r.a.Answer(r.now, r.now, text)
	if reply != nil {
		r.a.Answered(r.now, reply, err)
	}
	r.takeActions()
	return reply != nil
}

// pressSilence is the person's own key.
func (r *room) pressSilence() { r.endUtterance(" (silenced)", Cut) }

func (r *room) addEvent(p aaep.Payload, text string) *aaep.Event {
	return r.addEventOf("Planner", "sess_1", p, text)
}

func (r *room) addEventOf(source, session string, p aaep.Payload, text string) *aaep.Event {
	r.n++
	ev := &aaep.Event{EventID: fmt.Sprintf("evt_%d", r.n), SessionID: session, Timestamp: r.now, Payload: p, Summary: aaep.Say(text), LocalizationHints: in("en")}
	r.a.Add(r.now, source, ev, Text(ev, aaep.VerbosityNormal))
	r.takeActions()
	return ev
}

func (r *room) addSentence(text string) {
	r.addEvent(&aaep.OutputStreaming{Chunk: text, OutputID: "out_1", CoalesceHint: aaep.BoundarySentence}, "")
}

func (r *room) wantHeard(lines ...string) {
	r.t.Helper()
	if got, want := strings.Join(r.heard, "\n"), strings.Join(lines, "\n"); got != want {
		r.t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
}

// receiptsText are the receipts, as "text-free" words: kind, outcome, sentences heard.
func (r *room) receiptsText() string {
	var all []string
	for _, receipt := range r.a.Receipts() {
		all = append(all, fmt.Sprintf("%s %s %d/%d", receipt.Kind, receipt.Outcome, receipt.Said, receipt.Of))
	}
	return strings.Join(all, ", ")
}

var thinking, working = &aaep.StateChanged{ToState: aaep.StateThinking}, &aaep.StateChanged{ToState: aaep.StateWritingOutput}
