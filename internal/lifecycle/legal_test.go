package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// Every row is a whole session, written by hand from the spec.
var legal = []struct {
	name    string
	tr      trace
	invoked int
}{
	{"the shortest session, A.1", trace{started(), completed()}, 0}, // SM-001
	{"cancelled at once, A.7.2", trace{started(), cancelled()}, 0},
	{"errored at once, A.7.2", trace{started(), errored()}, 0},
	{"a simple session with one answer", trace{
		started(), state(idle, thinking), progress(), state(thinking, writing),
		chunk("out_1", 0, "Hello. "), closing("out_1", 7, "Goodbye."), completed(),
	}, 0},
	{"a low-risk tool, A.3", trace{
		started(), state(idle, thinking), state(thinking, calling), invoked("call_1", "fetch_balance"),
		returned("call_1", "fetch_balance", aaep.ToolSuccess), state(calling, thinking), completed(),
	}, 1},
	{"a tool that never returned, EVT-052", trace{
		started(), state(idle, calling), invoked("call_1", "fetch"), returned("call_1", "fetch", aaep.ToolTimeout), completed(),
	}, 1},
	{"medium risk needs no question", trace{
		started(), state(idle, calling), risky("call_1", "send_mail", aaep.RiskMedium),
		returned("call_1", "send_mail", aaep.ToolSuccess), completed(),
	}, 1},
	{"the complete session of 4.6, every transition told", trace{ // D-29
		started(), state(idle, thinking),
		state(thinking, calling), invoked("call_1", "fetch_balance"), returned("call_1", "fetch_balance", aaep.ToolSuccess),
		state(calling, thinking), state(thinking, deciding), state(deciding, thinking),
		state(thinking, awaiting), confirm("rpl_xyz", "call_2", "transfer_funds"), settle{"rpl_xyz", aaep.Accept},
		state(awaiting, calling), irreversible("call_2", "transfer_funds"), returned("call_2", "transfer_funds", aaep.ToolSuccess),
		state(calling, writing), chunk("", 0, "Transferred $500 successfully."), closing("", 30, " New balance: $12,000."),
		completed(),
	}, 2},
	{"the lifecycle of the seed's 5.11, every transition told", trace{
		started(), state(idle, thinking),
		state(thinking, calling), invoked("call_1", "fetch_balance"), returned("call_1", "fetch_balance", aaep.ToolSuccess),
		state(calling, awaiting), confirm("rpl_xyz", "call_2", "transfer_funds"), settle{"rpl_xyz", aaep.Accept},
		state(awaiting, calling), risky("call_2", "transfer_funds", aaep.RiskHigh), returned("call_2", "transfer_funds", aaep.ToolSuccess),
		state(calling, writing), chunk("out_1", 0, "The transfer is done. "), closing("out_1", 22, "Anything else?"),
		completed(),
	}, 2},
	{"accepted, 6.10", trace{ // D-31
		started(), state(idle, awaiting), confirm("rpl_xyz", "call_1", "transfer_funds"), settle{"rpl_xyz", aaep.Accept},
		state(awaiting, calling), irreversible("call_1", "transfer_funds"), returned("call_1", "transfer_funds", aaep.ToolSuccess),
		completed(),
	}, 1},
	{"told again in the languages of a listener that changes them, then accepted", trace{ // I18N-009
		started(), state(idle, awaiting), confirm("rpl_xyz", "call_1", "transfer_funds"), spoken{"es", confirm("rpl_xyz", "call_1", "transfer_funds")},
		spoken{"en", confirm("rpl_xyz", "call_1", "transfer_funds")}, settle{"rpl_xyz", aaep.Accept},
		state(awaiting, calling), irreversible("call_1", "transfer_funds"), returned("call_1", "transfer_funds", aaep.ToolSuccess),
		spoken{"en", state(calling, awaiting)}, clarify("rpl_1"), spoken{"es", clarify("rpl_1")}, settle{"rpl_1", ""}, state(awaiting, thinking), completed(),
	}, 1},
	{"rejected, 6.7.2", trace{ // CONF-002
		started(), state(idle, thinking), state(thinking, awaiting), confirm("rpl_xyz", "call_1", "transfer_funds"),
		settle{"rpl_xyz", aaep.Reject}, state(awaiting, thinking),
		state(thinking, writing), closing("", 0, "I did not transfer anything."), completed(),
	}, 0},
	{"timeout with the countdown of 6.4.3", trace{
		started(), state(idle, awaiting), confirm("rpl_xyz", "call_1", "transfer_funds"), progress(), progress(),
		settle{"rpl_xyz", aaep.Reject}, state(awaiting, thinking), completed(),
	}, 0},
	{"a question is dropped, 6.8", trace{ // CONF-052
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "send"), settle{"rpl_1", ""}, state(awaiting, deciding), completed(),
	}, 0},
	{"cancelled while a question is open, 6.8", trace{ // CONF-051, D-30
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "send"), settle{"rpl_1", aaep.Reject}, cancelled(),
	}, 0},
	{"asked again under a new call after a rejection", trace{
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "send"), settle{"rpl_1", aaep.Reject}, state(awaiting, thinking),
		state(thinking, awaiting), confirm("rpl_2", "call_2", "send"), settle{"rpl_2", aaep.Accept}, state(awaiting, calling),
		irreversible("call_2", "send"), returned("call_2", "send", aaep.ToolSuccess), completed(),
	}, 1},
	{"asked again before acting; the last answer counts", trace{
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "send"), settle{"rpl_1", aaep.Accept},
		confirm("rpl_2", "call_1", "send"), settle{"rpl_2", aaep.Accept}, state(awaiting, calling),
		irreversible("call_1", "send"), returned("call_1", "send", aaep.ToolSuccess), completed(),
	}, 1},
	{"a low-risk call that was asked about all the same", trace{
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "save"), settle{"rpl_1", aaep.Accept}, state(awaiting, calling),
		invoked("call_1", "save"), returned("call_1", "save", aaep.ToolSuccess), completed(),
	}, 1},
	{"a confirmation that names no tool", trace{
		started(), state(idle, awaiting), confirmAbout("rpl_1", `{"tool_call_id":"call_1","amount":500}`), settle{"rpl_1", aaep.Accept},
		state(awaiting, calling), irreversible("call_1", "send"), returned("call_1", "send", aaep.ToolSuccess), completed(),
	}, 1},
	{"a confirmation without context, which covers nothing", trace{
		started(), state(idle, awaiting), confirmAbout("rpl_1", ""), settle{"rpl_1", aaep.Accept}, state(awaiting, thinking), completed(),
	}, 0},
	{"a clarification answered, A.5", trace{
		started(), state(idle, thinking), state(thinking, awaiting), clarify("rpl_1"), settle{"rpl_1", ""}, state(awaiting, thinking), completed(),
	}, 0},
	{"three questions answered in reverse order", trace{ // D-40
		started(), state(idle, awaiting),
		confirm("rpl_1", "call_1", "a"), confirm("rpl_2", "call_2", "b"), clarify("rpl_3"),
		settle{"rpl_3", ""}, state(awaiting, thinking), state(thinking, awaiting),
		settle{"rpl_2", aaep.Accept}, state(awaiting, calling), irreversible("call_2", "b"),
		returned("call_2", "b", aaep.ToolSuccess), state(calling, awaiting),
		settle{"rpl_1", aaep.Reject}, state(awaiting, thinking), completed(),
	}, 1},
	{"two settled at once, each told by a change of its own", trace{ // D-40, INV-11
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "a"), confirm("rpl_2", "call_2", "b"), clarify("rpl_3"),
		settle{"rpl_1", aaep.Reject}, settle{"rpl_2", aaep.Reject},
		state(awaiting, thinking), state(thinking, awaiting), state(awaiting, thinking), state(thinking, awaiting),
		settle{"rpl_3", ""}, state(awaiting, thinking), completed(),
	}, 0},
	{"a question settled while another's tool runs", trace{
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "a"), confirm("rpl_2", "call_2", "b"),
		settle{"rpl_1", aaep.Accept}, state(awaiting, calling), irreversible("call_1", "a"), settle{"rpl_2", aaep.Reject},
		returned("call_1", "a", aaep.ToolSuccess), state(calling, awaiting), state(awaiting, thinking), completed(),
	}, 1},
	{"a question while a tool runs, and a tool while the question is open", trace{ // CONF-003
		started(), state(idle, calling), invoked("call_1", "look"), state(calling, awaiting), confirm("rpl_1", "call_2", "send"),
		invoked("call_3", "read"), returned("call_1", "look", aaep.ToolSuccess), settle{"rpl_1", aaep.Accept}, state(awaiting, calling),
		irreversible("call_2", "send"), returned("call_3", "read", aaep.ToolSuccess), returned("call_2", "send", aaep.ToolSuccess),
		state(calling, thinking), completed(),
	}, 3},
	{"parallel tools complete in any order, A.3", trace{ // SM-006
		started(), state(idle, calling), invoked("call_1", "search"), invoked("call_2", "search"), invoked("call_3", "fetch"),
		returned("call_2", "search", aaep.ToolSuccess), returned("call_3", "fetch", aaep.ToolError), returned("call_1", "search", aaep.ToolSuccess),
		state(calling, thinking), completed(),
	}, 3},
	{"tools without ids pair by name, 4.5.2", trace{ // EVT-091
		started(), state(idle, calling), invoked("", "search"), invoked("", "fetch"), invoked("", "search"),
		returned("", "fetch", aaep.ToolSuccess), returned("", "search", aaep.ToolSuccess), returned("", "search", aaep.ToolSuccess),
		invoked("", "search"), returned("", "search", aaep.ToolSuccess), completed(),
	}, 4},
	{"ids and names side by side", trace{
		started(), state(idle, calling), invoked("call_1", "search"), invoked("", "search"),
		returned("", "search", aaep.ToolSuccess), returned("call_1", "search", aaep.ToolSuccess), completed(),
	}, 2},
	{"two outputs interleaved, and the session's own", trace{
		started(), state(idle, writing), chunk("out_1", 0, "ab"), chunk("out_2", 0, "x"), chunk("out_1", 2, "c"), chunk("", 0, "!"),
		closing("out_2", 1, "yz"), closing("out_1", 3, "d"), closing("", 1, ""), completed(),
	}, 0},
	{"positions count code points", trace{ // INV-28, EVT-056, D-27: emoji 1, Yoruba letter with a mark 2, Arabic 4
		started(), state(idle, writing), chunk("out_1", 0, "👍"), chunk("out_1", 1, "ọ́"), chunk("out_1", 3, "سلام"), closing("out_1", 7, ""), completed(),
	}, 0},
	{"an output of nothing", trace{started(), closing("out_1", 0, ""), completed()}, 0},
	{"an output in any state, A.7.7", trace{ // states that other events imply are no affair of ours
		started(), state(idle, calling), invoked("call_1", "tail"), chunk("out_1", 0, "line 1\n"),
		returned("call_1", "tail", aaep.ToolSuccess), closing("out_1", 7, "line 2\n"), completed(),
	}, 1},
	{"errored in the middle of everything, closers first", trace{ // D-30, D-50, INV-29
		started(), state(idle, awaiting), confirm("rpl_1", "call_1", "a"), confirm("rpl_2", "call_2", "b"),
		settle{"rpl_1", aaep.Accept}, state(awaiting, calling), irreversible("call_1", "a"), chunk("out_1", 0, "Half a sen"),
		settle{"rpl_2", aaep.Reject}, returned("call_1", "a", aaep.ToolError), closing("out_1", 10, "tence"), errored(),
	}, 1},
	{"progress, handoff and extensions anywhere", trace{
		started(), extension(), handoff(), state(idle, awaiting), clarify("rpl_1"), extension(), progress(), settle{"rpl_1", ""},
		state(awaiting, aaep.StateHandingOff), handoff(), extension(), completed(),
	}, 0},
	{"states of one's own", trace{started(), state(idle, "juggling"), state("juggling", idle), completed()}, 0}, // SM-002
}

// What the state machine allows passes, leaves nothing open, and has nothing after its end.
func TestLegal(t *testing.T) {
	for _, tt := range legal {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, tt.tr)
			if !s.Over() {
				t.Error("Over() = false after the terminal event")
			}
			if n := s.ToolInvocations(); n != tt.invoked {
				t.Errorf("ToolInvocations() = %d, want %d", n, tt.invoked)
			}
			if len(s.OpenTools())+len(s.OpenOutputs())+len(s.OpenQuestions()) != 0 {
				t.Errorf("open after the end: %v %v %v", s.OpenTools(), s.OpenOutputs(), s.OpenQuestions())
			}
			// INV-29, EVT-005: whatever the session was, nothing follows it.
			before := snapshot(s)
			if got := broken(t, apply(s, len(tt.tr), progress())); got != "EVT-005" || !same(s, before) {
				t.Errorf("an event after the end broke %q, want EVT-005 and no change", got)
			}
		})
	}
}

// What is open comes in the order in which it was opened, and what is handed out is the caller's.
func TestOpen(t *testing.T) {
	s := new(Session)
	if s.State() != idle || s.Over() || s.ToolInvocations() != 0 || s.OpenTools() != nil || s.OpenOutputs() != nil || s.OpenQuestions() != nil {
		t.Errorf("the zero Session is not an idle one: %+v", s)
	}
	s = play(t, trace{
		started(), state(idle, awaiting), clarify("rpl_1"), clarify("rpl_2"), clarify("rpl_3"), settle{"rpl_2", ""},
		state(awaiting, calling), invoked("call_2", "b"), invoked("", "a"), invoked("call_1", "a"), returned("", "a", aaep.ToolSuccess),
		chunk("out_2", 0, "héllo"), chunk("", 0, "x"), chunk("out_1", 0, "y"), closing("", 1, ""), chunk("out_2", 5, "👍"),
	})
	if got, want := s.OpenTools(), []ToolCall{{"call_2", "b"}, {"call_1", "a"}}; !slices.Equal(got, want) {
		t.Errorf("OpenTools() = %v, want %v", got, want)
	}
	if got, want := s.OpenOutputs(), []Output{{"out_2", 6}, {"out_1", 1}}; !slices.Equal(got, want) {
		t.Errorf("OpenOutputs() = %v, want %v", got, want)
	}
	if got, want := s.OpenQuestions(), []aaep.ReplyToken{"rpl_1", "rpl_3"}; !slices.Equal(got, want) {
		t.Errorf("OpenQuestions() is not rpl_1, rpl_3")
	}
	if s.State() != calling || s.ToolInvocations() != 3 || s.Over() {
		t.Errorf("State, ToolInvocations, Over = %q, %d, %v; want calling_tool, 3, false", s.State(), s.ToolInvocations(), s.Over())
	}
	// What is handed out is the caller's.
	s.OpenTools()[0].Tool, s.OpenOutputs()[0].Position, s.OpenQuestions()[0] = "", 0, ""
	if s.OpenTools()[0].Tool != "b" || s.OpenOutputs()[0].Position != 6 || s.OpenQuestions()[0] != "rpl_1" {
		t.Error("a caller changed the Session through a slice it was given")
	}
}

// SM-016: a producer that joins a session has states of its own, and may not begin the session
// again.
func TestJoin(t *testing.T) {
	var s Session
	s.Join("sess_1")
	next := func(p aaep.Payload) error {
		return s.Next(&aaep.Event{SessionID: "sess_1", Timestamp: time.Unix(1, 0), Payload: p})
	}
	if err := next(started()); err == nil {
		t.Error("a session began twice")
	}
	for _, p := range []aaep.Payload{state(idle, thinking), state(thinking, calling), completed()} {
		if err := next(p); err != nil {
			t.Errorf("%s: %v", p.EventType(), err)
		}
	}
	if !s.Over() {
		t.Error("the end is shared, but the session goes on")
	}
}
