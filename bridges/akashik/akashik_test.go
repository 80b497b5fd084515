package akashik_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/subscriber"
)

// events are a notification of each event, and what is heard of it.
var events = []struct {
	n     map[string]any
	heard string
}{
	{notification("memory.recorded", 11, 0.7, "Prices rose", "mem-a", "", false), "New: Prices rose."},
	{notification("memory.superseded", 12, 0.7, "Prices fell", "mem-a", "", false), "Replaced: Prices fell."},
	{notification("memory.contested", 13, 0.7, "Prices rose", "mem-b", "", false), "Disputed: Prices rose."},
	{notification("conflict.detected", 14, 0.7, "Two prices", "", "con-1", false), "Conflict found: Two prices."},
	{notification("conflict.resolved", 15, 0.7, "Two prices", "", "con-1", false), "Conflict settled: Two prices."},
	{notification("task.assigned", 16, 0.7, "Write it up", "", "", false), "Task assigned: Write it up."},
	{notification("task.state_changed", 17, 0.7, "Writing", "", "", false), "Task: Writing."},
	{notification("task.completed", 18, 0.7, "Written", "", "", false), "Task done: Written."},
	{notification("handoff.incoming", 19, 0.7, "Check it", "", "", false), "A task is handed over to you: Check it."},
	{notification("agent.joined", 20, 0.7, "writer-01", "", "", false), "An agent joined: writer-01."},
	{notification("agent.failed", 21, 0.7, "writer-01", "", "", false), "An agent failed: writer-01."},
	{notification("session.paused", 22, 0.7, "", "", "", false), "The session is paused."},
	{notification("session.ended", 23, 0.7, "All done", "", "", false), "The session ended: All done."},
}

// Each of the 13 events that are pushed is heard, once, in one session, which ends with the
// field's own; by either kind of link, in bare answers and in envelopes.
func TestEvents(t *testing.T) {
	for name, field := range map[string]func(*testField){
		"WebSocket":          func(*testField) {},
		"server-sent events": func(f *testField) { f.stream, f.wrap, f.token = true, true, "secret" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newField()
				field(f)
				x := newFixture(t, f)
				l := bridgetest.Listen(t, x.producer, nil)
				stop := x.follow(akashik.Config{Token: f.token, AgentID: "ear-01"})
				<-f.linked
				l.AwaitHeard(t, "It holds 0 records and 0 open conflicts.")
				want := []string{"Following the field Lab. It pushes its news.",
					"It holds 0 records and 0 open conflicts."}
				for _, e := range events {
					f.push(e.n)
					f.push(e.n) // a repeat is heard once
					want = append(want, e.heard)
					l.AwaitHeard(t, e.heard)
				}
				if heard := l.AwaitEnd(t, 1); heard != strings.Join(want, "\n") {
					t.Errorf("heard\n%s\nwant\n%s", heard, strings.Join(want, "\n"))
				}
				if err := stop(); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if n := x.producer.Stats().Questions; n != 0 {
					t.Errorf("%d questions were put", n)
				}
				if len(f.subs) != 0 || f.agents["ear-01"] {
					t.Error("the listener left subscriptions or its registration in the field")
				}
			})
		})
	}
}

// replyTo answers each question with a text, and sends that question to asked.
func replyTo(t *testing.T, answer string, asked chan<- *aaep.AwaitingClarification) func(*bridgetest.Listener,
	*aaep.Event) {
	return func(l *bridgetest.Listener, ev *aaep.Event) {
		q := ev.Payload.(*aaep.AwaitingClarification)
		asked <- q
		if answer == "" {
			return
		}
		if err := l.Sub.Question(ev).AnswerText(t.Context(), answer); err != nil {
			t.Error(err)
		}
	}
}

// theConflict is one between mem-1 and mem-2.
func theConflict(status string) map[string]any {
	return map[string]any{"id": "con-1", "type": "factual", "status": status, "unit_a": "mem-1", "unit_b": "mem-2",
		"description": "Two prices", "detected_by": "explicit"}
}

// What requires an action is told, and asked where it is to be recorded. What an answer does
// is said with the question; the answer is a RECORD of human_directive with where it comes from;
// silence, "Write nothing" and a listener who cannot answer write none.
func TestRequiredAction(t *testing.T) {
	const effect = "It does nothing else: whether an agent follows it is not known here. Silence writes nothing."
	for _, test := range []struct {
		name, answer    string
		conflict        bool
		record          bool
		listens         bool // can answer
		content, target string
		heard           string
	}{
		{name: "accept", answer: "accept", record: true, listens: true, content: "A person accepts: Buy it?",
			target: "answers mem-q",
			heard:  "Written in the field: A person accepts: Buy it? Whether an agent follows it is not known here."},
		{name: "decline", answer: "decline", record: true, listens: true, content: "A person declines: Buy it?",
			target: "answers mem-q",
			heard:  "Written in the field: A person declines: Buy it?"},
		{name: "own words", answer: "Wait for May", record: true, listens: true,
			content: "A person decides: Wait for May", target: "answers mem-q",
			heard: "Written in the field: A person decides: Wait for May."},
		{name: "a conflict", answer: "second", conflict: true, record: true, listens: true,
			content: "A person decides that this holds: Prices fell",
			target:  "supports mem-2, informs mem-1",
			heard:   "Written in the field: A person decides that this holds: Prices fell."},
		{name: "nothing", answer: "none", record: true, listens: true},
		{name: "silence", answer: "", record: true, listens: true},
		{name: "no listener who can answer", record: true,
			heard: "No listener can answer it, and nothing was written."},
		{name: "not recorded", listens: true, heard: "New: Buy it? The field says that this requires an action. It cannot be answered here."},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newField()
				x := newFixture(t, f)
				asked := make(chan *aaep.AwaitingClarification, 8)
				reply := replyTo(t, test.answer, asked)
				if !test.listens {
					reply = nil
				}
				l := bridgetest.Listen(t, x.producer, reply)
				f.record("one", "Prices rose", func(u *unit) { u.id = "mem-1" }) // before the bridge came
				stop := x.follow(akashik.Config{Record: test.record, AnswerTime: 40 * time.Second})
				<-f.linked
				l.AwaitHeard(t, "It holds 1 record")
				if test.conflict {
					f.record("two", "Prices fell", func(u *unit) { u.id = "mem-2" })
					f.change(func() { f.conflicts = []map[string]any{theConflict("detected")} })
					time.Sleep(2 * time.Minute) // until the field is asked
					l.AwaitHeard(t, "Conflict found: Two prices.")
					f.push(notification("conflict.detected", 14, 0.1, "Two prices", "", "con-1", true))
				} else {
					f.push(notification("memory.recorded", 14, 0.1, "Buy it?", "mem-q", "", true))
					f.push(notification("memory.recorded", 15, 0.1, "Buy it?", "mem-q", "", true))
				}
				if test.heard != "" {
					l.AwaitHeard(t, test.heard)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				heard := l.AwaitHeard(t, "It holds")
				switch {
				case test.record && test.listens:
					if len(asked) != 1 {
						t.Fatalf("asked %d times", len(asked))
					}
					q := <-asked
					if !strings.Contains(q.Context, effect) || len(q.Choices) != 3 || !strings.HasPrefix(q.Question,
						"The field Lab says that this requires an action: ") {
						t.Errorf("asked %+v", q)
					}
					if label := q.Choices[0].Label; test.conflict && label != "Write that this holds: Prices rose" {
						t.Errorf("the first choice is %q", label)
					}
				case len(asked) != 0:
					t.Error("what cannot be answered was asked")
				}
				stop()
				written := f.took("RECORD")
				if test.content == "" {
					if len(written) != 0 {
						t.Errorf("wrote %s", written[0].Payload)
					}
					if strings.Contains(heard, "Written in the field") {
						t.Errorf("heard that it was written:\n%s", heard)
					}
					return
				}
				if len(written) != 1 {
					t.Fatalf("wrote %d records", len(written))
				}
				checkDirective(t, written[0], test.content, test.target)
			})
		})
	}
}

// What is written is what the person was asked about, also where a record says something else by
// the time they answer.
func TestRecordChangesWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		x := newFixture(t, f)
		asked := make(chan *subscriber.Question, 1)
		l := bridgetest.Listen(t, x.producer, func(l *bridgetest.Listener,
			ev *aaep.Event) {
			asked <- l.Sub.Question(ev)
		})
		f.record("one", "Prices rose", func(u *unit) { u.id = "mem-1" })
		f.record("two", "Prices fell", func(u *unit) { u.id = "mem-2" })
		f.change(func() { f.conflicts = []map[string]any{theConflict("detected")} })
		stop := x.follow(akashik.Config{Record: true})
		<-f.linked
		l.AwaitHeard(t, "It holds 2 records")
		f.push(notification("conflict.detected", 14, 0.1, "Two prices", "", "con-1", true))
		q := <-asked
		f.push(notification("memory.recorded", 15, 0.1, "Prices doubled", "mem-2", "", false))
		l.AwaitHeard(t, "Prices doubled")
		if err := q.AnswerText(t.Context(), "second"); err != nil {
			t.Fatal(err)
		}
		l.AwaitHeard(t, "Written in the field: A person decides that this holds: Prices fell.")
		stop()
		checkDirective(t, f.took("RECORD")[0], "A person decides that this holds: Prices fell",
			"supports mem-2, informs mem-1")
	})
}
