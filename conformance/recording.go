package conformance

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
)

// Entry is one message as it was on the wire, or something that happened.
type Entry struct {
	At   time.Time
	Link int  // which of the runner's subscribers, or of the target's connections, from 0; -1 is the hook of a subscriber
	Sent bool // to the target; otherwise it came from there
	Data []byte
	Note string // in place of Data, or what Data is if it is no message: "the producer closed the link"
}

// Recording is all that was said in one scenario run. What is sent is noted before it leaves, what
// is received when it has come, so what the producer does because of a message never stands before
// it.
type Recording struct {
	Entries []Entry
	// Scenario is what the producer was asked to do. DriverErr says why it could not be.
	Scenario  Scenario
	DriverErr error

	ended error // why the link of the first subscriber ended, if the producer did not say goodbye
	began time.Time
	limit time.Duration    // that a subscriber had to present something
	mute  string           // why it was not waited for
	plain bool             // it is known to send no request
	keys  *manifest.KeySet // for a signed manifest
	// watched says that the transport told what it noticed below the messages.
	watched bool
	// before is what was met in earlier scenario runs: the ids of sessions and events, tokens, and
	// types, languages and agreed versions as "type …", "language …" and "version …".
	before map[string]bool
	read   map[int]object // entries that were read before, by their place; nil is no JSON object
}

const (
	maxEntries = 20000
	maxBytes   = 64 << 20
)

// Of a target that floods, a recording of more than floodAt entries is looked through each
// floodPause, or when a tenth has been added, and not at each entry.
const (
	floodAt    = 500
	floodPause = 20 * time.Millisecond
)

// A recorder makes a Recording. Its methods may be called by any goroutine.
type recorder struct {
	mu      sync.Mutex
	rec     Recording
	bytes   int
	changed chan struct{} // closed at the next entry
	full    bool
	left    bool // the first subscriber wants no more
	// reporters say whether a transport reports what it notices.
	reporters []func() bool
}

// newRecorder begins the recording of one scenario run. before holds what earlier runs met.
func newRecorder(s Scenario, before map[string]bool) *recorder {
	return &recorder{rec: Recording{Scenario: s, before: before, began: time.Now(), read: map[int]object{}},
		changed: make(chan struct{})}
}

// addEntry stamps and appends an entry, wakes those that wait for one, and reports whether there is
// room for more. The entry that would exceed maxEntries or maxBytes becomes a note of a flood;
// later ones are dropped. Any goroutine may call it.
func (t *recorder) addEntry(e Entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full {
		return false
	}
	e.At = time.Now()
	if t.bytes += len(e.Data); len(t.rec.Entries) >= maxEntries || t.bytes > maxBytes {
		t.full = true
		e.Data, e.Note = nil, noteFlood
	}
	t.rec.Entries = append(t.rec.Entries, e)
	close(t.changed)
	t.changed = make(chan struct{})
	return !t.full
}

// isFull reports whether the recording has reached its limits, so that nothing more is added.
func (t *recorder) isFull() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.full
}

// markLeft records that the first subscriber leaves on purpose: the end of its link is no fault of
// the target.
func (t *recorder) markLeft() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
}

// noteEnded keeps why the link of the first subscriber ended, if that was before it left.
func (t *recorder) noteEnded(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.left {
		t.rec.ended = err
	}
}

// awaitCondition waits until the recording meets a condition, and reports whether it did before ctx
// was done, the limit was over or the recording was full. The condition is called on the caller's
// goroutine. In a flood of entries the condition is asked less often.
func (t *recorder) awaitCondition(ctx context.Context, limit time.Duration, is func(*Recording) bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	seen := 0
	for {
		t.mu.Lock()
		r := t.rec
		changed, full := t.changed, t.full
		t.mu.Unlock()
		if more := len(r.Entries) - seen; seen > floodAt && more < seen/10 && !full { // is reads the whole recording
			select {
			case <-changed:
				continue
			case <-time.After(floodPause):
			case <-timer.C:
				return is(&r)
			case <-ctx.Done():
				return false
			}
		}
		seen = len(r.Entries)
		if is(&r) {
			return true
		}
		if full {
			return false
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// message is an entry that could be read as a JSON object. Judges read it themselves: what the core
// would refuse, or repair, must still be seen.
type message struct {
	Entry
	index   int // its place in the recording
	members map[string]any
}

// stringMember returns a member that is a string, or "".
func (m message) stringMember(name string) string { s, _ := m.members[name].(string); return s }

// boolMember reports whether a member is true.
func (m message) boolMember(name string) bool { b, _ := m.members[name].(bool); return b }

// compactType returns the type in the compact spelling, in whatever spelling it was sent (D-04); ""
// for a message without one.
func (m message) compactType() string { return string(aaep.CompactType(m.stringMember("type"))) } // in any spelling (D-04)

// numberMember returns a member that is a number, or -1.
func (m message) numberMember(name string) float64 {
	if f, ok := m.members[name].(float64); ok {
		return f
	}
	return -1
}

// objectMember returns a member that is an object, or nil.
func (m message) objectMember(name string) map[string]any {
	o, _ := m.members[name].(map[string]any)
	return o
}

// isCritical reports whether the message is critical. It goes by the type too: a producer must not
// get rid of a duty by leaving out the urgency.
func (m message) isCritical() bool {
	switch m.compactType() {
	case errored, confirm, clarify, handoff:
		return true
	}
	return m.stringMember("urgency") == "critical"
}

// isTerminal reports whether the message ends its session.
func (m message) isTerminal() bool {
	return m.compactType() == completed || m.compactType() == errored || m.compactType() == cancelled
}

// messagesOn returns the messages of a link in one direction, in order. Entries that are no JSON
// objects are left out. Each entry is decoded once, and kept in r.read.
func (r *Recording) messagesOn(link int, sent bool) (list []message) {
	for i, e := range r.Entries {
		if e.Data == nil || e.Note != "" || e.Link != link || e.Sent != sent {
			continue
		}
		o, ok := r.read[i]
		if !ok {
			if jsonv2.Unmarshal(e.Data, &o) != nil {
				o = nil
			}
			r.read[i] = o
		}
		if o != nil {
			list = append(list, message{Entry: e, index: i, members: o})
		}
	}
	return list
}

// Events returns the messages that came to a subscriber in the sessions that began in this scenario
// run, as they were on the wire: to the runner's, or to the target where that is one. Judges of
// cases from outside read them.
func (r *Recording) Events(link int) (list []Entry) {
	for _, m := range r.eventsOn(link) {
		list = append(list, m.Entry)
	}
	return list
}

// Presented returns the lines in which a subscriber reported through the hook that it presents an
// event.
func (r *Recording) Presented(eventID string) (list []Entry) {
	for _, m := range r.presentedLines(eventID) {
		list = append(list, m.Entry)
	}
	return list
}

// reusesSessionID reports whether a session begins under the id of one that was met in an earlier
// scenario run: the two cannot be told apart.
func (r *Recording) reusesSessionID(begin message) bool {
	return r.before[begin.stringMember("session_id")] && !r.before[begin.stringMember("event_id")]
}

// eventsOn returns the events on a link of the sessions that began in this scenario run.
func (r *Recording) eventsOn(link int) (list []message) {
	for _, m := range r.messagesOn(link, r.limit > 0) {
		if id := m.stringMember("session_id"); id != "" && !r.before[id] {
			list = append(list, m)
		}
	}
	return list
}

// ofTypes returns those messages of a list that have one of some types, in their order.
func ofTypes(list []message, types ...string) (some []message) {
	for _, m := range list {
		for _, t := range types {
			if m.compactType() == t {
				some = append(some, m)
			}
		}
	}
	return some
}

// unreadableOn returns the messages that came on a link and are none of a subscription, nor say of
// which type and session they are.
func (r *Recording) unreadableOn(link int) (list [][]byte) {
	readable := map[int]bool{} // by the index of the entry
	for _, m := range r.messagesOn(link, false) {
		isEvent := m.compactType() != "" && m.stringMember("session_id") != ""
		readable[m.index] = isEvent || strings.HasPrefix(m.compactType(), "subscription.")
	}
	for i, e := range r.Entries {
		isMessage := !e.Sent && e.Data != nil && e.Note == ""
		if e.Link == link && isMessage && !readable[i] {
			list = append(list, e.Data)
		}
	}
	return list
}

// addKnown adds to known the ids, tokens, types and languages of this recording, by which later
// scenario runs see what is repeated.
func (r *Recording) addKnown(known map[string]bool) {
	for link := range r.linkCount() {
		for _, m := range r.messagesOn(link, false) {
			for _, name := range []string{"session_id", "event_id", "reply_token"} {
				known[m.stringMember(name)] = true
			}
			if m.compactType() == "subscription.accepted" {
				known["version "+m.stringMember("aaep_version")] = true
			}
			if m.stringMember("session_id") != "" {
				known["type "+m.compactType()] = true
				known["urgency "+m.stringMember("urgency")+" "+m.compactType()] = true
			}
			if tag := m.primaryLanguage(); tag != "" {
				known["language "+tag] = true
				for _, words := range m.textsForPeople() {
					known[wordsKey(tag, words)] = true
				}
			}
		}
	}
	delete(known, "")
}

// dropForeignSessions removes the events, from the entry with the index ended on, of sessions that
// had no event before it: they belong to the next scenario run, and so does a session that begins
// under the same id.
func (r *Recording) dropForeignSessions(ended int) {
	own, foreign := map[string]bool{}, map[int]bool{}
	for link := range r.linkCount() {
		for _, m := range r.messagesOn(link, false) {
			if id := m.stringMember("session_id"); id != "" && m.index < ended {
				own[id], own[m.stringMember("event_id")] = true, true
			}
		}
	}
	for link := range r.linkCount() {
		again := map[string]bool{}
		for _, m := range r.messagesOn(link, false) {
			id := m.stringMember("session_id")
			again[id] = again[id] || m.compactType() == started && !own[m.stringMember("event_id")]
			if id != "" && (again[id] || !own[id]) {
				foreign[m.index] = true
			}
		}
	}
	if len(foreign) == 0 {
		return
	}
	var kept []Entry
	read := map[int]object{}
	for i, e := range r.Entries {
		if foreign[i] {
			continue
		}
		if o, ok := r.read[i]; ok {
			read[len(kept)] = o
		}
		kept = append(kept, e)
	}
	r.Entries, r.read = kept, read
}

// sessionsOn returns the events on a link by session, in the order of each session's first event.
func (r *Recording) sessionsOn(link int) (list [][]message) {
	at := map[string]int{}
	for _, m := range r.eventsOn(link) {
		id := m.stringMember("session_id")
		i, ok := at[id]
		if !ok {
			i = len(list)
			at[id] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], m)
	}
	return list
}

// firstAnswer returns the first answer to the request of a link; false where none came within
// patience.
func (r *Recording) firstAnswer(link int) (message, bool) {
	got := ofTypes(r.messagesOn(link, false), "subscription.accepted", "subscription.rejected")
	if len(got) == 0 {
		return message{}, false
	}
	if asked := r.messagesOn(link, true); len(asked) > 0 && got[0].At.Sub(asked[0].At) >= patience {
		return message{}, false
	}
	return got[0], true
}

// An exchange is what the runner asked on a link, a request or a renegotiation, and the answers
// that came before it asked again.
type exchange struct {
	asked   message
	answers []message
}

// answer returns the first answer, or a message without members where none came.
func (e exchange) answer() (a message) {
	if len(e.answers) > 0 {
		a = e.answers[0]
	}
	return a
}

// exchanges returns the requests and renegotiations that were sent on a link, in order, each with
// the answers that came before the next one.
func (r *Recording) exchanges(link int) (list []exchange) {
	asked := ofTypes(r.messagesOn(link, true), "subscription.request", "subscription.renegotiate")
	answers := ofTypes(r.messagesOn(link, false), "subscription.accepted", "subscription.rejected")
	for i, m := range asked {
		e := exchange{asked: m}
		for _, a := range answers {
			if a.index > m.index && (i+1 == len(asked) || a.index < asked[i+1].index) {
				e.answers = append(e.answers, a)
			}
		}
		list = append(list, e)
	}
	return list
}

// renegotiations returns the exchanges on a link behind the first, which is the request; nil where
// there are none.
func (r *Recording) renegotiations(link int) []exchange {
	if all := r.exchanges(link); len(all) > 1 {
		return all[1:]
	}
	return nil
}

// joinedAt returns the index of the entry from which on a link is subscribed: its acceptance, or
// where the transport of the suite went on without one; ok is false where it never was.
func (r *Recording) joinedAt(link int) (at int, ok bool) {
	if a, answered := r.firstAnswer(link); answered {
		return a.index, a.compactType() == "subscription.accepted"
	}
	at = slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Link == link && e.Note == noteSubstitute })
	return at, at >= 0
}

// ourNotes are the notes on what the runner did or met by itself, without any sign of the target.
var ourNotes = []string{noteStart, noteUnstarted, noteEnd, noteLost, noteFound, noteCut, noteNoDial, noteNoSend,
	noteSubstitute}

// hasTargetActivity reports whether the target gave any sign of itself, in this scenario run or an
// earlier one: a message, or an entry that is not a note of the runner's own doings. Without one
// nothing is judged: what the runner said proves nothing, and silence is a fault of a target that
// is there.
func (r *Recording) hasTargetActivity() bool {
	return len(r.before) > 0 || slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return !e.Sent && !slices.Contains(ourNotes, e.Note) && !strings.HasPrefix(e.Note, noteNoManifest)
	})
}

// noteOn returns the first entry on a link with this note, or false.
func (r *Recording) noteOn(link int, note string) (Entry, bool) {
	for _, e := range r.Entries {
		if e.Link == link && e.Note == note {
			return e, true
		}
	}
	return Entry{}, false
}

// hasViolation reports whether the transport noticed something that its binding forbids.
func (r *Recording) hasViolation() bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool { return strings.HasPrefix(e.Note, noteBreach) })
}

// linkCount returns how many links the recording has entries of; links without an entry below the
// highest count too.
func (r *Recording) linkCount() int {
	n := 0
	for _, e := range r.Entries {
		n = max(n, e.Link+1)
	}
	return n
}
