package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// step makes a step out of two bytes: mostly plausible, sometimes absurd. now is the session's
// state.
func step(kind, arg byte, now aaep.State, n int) any {
	states := []aaep.State{idle, thinking, awaiting, calling, awaiting, calling, writing, ""}
	pick := func(list ...string) string { return list[int(arg>>4)%len(list)] }
	call := pick("call_1", "call_2", "call_3", "")
	tool := []string{"a", "b"}[arg&1]
	token := aaep.ReplyToken(pick("rpl_1", "rpl_2", "rpl_3", "rpl_4", "rpl_5"))
	out := pick("out_1", "", "out_2")
	text := []string{"a", "né👍", "", "ọ́", "\xff"}[int(arg>>2)%5]
	position := []int64{0, 1, 3, 4, int64(n) % 9, -1, 1<<63 - 1}[int(arg)%7]
	session, when := "sess_1", epoch.Add(time.Duration(n)*time.Second)
	var p aaep.Payload
	switch kind % 32 {
	case 0:
		p = started()
	case 1:
		p = []aaep.Payload{completed(), errored(), cancelled()}[int(arg)%3]
	case 2, 3, 4, 5, 6, 7, 8:
		p = state(now, states[arg&7])
	case 9:
		p = state(states[arg&7], states[arg>>5])
	case 10, 11:
		p = invoked(call, tool)
	case 12, 13:
		p = irreversible(call, tool)
	case 14:
		p = risky(call, tool, []aaep.Risk{aaep.RiskLow, aaep.RiskHigh, "odd"}[int(arg>>1)%3])
	case 15, 16, 17:
		p = returned(call, tool, aaep.ToolSuccess)
	case 18, 19, 20:
		p = chunk(out, position, text)
	case 21:
		p = closing(out, position, text)
	case 22, 23, 24:
		p = confirm(token, pick("call_1", "call_2", "call_3", "", "call_2"), []string{"a", "b", ""}[int(arg)%3])
	case 25:
		p = confirmAbout(token, []string{"", "{", "null", "[]", `{"tool_call_id":{}}`}[int(arg)%5])
	case 26:
		p = clarify(token)
	case 27, 28:
		return settle{token, []aaep.Decision{aaep.Accept, aaep.Accept, aaep.Reject, ""}[arg&3]}
	case 29:
		p = []aaep.Payload{progress(), handoff(), extension()}[int(arg)%3]
	case 30:
		session, p = "sess_2", progress()
	case 31:
		when, p = epoch, []aaep.Payload{progress(), nil, (*aaep.StateChanged)(nil)}[int(arg)%3]
	}
	return &aaep.Event{SessionID: session, Timestamp: when, Payload: p}
}

// A witness remembers what was accepted and judges it from the spec, in other words than the
// machine: it looks at the whole past each time.
type witness struct{ past []any }

func (w *witness) count(is func(any) bool) (n int) {
	for _, x := range w.past {
		if is(x) {
			n++
		}
	}
	return n
}

func payloadOf[P aaep.Payload](x any) (p P, ok bool) {
	if ev, isEvent := x.(*aaep.Event); isEvent {
		p, ok = ev.Payload.(P)
	}
	return p, ok
}

func terminal(x any) bool {
	ev, ok := x.(*aaep.Event)
	return ok && ev.Type().Terminal()
}

// accepted says what is wrong with x having been accepted after all that was before, or "".
func (w *witness) accepted(x any) string {
	defer func() { w.past = append(w.past, x) }()
	_, start := payloadOf[*aaep.SessionStarted](x)
	if start != (len(w.past) == 0) { // EVT-002, EVT-003
		return "session.started is not the first event, or not the only one"
	}
	if w.count(terminal) > 0 { // EVT-005
		return "something follows the terminal event"
	}
	if ev, ok := x.(*aaep.Event); ok {
		for _, y := range w.past {
			if e, ok := y.(*aaep.Event); ok && (e.SessionID != ev.SessionID || ev.Timestamp.Before(e.Timestamp)) {
				return "another session or an earlier time" // ENV-018, ENV-023
			}
		}
	}
	if p, ok := payloadOf[*aaep.StateChanged](x); ok {
		now := idle
		for _, y := range w.past {
			if c, ok := payloadOf[*aaep.StateChanged](y); ok {
				now = c.ToState
			}
		}
		if p.FromState != now || p.ToState == now { // EVT-029, EVT-030
			return "the chain of states is broken"
		}
	}
	if p, ok := payloadOf[*aaep.ToolInvoked](x); ok {
		answers := w.answers(p.ToolCallID)
		if slices.Contains(answers, "no") || slices.Contains(answers, "open") || // SM-009, CONF-001
			(p.Irreversible != nil || p.RiskLevel == aaep.RiskHigh || p.RiskLevel == "odd") && len(answers) == 0 { // EVT-042, TERM-016
			return "a tool runs without consent"
		}
	}
	if p, ok := payloadOf[*aaep.OutputStreaming](x); ok {
		text := ""
		for _, y := range w.past {
			if o, ok := payloadOf[*aaep.OutputStreaming](y); ok && o.OutputID == p.OutputID {
				text += o.Chunk
				if o.Complete { // EVT-058
					return "a chunk follows the closing one"
				}
			}
		}
		if int64(len([]rune(text))) != p.Position || p.Chunk == "" && !p.Complete { // EVT-055, EVT-056, INV-28
			return "the chunks do not join"
		}
	}
	return ""
}

// answers lists what became of every confirmation of the call: "open", "yes" or "no".
func (w *witness) answers(id string) (list []string) {
	for i, y := range w.past {
		p, ok := payloadOf[*aaep.AwaitingConfirmation](y)
		if !ok || id == "" || !strings.Contains(string(p.ExtraContext), `"tool_call_id":"`+id+`"`) {
			continue
		}
		answer := "open"
		for _, z := range w.past[i:] {
			if d, ok := z.(settle); ok && d.token == p.ReplyToken {
				answer = map[bool]string{true: "yes", false: "no"}[d.d == aaep.Accept]
			}
		}
		list = append(list, answer)
	}
	return list
}

// balance compares the counts that must agree: at the end of the session exactly, before it at
// most.
func (w *witness) balance(over bool) string {
	calls := w.count(func(x any) bool { _, ok := payloadOf[*aaep.ToolInvoked](x); return ok })
	returns := w.count(func(x any) bool { _, ok := payloadOf[*aaep.ToolCompleted](x); return ok })
	asked := w.count(func(x any) bool {
		_, c := payloadOf[*aaep.AwaitingConfirmation](x)
		_, q := payloadOf[*aaep.AwaitingClarification](x)
		return c || q
	})
	settled := w.count(func(x any) bool { _, ok := x.(settle); return ok })
	if returns > calls || settled > asked || over && (returns != calls || settled != asked) { // SM-003, EVT-091, SM-014
		return fmt.Sprintf("%d calls, %d completions, %d questions, %d settlements, over %v", calls, returns, asked, settled, over)
	}
	return ""
}

// drive runs random steps, then ends the session the way D-30 says.
func drive(t *testing.T, data []byte) (taken int) {
	s, w := new(Session), new(witness)
	try := func(n int, x any) error {
		before := snapshot(s)
		err := apply(s, n, x)
		if err != nil {
			if broken(t, err); !same(s, before) {
				t.Fatalf("refused step %d, %T, changed the Session: %v", n, x, err)
			}
			return err
		}
		if wrong := w.accepted(x); wrong != "" {
			t.Fatalf("step %d, %T, was accepted: %s", n, x, wrong)
		}
		if wrong := w.balance(s.Over()); wrong != "" {
			t.Fatalf("after step %d, %T: %s", n, x, wrong)
		}
		taken++
		return nil
	}
	must := func(x any) {
		if p, ok := x.(aaep.Payload); ok {
			x = at("sess_1", time.Hour, p)
		}
		if err := try(1<<20, x); err != nil {
			t.Fatalf("closing down: %v", err)
		}
	}
	for n := 0; n+1 < len(data); n += 2 {
		_ = try(n, step(data[n], data[n+1], s.State(), n))
	}
	if s.Over() || len(w.past) == 0 {
		return taken
	}
	// INV-29: there is a way out of every state.
	for _, token := range s.OpenQuestions() {
		must(settle{token, aaep.Reject})
	}
	for _, tool := range s.OpenTools() {
		must(returned(tool.ToolCallID, tool.Tool, aaep.ToolError))
	}
	for _, o := range s.OpenOutputs() {
		must(closing(o.OutputID, o.Position, ""))
	}
	must(errored())
	return taken
}

// What FuzzNext demands holds of random sessions, of which enough get somewhere.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	taken := 0
	for range rounds {
		data := make([]byte, 2*r.IntN(80))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if len(data) > 0 {
			data[0] = 0 // begin, or nothing would be legal for long
		}
		taken += drive(t, data)
	}
	t.Logf("%d sessions, %d steps taken", rounds, taken)
	if taken < 5*rounds {
		t.Errorf("only %d steps of %d sessions were legal: the test looks at nothing", taken, rounds)
	}
}

// take moves past whatever it is given: that is what a lenient machine will be built on. A
// rejection stays one there too (SM-009).
func TestTakeJudgesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := new(Session)
	for n := range 5000 {
		switch x := step(byte(r.Uint32()), byte(r.Uint32()), s.State(), n).(type) {
		case settle:
			_ = s.Settled(x.token, x.d)
		case *aaep.Event:
			if hasPayload(x) {
				s.applyEvent(x)
			}
		}
	}
	s = play(t, append(slices.Clone(asked), settle{"rpl_1", aaep.Reject}))
	s.applyEvent(at("sess_1", time.Minute, confirm("rpl_2", "call_1", "send")))
	if err := s.Settled("rpl_2", aaep.Accept); err != nil {
		t.Fatal(err)
	}
	err := s.Next(at("sess_1", time.Minute, irreversible("call_1", "send")))
	if got := broken(t, err); got != "SM-009 SM-005" {
		t.Errorf("invoked after a rejection broke %q, want SM-009 SM-005", got)
	}
}

// What a Session takes breaks no rule, what it refuses changes nothing, and there is a way out of
// every state.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0, 0, 2, 2, 22, 0, 27, 0, 2, 3, 12, 0, 15, 0, 18, 0, 21, 1, 1, 0})
	f.Add([]byte{0, 0, 2, 3, 10, 0, 10, 17, 15, 17, 15, 0, 1, 1, 29, 0})
	f.Add([]byte{0, 0, 2, 2, 22, 0, 27, 2, 12, 0, 2, 1, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			t.Skip("long sessions are only slow")
		}
		drive(t, data)
	})
}
