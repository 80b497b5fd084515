package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// heard judges what a person got of the event with a label.
func heard(label string, judge func(r *Recording, m message, text string) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		m, f := r.put(label)
		if m.m == nil {
			return f
		}
		return judge(r, m, r.text(m.str("event_id")))
	}
}

// put is the event with a label, or why nothing can be judged by it: a target that had ended before, or the last
// thing it ever got, says nothing of what came later.
func (r *Recording) put(label string) (message, Finding) {
	m, ok := r.sentAs(label)
	switch {
	case r.silent() != "":
		return message{}, unseen(r.silent())
	case !ok:
		return message{}, unseen("the event was not sent: the target asked not to get it, or was gone")
	}
	for i, e := range r.Entries[:m.n] {
		if e.Link == m.Link && e.Note == noteLeft || strings.HasPrefix(e.Note, noteGone) {
			return message{}, Finding{Verdict: Inconclusive, Seen: "the target was gone before that", Evidence: r.Entries[i : i+1]}
		}
	}
	return m, Finding{}
}

// silent says why nothing that is presented could be seen, or "".
func (r *Recording) silent() string {
	if r.hooked() {
		return ""
	}
	if r.mute != "" {
		return r.mute
	}
	why := "the target tells nothing through the hook"
	if _, missed := r.noted(0, noteNoDial); missed {
		why = "the target did not connect"
	} else if _, deaf := r.noted(0, noteDeaf); deaf {
		why = noteDeaf
	} else if i := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Link == hookLink && e.Note != "" }); i >= 0 {
		why = r.Entries[i].Note
	} else if first := r.all(0, false); len(first) > 0 && first[0].typ() != "subscription.request" {
		why += ", and its first message is " + quoted(first[0].typ()) + ", no subscription.request"
	} else if len(first) == 0 && !slices.ContainsFunc(r.Entries, func(e Entry) bool { return strings.HasPrefix(e.Note, noteStream) }) {
		why += ", and said nothing over its link"
	}
	for _, e := range r.Entries {
		if strings.HasPrefix(e.Note, noteGone) {
			return why + "; " + e.Note
		}
	}
	if noticed := r.noticed(); noticed != "" {
		why += "; " + noticed
	}
	return why
}

// presents judges that an event was presented at all, with all of some texts.
func presents(label string, texts ...string) func(*Recording) Finding {
	return heard(label, func(r *Recording, m message, text string) Finding {
		entries := append([]Entry{m.Entry}, lines(r, m)...)
		if text == "" {
			return fail(short(m)+" was not presented"+r.fate(m), entries...)
		}
		for _, t := range texts {
			if !says(text, t) {
				return fail(short(m)+" was presented without "+quoted(t), entries...)
			}
		}
		return pass(short(m)+" was presented", entries...)
	})
}

// presentsAny judges that the target still presents anything: one of two events of different types.
func presentsAny(labels ...string) func(*Recording) Finding {
	return func(r *Recording) (f Finding) {
		for _, label := range labels {
			if f = presents(label)(r); f.Verdict != Fail {
				break
			}
		}
		return f
	}
}

// notLeft judges that the target does not leave after the event with a label, or after it was accepted, and then as
// judge does.
func notLeft(label string, judge func(*Recording) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		from := -1
		if m, ok := r.sentAs(label); ok && label != "" {
			from = m.n
		} else if a := of(r.all(0, true), "subscription.accepted"); label == "" && len(a) > 0 {
			from = a[0].n
		}
		if from >= 0 {
			for _, e := range r.Entries[from:] {
				if e.Link == 0 && (e.Note == noteLeft || strings.HasPrefix(e.Note, noteGone)) {
					return fail(e.Note, r.Entries[from], e)
				}
			}
		}
		return judge(r)
	}
}

// fate says if the target left when it got a message.
func (r *Recording) fate(m message) string {
	for _, e := range r.Entries[m.n+1:] {
		switch {
		case e.Sent && e.Data != nil && e.Link == m.Link:
			return ""
		case strings.HasPrefix(e.Note, noteGone) || e.Note == noteLeft && e.Link == m.Link:
			return ", and " + e.Note
		}
	}
	return ""
}

// lines are what the hook told of an event.
func lines(r *Recording, m message) []Entry { return r.Presented(m.str("event_id")) }

// form is how an event is presented, beside its words: what a person can tell two apart by.
func (r *Recording) form(m message) string {
	var all []string
	for _, t := range r.told(m.str("event_id")) {
		all = append(all, t.str("kind"), plainLetters(t.str("text")))
	}
	return strings.Join(all, "\n")
}

// differ judges that events with the same words are not presented alike.
func differ(what string, labels ...string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		seen := map[string]message{}
		var entries []Entry
		for _, label := range labels {
			m, f := r.put(label)
			if m.m == nil {
				return f
			}
			if r.text(m.str("event_id")) == "" {
				return unseen(short(m) + " was not presented at all")
			}
			if was, ok := seen[r.form(m)]; ok {
				return fail(what, append(lines(r, was), lines(r, m)...)...)
			}
			seen[r.form(m)] = m
			entries = append(entries, lines(r, m)...)
		}
		return pass("they are presented in different ways", entries...)
	}
}

const (
	theStart  = "Looking at the harbour"
	theTool   = "Counting the ships"
	theEnd    = "The work is over"
	theHint   = "Ask the harbour master."
	fragment  = "Seven ships are in and three"
	theRest   = " are out."
	theFrench = "Bonjour tout le monde."
	theError  = "The crane has stopped"
)

// tellStory is a session as it should be, and the beginning and end of two others.
func tellStory(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	a, b, d := sessionID(), sessionID(), sessionID()
	sc.presented(c.emit(c.event("started", a, started, theStart, nil)))
	c.emit(c.event("thinking", a, state, "Thinking about ships", object{"to_state": "thinking"}))
	call := with(toolCall(), object{"risk_level": "low", "irreversible": false})
	sc.presented(c.emit(c.event("invoked", a, invoked, theTool, call)))
	c.emit(c.event("toolover", a, done, "Ten ships counted", object{"tool": call["tool"], "tool_call_id": call["tool_call_id"], "status": "success"}))
	c.emit(c.event("french", a, output, "", object{"output_id": "out_" + random(), "content_type": "text/plain", "language": "fr-FR",
		"chunk": theFrench, "position": 0, "complete": true, "coalesce_hint": "completion"}))
	out := object{"output_id": "out_" + random(), "content_type": "text/plain", "language": "en-US"}
	c.emit(c.event("fragment", a, output, "", with(out, object{"chunk": fragment, "position": 0, "complete": false, "coalesce_hint": "none"})))
	// What follows in other sessions shows that the fragment has been dealt with.
	c.emit(c.event("startedtwo", b, started, "Asking the crane", nil))
	crash := c.emit(c.event("errored", b, errored, theEnd, object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": true,
		"remediation_hint": theHint}))
	sc.presented(crash, theEnd, theHint)
	c.emit(c.event("startedthree", d, started, "Waiting for the tide", nil))
	sc.presented(c.emit(c.event("cancelled", d, cancelled, theEnd, object{"cancelled_by": "user", "cancellation_reason": "user_request"})), theEnd)
	c.emit(c.event("boundary", a, output, "", with(out, object{"chunk": theRest, "position": len(fragment), "complete": true, "coalesce_hint": "completion"})))
	c.emit(c.event("still", a, state, "Nothing more to write", object{"to_state": "idle"}))
	sc.presented(c.emit(c.event("completed", a, completed, theEnd, nil)), theEnd)
}

func toolCall() object {
	return object{"tool": "count", "tool_call_id": "call_" + random()}
}

// severalEnds are how sessions end while another goes on.
var severalEnds = []struct {
	label, typ string
	more       object
}{
	{"severaldone", completed, nil},
	{"severalfailed", errored, object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false}},
	{"severalcancelled", cancelled, object{"cancelled_by": "user", "cancellation_reason": "user_request"}},
}

// tellSeveral has several sessions at once, of which one goes on while the others end, and one begins when all are over.
func tellSeveral(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	whole := sessionID()
	c.emit(c.event("severalwhole", whole, started, "A long day in the harbour", nil))
	for i, end := range severalEnds {
		s := sessionID()
		c.emit(c.event("several", s, started, fmt.Sprintf("Ship %d comes in", i+1), nil))
		sc.presented(c.emit(c.event(end.label, s, end.typ, theEnd, end.more)))
		call := toolCall()
		sc.presented(c.emit(c.event("beside"+end.label, whole, invoked, fmt.Sprintf("Counting after ship %d", i+1), call)))
		c.emit(c.event("counted", whole, done, "Counted", with(call, object{"status": "success"})))
	}
	sc.presented(c.emit(c.event("besideend", whole, completed, theEnd, nil)))
	sc.presented(c.emit(c.event("besidenew", sessionID(), started, "The next day", nil)))
}

// presentsAll judges that all events with some labels were presented that were sent, and that any was.
func presentsAll(labels ...string) func(*Recording) Finding {
	return func(r *Recording) (f Finding) {
		f = unseen("none of the events was sent")
		for _, label := range labels {
			switch one := presents(label)(r); one.Verdict {
			case Fail:
				return one
			case Pass:
				f = one
			default:
				if f.Verdict == Inconclusive {
					f = one
				}
			}
		}
		return f
	}
}

// tellUrgent has much to say, and then something that cannot wait.
func tellUrgent(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emit(c.event("hurry", s, started, "A harbour in a hurry", nil))
	c.emit(c.event("crane", other, started, "The crane works", nil))
	long := strings.Repeat("and one more ship that is long to tell of, ", 12)
	for i := range 6 {
		id := c.emit(c.event(fmt.Sprintf("long%d", i), s, invoked, fmt.Sprintf("Ship %d, %s", i, long), toolCall()))
		if i == 0 {
			sc.presented(id) // it has begun
		}
	}
	id := c.emit(c.event("urgent", other, errored, theError, object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false}))
	sc.wait(sc.patience, func(*Recording) bool { return id == "" || sc.hook.text(id) != "" })
}

// toldCases judge what a person is told of what is as it should be.
var toldCases = []Case{
	{Name: "start-told", Requirements: []string{"LVL-014", "EVT-012", "LVL-012"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "session.started is presented", Judge: presents("started")},
	{Name: "tool-told", Requirements: []string{"LVL-014"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "tool.invoked is presented", Judge: presents("invoked")},
	{Name: "completion-told", Requirements: []string{"LVL-014", "EVT-016"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "session.completed is presented", Judge: presents("completed")},
	{Name: "cancellation-told", Requirements: []string{"LVL-014"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "session.cancelled is presented", Judge: presents("cancelled")},
	{Name: "error-told", Requirements: []string{"EVT-022", "LVL-014"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "session.errored is presented, always", Judge: presents("errored")},
	{Name: "sessions-apart", Requirements: []string{"LVL-014", "TERM-010"}, Level: 1, Strength: Must, plays: []string{"several"},
		Rule:  "when one of several sessions is over, the others are presented as before, and so is a new one",
		Judge: presentsAll("besideseveraldone", "besideseveralfailed", "besideseveralcancelled", "besideend", "besidenew")},
	{Name: "handoff-told", Requirements: []string{"LVL-017"}, Level: 1, Strength: Must, plays: []string{"odd"},
		Rule: "handoff.requested is presented, always", Judge: presents("handedover")},
	{Name: "hint-told", Requirements: []string{"EVT-023"}, Level: 1, Strength: Should, plays: []string{"story"},
		Rule: "the remediation_hint of an error is presented", Judge: heard("errored", func(r *Recording, m message, text string) Finding {
			if text == "" {
				return unseen("the error was not presented at all")
			}
			return presents("errored", theHint)(r)
		})},
	{Name: "verbosity-kept", Requirements: []string{"LVL-014", "EVT-012"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "what is presented is the summary of the verbosity that the user has chosen", Judge: judgeVerbosity},
	{Name: "ends-distinct", Requirements: []string{"LVL-015"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule:  "completed, errored and cancelled can be told apart though their summaries are the same",
		Judge: differ("two ends of a session are presented alike", "completed", "errored", "cancelled")},
	{Name: "fragments-held", Requirements: []string{"EVT-061"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "a chunk with the coalesce_hint none is not presented before more of it has come, and then all of it is", Judge: judgeFragment},
	{Name: "language-kept", Requirements: []string{"I18N-018"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "a chunk is presented in the chunk's own language", Judge: heard("french", func(r *Recording, m message, text string) Finding {
			if text == "" {
				return unseen("the chunk was not presented")
			}
			for _, t := range r.told(m.str("event_id")) {
				switch language, ok := t.m["language"].(string); {
				case !ok:
					return unseen("the hook does not tell in which language it was presented")
				case !strings.HasPrefix(strings.ToLower(language), "fr"):
					return fail("a chunk in fr-FR was presented in "+quoted(language), m.Entry, t.Entry)
				}
			}
			return pass("the chunk was presented in its language", lines(r, m)...)
		})},
	{Name: "critical-distinct", Requirements: []string{"LVL-017"}, Level: 1, Strength: Must, plays: []string{"odd"},
		Rule:  "what is critical stands out from what is not though the words are the same",
		Judge: differ("a critical event is presented like any other", "calmtwin", "criticaltwin")},
	{Name: "critical-at-once", Requirements: []string{"TERM-009", "LVL-017", "TERM-012"}, Level: 1, Strength: Must, plays: []string{"urgent"},
		Rule: "what is critical is presented at once, however much else waits", Judge: heard("urgent", func(r *Recording, m message, text string) Finding {
			for i := range 6 {
				if e, ok := r.sentAs(fmt.Sprintf("long%d", i)); ok && r.text(e.str("event_id")) != "" {
					break
				}
				if i == 5 {
					return unseen("nothing else was presented, so nothing could wait")
				}
			}
			got := r.told(m.str("event_id"))
			if len(got) == 0 || got[0].At.Sub(m.At) > r.limit {
				return fail(fmt.Sprintf("an error was not presented within %v, while other events were", r.limit), append([]Entry{m.Entry}, lines(r, m)...)...)
			}
			return pass("the error was presented at once", m.Entry, got[0].Entry)
		})},
}

func judgeVerbosity(r *Recording) Finding {
	n := 0
	for label, say := range map[string]string{"started": theStart, "invoked": theTool, "completed": theEnd} {
		m, f := r.put(label)
		if m.m == nil {
			return f
		}
		text := r.text(m.str("event_id"))
		if text == "" {
			continue
		}
		n++
		want := m.str("verbosity")
		for v, words := range wordings(say) {
			if says(text, words) != (v == want) {
				return fail(fmt.Sprintf("%s was presented in other words than those of the verbosity %s", short(m), want), append([]Entry{m.Entry}, lines(r, m)...)...)
			}
		}
	}
	return some(n, "events were presented in the words that were chosen")
}

func judgeFragment(r *Recording) Finding {
	m, f := r.put("fragment")
	if m.m == nil {
		return f
	}
	rest, ok := r.sentAs("boundary")
	if !ok {
		return unseen("the target was gone before the rest was sent")
	}
	var all []message
	for _, t := range r.all(hookLink, false) {
		if id := t.str("event_id"); id == m.str("event_id") || id == rest.str("event_id") {
			all = append(all, t)
		}
	}
	for _, t := range all {
		if t.n < rest.n && says(t.str("text"), "ships are in") {
			return fail("a fragment was presented by itself", m.Entry, t.Entry)
		}
	}
	if len(all) == 0 {
		return unseen("the output was not presented at all")
	}
	if !says(r.text(m.str("event_id"))+r.text(rest.str("event_id")), fragment+theRest) {
		return fail("of an output that came in two chunks not all was presented", append([]Entry{m.Entry, rest.Entry}, lines(r, rest)...)...)
	}
	return pass("the fragment waited for the rest", m.Entry, all[0].Entry)
}
