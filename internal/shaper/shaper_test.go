package shaper

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

// place is where an event id points to.
type place struct {
	pos    uint64
	offset int
}

// departure is one event that left, and when.
type departure struct {
	Out
	at time.Time
}

// A harness drives a Shaper over a log of its own, in virtual time.
type harness struct {
	t      tester
	s      *Shaper
	terms  negotiation.Terms
	now    time.Time
	manual bool // push does not pop
	log    []*aaep.Event
	copies []string // of the log, to show that it is not changed
	pushed int
	places map[string]place
	out    []departure
	shown  int // out[:shown] has been shown
}

var harnessStart = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func newHarness(t tester, terms negotiation.Terms) *harness {
	r := &harness{t: t, terms: terms, now: harnessStart, places: map[string]place{}}
	r.s = New(terms, r.id)
	return r
}

// id is a table both ways, as the log's ids are.
func (r *harness) id(pos uint64, offset int, form uint32) string {
	id := partID(pos, offset, form)
	r.places[id] = place{pos, offset}
	return id
}

// push appends events to the log, hands them to the Shaper, and pops what may leave.
func (r *harness) push(events ...*aaep.Event) {
	r.t.Helper()
	for _, ev := range events {
		if ev.Timestamp.IsZero() {
			ev.Timestamp = r.now
		}
		pos := uint64(len(r.log) + 1)
		ev.EventID = r.id(pos, 0, 0)
		r.log, r.copies = append(r.log, ev), append(r.copies, dumpEvent(ev))
		r.pushEntry(Entry{Pos: pos, Event: ev})
	}
}

func (r *harness) pushEntry(e Entry) {
	r.t.Helper()
	r.pushed++
	r.s.Push(r.now, e)
	if !r.manual {
		r.pop()
	}
}

// pop takes what may leave now.
func (r *harness) pop() (next time.Time) {
	r.t.Helper()
	for {
		out, next := r.s.Pop(r.now)
		if out.Event == nil {
			if !next.IsZero() && !next.After(r.now) {
				r.t.Fatalf("nothing leaves at %v, yet Pop wants to be asked again at %v", r.now.Sub(harnessStart),
					next.Sub(harnessStart))
			}
			return next
		}
		if !next.IsZero() {
			r.t.Errorf("Pop gave an event and a time to ask again")
		}
		r.out = append(r.out, departure{out, r.now})
	}
}

// wait lets time pass, popping whenever the Shaper asked for it.
func (r *harness) wait(d time.Duration) {
	r.t.Helper()
	end := r.now.Add(d)
	for {
		next := r.pop()
		if next.IsZero() || next.After(end) {
			break
		}
		r.now = next
	}
	r.now = end
	r.pop()
}

// lines describes what has left since the last show.
func (r *harness) lines() (lines []string) {
	for _, d := range r.out[r.shown:] {
		lines = append(lines, line(d.Event))
	}
	r.shown = len(r.out)
	return lines
}

// want checks what has left since the last show.
func (r *harness) want(lines ...string) {
	r.t.Helper()
	if got := r.lines(); !slices.Equal(got, lines) {
		r.t.Errorf("left\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

// checkOut checks what holds for every ride: stamps, rate, ids, untouched log, and counts.
func (r *harness) checkOut() {
	r.t.Helper()
	stamps, ids := map[string]time.Time{}, map[string]bool{}
	var paced []time.Time
	whole := 0 // events in which an entry ended
	for i, d := range r.out {
		ev := d.Event
		if ev.Timestamp.Before(stamps[ev.SessionID]) {
			r.t.Errorf("departure %d, %s: stamp goes back (D-09, INV-20)", i, line(ev))
		}
		stamps[ev.SessionID] = ev.Timestamp
		if ids[ev.EventID] {
			r.t.Errorf("departure %d, %s: id %s left before (INV-23)", i, line(ev), ev.EventID)
		}
		ids[ev.EventID] = true
		if !ev.Critical() {
			paced = append(paced, d.at)
		}
		if r.ends(ev) {
			whole++
		}
	}
	if rate := int(r.terms.MaxEventsPerSecond); rate > 0 && mostInOneSecond(paced) > rate {
		r.t.Errorf("%d events in a second, want at most %d (D-49, INV-25)", mostInOneSecond(paced), rate)
	}
	for i, ev := range r.log {
		if dumpEvent(ev) != r.copies[i] {
			r.t.Errorf("the shared event %d was changed", i+1)
		}
	}
	// Every entry ended in an event that left, was merged, filtered, or is held.
	st := r.s.Stats()
	if st.Delivered != len(r.out) || whole+st.Merged+st.Filtered+st.Held != r.pushed {
		r.t.Errorf("%+v do not add up: %d pushed, %d left, %d of them at the end of an entry", st, r.pushed,
			len(r.out), whole)
	}
}

func dumpEvent(ev *aaep.Event) string { return fmt.Sprintf("%+v %+v", *ev, ev.Payload) }

// ends reports whether some entry of the log has its end in ev.
func (r *harness) ends(ev *aaep.Event) bool {
	p, ok := ev.Payload.(*aaep.OutputStreaming)
	if !ok || p.Complete {
		return true
	}
	end := p.Position + countRunes(p.Chunk)
	return slices.ContainsFunc(r.log, func(e *aaep.Event) bool {
		q, ok := e.Payload.(*aaep.OutputStreaming)
		if !ok || e.SessionID != ev.SessionID || q.OutputID != p.OutputID {
			return false
		}
		at := q.Position + countRunes(q.Chunk)
		return q.Chunk != "" && p.Position < at && at <= end
	})
}

// line describes an event; session a is not named.
func line(ev *aaep.Event) (s string) {
	switch p := ev.Payload.(type) {
	case *aaep.OutputStreaming:
		s = fmt.Sprintf("%s@%d %q %s", p.OutputID, p.Position, p.Chunk, p.CoalesceHint)
		if p.Complete {
			s += " complete"
		}
	case *aaep.StateChanged:
		s = string(p.FromState) + ">" + string(p.ToState)
	case *aaep.ProgressUpdated:
		s = "progress " + p.Progress.Description
	case *aaep.ToolInvoked:
		s = "tool " + p.Tool
	default:
		s = strings.TrimPrefix(string(ev.Type()), "aaep:agent.")
	}
	if ev.SessionID != "a" {
		s = ev.SessionID + ": " + s
	}
	return s
}

func listener(boundaries ...aaep.Boundary) negotiation.Terms {
	return negotiation.Terms{Verbosity: aaep.VerbosityNormal, ConfirmationReply: true, ClarificationReply: true,
		Boundaries: boundaries, CognitiveLoad: aaep.LoadMedium,
		Filters: negotiation.Filters{Include: []string{"aaep:agent.*"}}}
}

func paced(rate int64, boundaries ...aaep.Boundary) negotiation.Terms {
	t := listener(boundaries...)
	t.MaxEventsPerSecond = rate
	return t
}

func event(session string, p aaep.Payload) *aaep.Event {
	return &aaep.Event{SessionID: session, Verbosity: aaep.VerbosityNormal, Urgency: aaep.UrgencyNormal,
		Summary: aaep.Say("Something."), Payload: p}
}

func tool(name string) *aaep.Event { return event("a", &aaep.ToolInvoked{Tool: name}) }
func change(from, to aaep.State) *aaep.Event {
	return event("a", &aaep.StateChanged{FromState: from, ToState: to})
}
func advance(what string) *aaep.Event {
	return event("a", &aaep.ProgressUpdated{Progress: aaep.Progress{Description: what}})
}
func handoff() *aaep.Event { return event("a", &aaep.HandoffRequested{}) }
func failed() *aaep.Event  { return event("a", &aaep.SessionErrored{}) }
func done() *aaep.Event    { return event("a", &aaep.SessionCompleted{}) }

func in(session string, ev *aaep.Event) *aaep.Event {
	ev.SessionID = session
	return ev
}

// A writer makes the chunks of one output.
type writer struct {
	session, output, lang string
	position              int64
}

func (w *writer) say(chunk string) *aaep.Event   { return w.chunk(chunk, false) }
func (w *writer) close(chunk string) *aaep.Event { return w.chunk(chunk, true) }
func (w *writer) chunk(chunk string, complete bool) *aaep.Event {
	ev := event(w.session, &aaep.OutputStreaming{Chunk: chunk, Position: w.position, Complete: complete,
		OutputID: w.output, Language: w.lang, ContentType: "text/plain"})
	ev.Summary = aaep.Text{}
	w.position += countRunes(chunk)
	return ev
}

func newWriter() *writer { return &writer{session: "a", output: "o", lang: "en"} }

// D-47, D-48, D-34, D-53, HS-029, HS-036, INV-24: what passes.
func TestShaperFilters(t *testing.T) {
	all := []*aaep.Event{
		event("a", &aaep.SessionStarted{}), change(aaep.StateIdle, aaep.StateDeciding),
		change(aaep.StateDeciding, aaep.StateThinking), change(aaep.StateThinking, aaep.StateHandingOff),
		change(aaep.StateHandingOff, aaep.StateIdle),
		advance("1"), tool("t"), event("a", &aaep.ToolCompleted{}), newWriter().close("x"),
		event("a", &aaep.ExtensionPayload{Type: "medai:dose"}),
		event("a", &aaep.AwaitingConfirmation{}), event("a", &aaep.AwaitingClarification{}), handoff(),
		done(), failed(),
	}
	loud := advance("loud")
	loud.Urgency = aaep.UrgencyCritical
	all = append(all, loud)
	const critical = "handoff.requested session.errored progress!"
	for _, c := range []struct {
		name string
		set  func(*negotiation.Terms)
		want string
	}{
		{"defaults", func(*negotiation.Terms) {},
			"session.started state state state state progress tool.invoked tool.completed output.streaming " +
				"awaiting.confirmation awaiting.clarification handoff.requested session.completed session.errored " +
				"progress!"},
		{"extension", func(t *negotiation.Terms) { t.Filters.Include = []string{"medai:*"} },
			"medai:dose awaiting.confirmation awaiting.clarification " + critical},
		{"empty include is critical only", func(t *negotiation.Terms) { t.Filters.Include = nil },
			"awaiting.confirmation awaiting.clarification " + critical},
		{"exclude wins", func(t *negotiation.Terms) { t.Filters.Exclude = []string{"aaep:agent.*"} },
			"awaiting.confirmation awaiting.clarification " + critical},
		{"star only at the end", func(t *negotiation.Terms) {
			t.Filters.Include = []string{"aaep:*.invoked", "aaep:agent.session.completed"}
		},
			"awaiting.confirmation awaiting.clarification handoff.requested session.completed session.errored progress!"},
		{"no confirmation", func(t *negotiation.Terms) {
			t.ConfirmationReply = false
			t.Filters.Include = []string{"aaep:agent.awaiting.*"}
		}, "awaiting.clarification " + critical},
		{"no clarification", func(t *negotiation.Terms) {
			t.ClarificationReply = false
			t.Filters.Include = []string{"aaep:agent.awaiting.*"}
		}, "awaiting.confirmation " + critical},
		{"low", func(t *negotiation.Terms) {
			t.CognitiveLoad = aaep.LoadLow
		}, "session.started state state tool.invoked tool.completed output.streaming " +
			"awaiting.confirmation awaiting.clarification handoff.requested session.completed session.errored progress!"},
		{"high", func(t *negotiation.Terms) {
			t.CognitiveLoad = aaep.LoadHigh
		}, "session.started state state state state progress tool.invoked tool.completed output.streaming " +
			"awaiting.confirmation awaiting.clarification handoff.requested session.completed session.errored progress!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			terms := listener(aaep.BoundarySentence)
			c.set(&terms)
			r := newHarness(t, terms)
			for _, ev := range all {
				ev := *ev
				r.push(&ev)
			}
			var got []string
			for _, d := range r.out {
				name := strings.TrimPrefix(string(d.Event.Type()), "aaep:agent.")
				name = strings.TrimSuffix(strings.TrimSuffix(name, ".changed"), ".updated")
				if d.Event.Urgency == aaep.UrgencyCritical {
					name += "!"
				}
				got = append(got, name)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("left %s\nwant %s", strings.Join(got, " "), c.want)
			}
			r.checkOut()
		})
	}
}

// D-53, HS-016, §5.3.1.2: verbosity chooses words, never events; the label says which words were
// chosen.
func TestShaperWording(t *testing.T) {
	full := aaep.Text{Terse: "T", Normal: "N", Detailed: "D"}
	const terse, normal, detailed = aaep.VerbosityTerse, aaep.VerbosityNormal, aaep.VerbosityDetailed
	for _, c := range []struct {
		asked aaep.Verbosity
		load  aaep.CognitiveLoad
		have  aaep.Text
		label aaep.Verbosity
		want  aaep.Text
	}{
		{normal, aaep.LoadMedium, full, normal, aaep.Say("N")},
		{terse, aaep.LoadMedium, full, terse, aaep.Text{Terse: "T", Normal: "N"}},
		{detailed, aaep.LoadMedium, full, detailed, aaep.Text{Normal: "N", Detailed: "D"}},
		{terse, aaep.LoadMedium, aaep.Say("N"), terse, aaep.Say("N")},
		{normal, aaep.LoadLow, full, terse, aaep.Text{Terse: "T", Normal: "N"}},
		{normal, aaep.LoadLow, aaep.Say("N"), normal, aaep.Say("N")},
		{detailed, aaep.LoadLow, full, detailed, aaep.Text{Normal: "N", Detailed: "D"}},
		{normal, aaep.LoadHigh, full, normal, aaep.Say("N")},
	} {
		terms := listener(aaep.BoundarySentence)
		terms.Verbosity, terms.CognitiveLoad = c.asked, c.load
		r := newHarness(t, terms)
		ev := tool("t")
		ev.Summary = c.have
		r.push(ev)
		if got := r.out[0].Event; got.Verbosity != c.label || got.Summary != c.want {
			t.Errorf("%s, load %s: %s %+v, want %s %+v", c.asked, c.load, got.Verbosity, got.Summary, c.label, c.want)
		}
		r.checkOut()
	}
}

// texts returns the texts that left, by session and output, and complains about gaps in position
// (INV-28).
func texts(t tester, out []departure) map[string]string {
	t.Helper()
	got, closed := map[string]string{}, map[string]bool{}
	for _, d := range out {
		p, ok := d.Event.Payload.(*aaep.OutputStreaming)
		if !ok {
			continue
		}
		key := d.Event.SessionID + "/" + p.OutputID
		if p.Position != countRunes(got[key]) || closed[key] {
			t.Errorf("%s: position %d (closed %t) after %d code points", line(d.Event), p.Position, closed[key],
				countRunes(got[key]))
		}
		if len(p.Chunk) > 16384 || p.Chunk == "" && !p.Complete {
			t.Errorf("chunk of %d bytes", len(p.Chunk))
		}
		got[key] += p.Chunk
		closed[key] = p.Complete
	}
	for key := range maps.Keys(got) {
		if !closed[key] {
			t.Errorf("%s is not complete", key)
		}
	}
	return got
}

// mostInOneSecond returns the largest number of times in any window of one second, whatever their
// order.
func mostInOneSecond(times []time.Time) (most int) {
	sorted := slices.SortedFunc(slices.Values(times), time.Time.Compare)
	first := 0
	for i, at := range sorted {
		for at.Sub(sorted[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
