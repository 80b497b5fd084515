package soak_test

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
)

// A verdict is what one listener heard, beside the truth.
type verdict struct {
	*truth
	terms aaep.Capabilities
	found []string // what is wrong
	about string   // with the states of this session

	got    map[int]bool     // the events that were heard
	spans  map[string]*span // the texts that were heard
	oldest int              // the first event that was heard, but for questions, or -1
	rates  map[string][]time.Time
	events int
	placed bool // it heard an event to go on after
	begun  []beginning
	// the SDK's own subscriber, which hands on no question that comes late, and at once with what
	// settled it
	real bool

	// What a listener believes that leaves out what it has received by its id.
	had      map[string]bool
	bytes    map[string]string     // what an id meant
	state    map[string]aaep.State // by session
	progress map[string]int        // by session

	// of the subscription
	chain    map[string]aaep.State // by session
	from     map[string]aaep.State // what an id meant
	anywhere bool                  // it begins after no event, in the middle of sessions

	// of the link
	now     *link
	twice   map[string]bool
	last    map[string]int // by session: the newest event that is not critical
	stamps  map[string]time.Time
	ended   map[string]bool
	reached map[string]int // by output
}

// A beginning is when a subscription began, and after how many events of the log.
type beginning struct {
	at    time.Time
	after int
}

// A span is how much of a text was heard, in characters.
type span struct {
	from, to int
	whole    bool
}

func (v *verdict) wrong(format string, args ...any) {
	v.found = append(v.found, fmt.Sprintf(format, args...))
}

// judge compares a journal with what it must hold.
func (tr *truth) judge(terms aaep.Capabilities, notes []note, real bool) *verdict {
	v := &verdict{truth: tr, terms: terms, real: real, oldest: -1, rates: map[string][]time.Time{},
		bytes: map[string]string{}, got: map[int]bool{}, spans: map[string]*span{},
		had: map[string]bool{}, state: map[string]aaep.State{}, progress: map[string]int{}}
	closed := false
	for _, n := range notes {
		v.placed = v.placed || n.Place != ""
		switch {
		case n.Link != nil:
			v.link(n.At, n.Link)
		case n.Event != nil && v.now == nil:
			v.wrong("%s came before any link", n.Event)
		case n.Event != nil:
			v.heard(n)
		case n.Closed != "":
			closed = true
		}
	}
	if !closed {
		v.wrong("it was never told that the producer ends")
	}
	v.missing()
	v.missingText()
	v.tooFast()
	return v
}

// link begins a new stream.
func (v *verdict) link(at time.Time, l *link) {
	if l.After != "" && !l.GoesOn {
		v.wrong("the subscription %s does not go on after %s, though the log has all", l.Subscription, l.After)
	}
	lost := l.Kept && !l.GoesOn
	if lost && v.placed {
		v.wrong("the subscription %s does not go on where the one before it ended", l.Subscription)
	}
	other := v.now == nil || v.now.Subscription != l.Subscription
	v.now = l
	if other {
		after, _ := v.after()
		v.begun = append(v.begun, beginning{at, after})
	}
	if other { // states are told under new ids
		v.chain, v.from, v.anywhere = map[string]aaep.State{}, map[string]aaep.State{}, l.After == ""
		after, _ := v.after()
		for _, ev := range v.truth.events[:after] {
			if p, ok := ev.Payload.(*aaep.StateChanged); ok {
				v.chain[ev.SessionID] = p.ToState
			}
		}
	}
	if l.Kept && !lost {
		v.stamps = map[string]time.Time{}
		return
	}
	if l.After == "" { // it begins here: whatever came before, it was never promised that it would go on
		v.got, v.spans, v.oldest = map[int]bool{}, map[string]*span{}, -1
	}
	v.twice, v.last, v.stamps = map[string]bool{}, map[string]int{}, map[string]time.Time{}
	v.ended, v.reached = map[string]bool{}, map[string]int{}
}

// paced reports whether states and progress may be folded.
func (v *verdict) paced() bool { return v.terms.MaxEventsPerSecond > 0 }

// after is the number of events up to the place where the stream goes on, and how many bytes of the
// last of them count.
func (v *verdict) after() (events, bytes int) {
	if v.now.After == "" {
		return 0, 0
	}
	at, _, ok := v.Locate(v.now.After)
	if !ok {
		v.wrong("%s is no place of this log", v.now.After)
	}
	return int(at.Pos), at.Offset
}

func (v *verdict) heard(n note) {
	v.events++
	ev, ok := decoded(n.Event)
	if !ok {
		v.wrong("%s is no valid event", n.Event)
		return
	}
	if sum := string(n.Event); v.bytes[ev.EventID] == "" {
		v.bytes[ev.EventID] = sum
	} else if v.bytes[ev.EventID] != sum {
		v.wrong("%s\ncame before as\n%s", sum, v.bytes[ev.EventID])
	}
	switch {
	case v.twice[ev.EventID] && !(v.now.Kept && asks(ev)): // a question that is open is asked again over another link
		v.wrong("%s %s came twice over one link", ev.Type(), ev.EventID)
	case ev.Timestamp.Before(v.stamps[ev.SessionID]):
		v.wrong("%s %s has a stamp %v before the one before it", ev.Type(), ev.EventID,
			v.stamps[ev.SessionID].Sub(ev.Timestamp))
	case v.ended[ev.SessionID]:
		v.wrong("%s %s comes after the end of its session", ev.Type(), ev.EventID)
	}
	v.twice[ev.EventID], v.stamps[ev.SessionID] = true, ev.Timestamp
	v.ended[ev.SessionID] = ev.Type().Terminal()
	if !ev.Critical() {
		v.rates[v.now.Subscription] = append(v.rates[v.now.Subscription], n.At)
	}
	if p, ok := ev.Payload.(*aaep.OutputStreaming); ok {
		v.text(ev, p)
		return
	}
	i, known := v.number(ev.EventID)
	if p, ok := ev.Payload.(*aaep.StateChanged); ok {
		v.changed(i, ev, p)
	}
	switch {
	case known:
		v.event(ev, i)
	case ev.Type() != aaep.TypeStateChanged || v.now.After != "": // what the agent was doing when the listener came
		v.wrong("%s %s is not in the log", ev.Type(), ev.EventID)
	}
	v.had[ev.EventID] = true
}

// changed follows the states of a session. They are a chain over each subscription, for those who
// leave out what they have heard.
func (v *verdict) changed(i int, ev *aaep.Event, p *aaep.StateChanged) {
	if from, again := v.from[ev.EventID]; again && from == p.FromState {
		return
	} else if again {
		v.wrong("%s was from %s, and is from %s", ev.EventID, from, p.FromState)
	}
	v.from[ev.EventID] = p.FromState
	was, any := v.chain[ev.SessionID]
	if !any && (!v.anywhere || v.got[v.begins[ev.SessionID]]) {
		was, any = aaep.StateIdle, true
	}
	skipped := func(e *aaep.Event) bool { // from or to a state that no listener wanted to hear of
		return e.SessionID == ev.SessionID && e.Type() == aaep.TypeStateChanged && !wants(v.terms, e)
	}
	// What waits when a session fails is superfluous, but not what came of a question. What is not
	// in the log begins a chain.
	if i >= 0 && any && was != p.FromState && !v.errored[ev.SessionID] &&
		!slices.ContainsFunc(v.truth.events[:i], skipped) {
		v.wrong("%s, number %d: %s to %s was told after %s", ev.EventID, i, p.FromState, p.ToState, was)
		v.about = ev.SessionID
	}
	v.chain[ev.SessionID] = p.ToState
	if !v.had[ev.EventID] {
		v.state[ev.SessionID] = p.ToState
	}
}

func asks(ev *aaep.Event) bool {
	return ev.Type() == aaep.TypeAwaitingConfirmation || ev.Type() == aaep.TypeAwaitingClarification
}

func (v *verdict) event(ev *aaep.Event, i int) {
	want := told(v.terms, *v.truth.events[i])
	after, _ := v.after()
	switch {
	case !wants(v.terms, want):
		v.wrong("%s %s was not asked for", ev.Type(), ev.EventID)
	case i < after && !asks(ev):
		v.wrong("%s %s, number %d, comes after number %d", ev.Type(), ev.EventID, i, after)
	case !want.Critical():
		// What was folded may come by itself over another link.
		if before, any := v.last[ev.SessionID]; any && i < before &&
			!(v.now.Kept && (ev.Type() == aaep.TypeStateChanged || ev.Type() == aaep.TypeProgressUpdated)) {
			v.wrong("%s %s, number %d, comes after number %d of its session", ev.Type(), ev.EventID, i, before)
		}
		v.last[ev.SessionID] = i
	}
	want.EventID = ev.EventID
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		if q := *want.Payload.(*aaep.StateChanged); v.paced() {
			q.FromState = p.FromState
			want.Payload = &q
		}
	case *aaep.ProgressUpdated:
		if !v.had[ev.EventID] {
			v.progress[ev.SessionID] = i
		}
	}
	v.got[i] = true
	if !asks(ev) && (v.oldest < 0 || i < v.oldest) {
		v.oldest = i
	}
	if string(ev.Extensions["delivery"]) == `{"resumable":false}` {
		ev.Extensions, ev.Context = nil, want.Context
	}
	if ev.Timestamp.After(want.Timestamp) { // it was overtaken
		ev.Timestamp = want.Timestamp
	}
	if v.errored[ev.SessionID] && v.terms.MaxEventsPerSecond > 0 { // it made way for what is critical
		ev.Urgency = want.Urgency
	}
	got, err := ev.MarshalJSON()
	if err != nil {
		v.wrong("%s: %v", ev.EventID, err)
	}
	if expected, err := want.MarshalJSON(); err != nil || string(got) != string(expected) {
		v.wrong("%s\nis not (%v)\n%s", got, err, expected)
	}
}

func (v *verdict) text(ev *aaep.Event, p *aaep.OutputStreaming) {
	out := v.outputs[p.OutputID]
	if out == nil || !wants(v.terms, v.truth.events[out.entries[0].event]) {
		v.wrong("the text %s is not in the log, or was not asked for", p.OutputID)
		return
	}
	from, to := int(p.Position), int(p.Position)+utf8.RuneCountInString(p.Chunk)
	if from < 0 || to > len(out.text) || string(out.text[from:to]) != p.Chunk {
		v.wrong("the text %s has at %d %q, which is not what was said", p.OutputID, from, p.Chunk)
		return
	}
	ends := to == len(out.text) && out.complete
	if p.Complete && !ends || p.Chunk == "" && !p.Complete {
		v.wrong("the text %s has %q at %d and complete %v", p.OutputID, p.Chunk, from, p.Complete)
	}
	place, _, ok := v.Locate(ev.EventID)
	pos, offset := place.Pos, place.Offset
	if !ok || pos == 0 || pos > uint64(len(v.truth.events)) {
		v.wrong("%s of the text %s is no place of the log", ev.EventID, p.OutputID)
		return
	}
	if at, _ := v.truth.events[pos-1].Payload.(*aaep.OutputStreaming); at == nil || at.OutputID != p.OutputID ||
		offset > len(at.Chunk) ||
		offset > 0 && int(at.Position)+utf8.RuneCountInString(at.Chunk[:offset]) != to || offset == 0 &&
		int(at.Position)+utf8.RuneCountInString(at.Chunk) != to {
		v.wrong("%s of the text %s ends at %d, and is the place %d of the event %d", ev.EventID, p.OutputID, to,
			offset, pos)
	}
	if after, bytes := v.after(); int(pos) < after || int(pos) == after && bytes == 0 || int(pos) == after &&
		offset > 0 && offset <= bytes {
		v.wrong("the text %s at %d comes after number %d", p.OutputID, from, after)
	}
	for _, e := range out.entries {
		if e.from < to && e.to > from && v.truth.events[e.event].Language() != ev.Language() {
			v.wrong("the text %s says at %d %q as %s", p.OutputID, from, p.Chunk, ev.Language())
		}
		if e.from <= from && from < e.to && (v.oldest < 0 || e.event < v.oldest) {
			v.oldest = e.event
		}
	}
	reached, again := v.reached[p.OutputID]
	heard := v.spans[p.OutputID]
	switch {
	case again && reached != from:
		v.wrong("the text %s goes on at %d after %d", p.OutputID, from, reached)
	case heard == nil:
		heard = &span{from: from}
		v.spans[p.OutputID] = heard
	case from > heard.to:
		v.wrong("the text %s lacks what is from %d to %d", p.OutputID, heard.to, from)
	}
	v.reached[p.OutputID], heard.to, heard.whole = to, max(heard.to, to), heard.whole || p.Complete
}
