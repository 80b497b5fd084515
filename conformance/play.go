package conformance

import (
	"fmt"
	"time"
)

// play is how the runner's subscribers behave in one scenario.
type play struct {
	name     string
	does     string // what the subscribers and the agent do, in words
	scenario Scenario
	level    int // the least level at which it is played
	run      func(*stage)
}

func playNamed(name string) play {
	for _, p := range plays {
		if p.name == name {
			return p
		}
	}
	panic(fmt.Sprintf("there is no play %q", name))
}

// watch follows a session and says nothing.
func watch(st *stage) {
	l := st.subscribe(usual())
	st.start()
	st.end(l, slow)
}

// answers plays a subscriber that does something about the question.
func answers(do func(*link, message)) func(*stage) {
	return func(st *stage) {
		l := st.subscribe(usual())
		st.start()
		q, ok := st.await(l, slow, confirm, completed, errored, cancelled)
		if ok && q.typ() == confirm {
			do(l, q)
		}
		st.end(l, slow)
	}
}

// doubtful sends replies that must have no effect, and later a good no.
func doubtful(do func(*link, message)) func(*stage) {
	return answers(func(l *link, q message) {
		do(l, q)
		l.st.pause(settle)
		l.reply(q, "reject", nil)
	})
}

// hears gives the target time to hear what was said on a link, unless it closes the link first.
func (st *stage) hears(l *link) {
	st.tape.wait(st.ctx, settle, func(r *Recording) bool {
		_, over := r.noted(l.n, noteClosed)
		return over
	})
}

// second waits for a question after q.
func (l *link) second(q message) (message, bool) {
	var got []message
	l.st.tape.wait(l.st.ctx, patience, func(r *Recording) bool {
		got = of(r.events(l.n), confirm)
		return len(got) > 1 || len(of(r.events(l.n), completed, errored, cancelled)) > 0
	})
	if len(got) < 2 {
		return message{}, false
	}
	return got[1], true
}

// lateInWindows pauses until windows of a second that began with a subscription made just now, or with a second of the clock, are a
// third to four fifths over: a producer that counts in them fills one and, before half a second is over, the next.
func (st *stage) lateInWindows() {
	const early, late = 300 * time.Millisecond, 800 * time.Millisecond
	soon := time.Now().Add(early)
	switch part := soon.Sub(soon.Truncate(time.Second)); {
	case part < early:
		st.pause(early + early - part)
	case part > late:
		st.pause(early + time.Second + early - part)
	default:
		st.pause(early)
	}
}

// nearlyASecondAgo has a short session begin, and returns when that second is nearly over: a producer that counts in windows, which
// open with the first event, can fill the rest of one and, a moment later, the next. A budget that is refilled smoothly is full by
// then, and no fuller.
func (st *stage) nearlyASecondAgo(l *link) {
	const nearly = 850 * time.Millisecond
	st.drive(Scenario{Name: Idle})
	st.tape.wait(st.ctx, patience, func(r *Recording) bool { return len(r.events(l.n)) > 0 || st.silenced(r, l) })
	if first := st.tape.now().events(l.n); len(first) > 0 {
		st.await(l, patience, completed, errored, cancelled)
		st.pause(nearly - time.Since(first[0].At))
	}
}

// greeting asks, and does no more.
func greeting(name, does string, req object) play {
	return play{name, does, Scenario{}, 3, func(st *stage) { st.ask(req) }}
}

// properAnswer is one that the question allows.
func properAnswer(q message) any {
	kinds, _ := q.m["accepted_response_kinds"].([]any)
	for _, k := range kinds {
		switch k {
		case "yes_no":
			return true
		case "numeric":
			return 7
		case "multiple_choice":
			if list, _ := q.m["choices"].([]any); len(list) > 0 {
				if c, _ := list[0].(map[string]any); c != nil {
					return c["value"]
				}
			}
		}
	}
	return "An answer."
}
