package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/aaep-go/aaep"
)

// at returns p as an event of its own session and time.
func at(session string, d time.Duration, p aaep.Payload) *aaep.Event {
	return &aaep.Event{SessionID: session, Timestamp: epoch.Add(d), Payload: p}
}

// asked is a session whose call_1 (send) waits for an answer; answered has it.
var asked = trace{started(), state(idle, awaiting), confirm("rpl_1", "call_1", "send")}

func answered(d aaep.Decision) trace {
	return append(slices.Clone(asked), settle{"rpl_1", d}, state(awaiting, calling))
}

// In every row the first steps are legal, bad breaks exactly the rules in want, and then is still
// legal afterwards; only where the session is over is there no then.
var illegal = []struct {
	name  string
	first trace
	bad   any
	want  string
	then  any
}{
	// The seven sequences of A.8 (SM-015).
	{"A.8.1 completion without invocation", trace{started()}, returned("call_1", "fetch", aaep.ToolSuccess), "EVT-091", completed()},                                            // SM-004
	{"A.8.2 two terminal events", trace{started(), completed()}, errored(), "EVT-004", nil},                                                                                     // SM-012
	{"A.8.3 an event after the terminal one", trace{started(), completed()}, invoked("call_1", "fetch"), "EVT-005", nil},                                                        // SM-012
	{"A.8.4 irreversible without confirmation", trace{started(), state(idle, thinking)}, irreversible("call_1", "transfer_funds"), "EVT-042 SM-005", state(thinking, awaiting)}, // SM-013
	{"A.8.5 invoked after rejection", append(slices.Clone(asked), settle{"rpl_1", aaep.Reject}), irreversible("call_1", "send"), "SM-009 SM-005", state(awaiting, thinking)},
	{"A.8.6 a chunk after completion", trace{started(), closing("out_1", 0, "done")}, chunk("out_1", 4, "more"), "EVT-058", completed()}, // SM-011
	{"A.8.7 a position going back", trace{started(), chunk("out_1", 0, strings.Repeat("a", 50)), chunk("out_1", 50, "b")}, chunk("out_1", 30, "c"), "EVT-059", chunk("out_1", 51, "c")},

	// Brackets.
	{"nothing before the start", nil, state(idle, thinking), "EVT-003", started()},
	{"no end before the start", nil, completed(), "EVT-003", started()},
	{"no extension before the start", nil, extension(), "EVT-003", started()},
	{"two starts", trace{started()}, started(), "EVT-002", completed()},
	{"a start after the end", trace{started(), completed()}, started(), "EVT-002", nil},
	{"completed twice", trace{started(), completed()}, completed(), "EVT-004", nil},
	{"completed after errored", trace{started(), errored()}, completed(), "EVT-014", nil},
	{"completed after cancelled", trace{started(), cancelled()}, completed(), "EVT-014", nil},
	{"cancelled after completed", trace{started(), completed()}, cancelled(), "EVT-004", nil},
	{"a change after cancelled, EVT-026", trace{started(), cancelled()}, state(idle, thinking), "EVT-005", nil},
	{"an extension after the end", trace{started(), errored()}, extension(), "EVT-005", nil}, // EVT-019
	{"another session's event", trace{started()}, at("sess_2", time.Minute, progress()), "ENV-018", progress()},
	{"another session's start", trace{started()}, at("sess_2", time.Minute, started()), "ENV-018", progress()},
	{"another session's end", trace{started()}, at("sess_2", time.Minute, completed()), "ENV-018", completed()},
	{"time going back", trace{started(), progress()}, at("sess_1", time.Second-1, progress()), "ENV-023", at("sess_1", time.Second, progress())},
	{"time going back at the end", trace{started(), progress()}, at("sess_1", 0, completed()), "ENV-023", completed()},
	{"no event at all", trace{started()}, (*aaep.Event)(nil), "ENV-011", progress()},
	{"no payload", trace{started()}, at("sess_1", time.Minute, nil), "ENV-011", progress()},
	{"a nil pointer for a payload", trace{started()}, at("sess_1", time.Minute, (*aaep.ToolInvoked)(nil)), "ENV-011", progress()},
	{"a nil extension for a payload", trace{started()}, at("sess_1", time.Minute, (*aaep.ExtensionPayload)(nil)), "ENV-011", progress()},

	// Nothing open behind the end (D-30).
	{"completed with an open tool", trace{started(), state(idle, calling), invoked("call_1", "a")}, completed(), "SM-003", returned("call_1", "a", aaep.ToolError)},
	{"errored with an open tool without id", trace{started(), state(idle, calling), invoked("", "a")}, errored(), "SM-003", returned("", "a", aaep.ToolError)},
	{"errored with an open output", trace{started(), chunk("out_1", 0, "a")}, errored(), "EVT-058", closing("out_1", 1, "")},       // EVT-057
	{"completed with the session's output open", trace{started(), chunk("", 0, "a")}, completed(), "EVT-058", closing("", 1, "b")}, // EVT-057
	{"cancelled with an open confirmation", asked, cancelled(), "SM-014", settle{"rpl_1", aaep.Reject}},                            // CONF-051
	{"completed with an open clarification", trace{started(), state(idle, awaiting), clarify("rpl_1")}, completed(), "SM-010", settle{"rpl_1", ""}},
	{"errored with everything open", trace{started(), state(idle, awaiting), clarify("rpl_1"), clarify("rpl_2"), settle{"rpl_1", ""}, state(awaiting, calling),
		invoked("call_1", "a"), invoked("call_2", "a"), chunk("out_1", 0, "a")}, errored(), "SM-010 SM-003 SM-003 EVT-058", settle{"rpl_2", ""}},

	// The chain of states (D-29).
	{"the first change does not leave idle", trace{started()}, state(thinking, calling), "EVT-029", state(idle, calling)},
	{"a broken chain", trace{started(), state(idle, thinking)}, state(deciding, writing), "EVT-030", state(thinking, writing)},
	{"a change told twice", trace{started(), state(idle, thinking)}, state(idle, thinking), "EVT-030", state(thinking, writing)},
	{"no change at first", trace{started()}, state(idle, idle), "EVT-030", state(idle, thinking)},
	{"no change later", trace{started(), state(idle, thinking)}, state(thinking, thinking), "EVT-030", state(thinking, idle)},
	{"a change to nothing", trace{started(), state(idle, thinking)}, state(thinking, ""), "EVT-028", state(thinking, idle)},
	{"leaving calling_tool with a call open", trace{started(), state(idle, calling), invoked("call_1", "a")}, state(calling, thinking), "EVT-051", returned("call_1", "a", aaep.ToolSuccess)},
	{"leaving it with one of two open", trace{started(), state(idle, calling), invoked("call_1", "a"), invoked("call_2", "a"), returned("call_1", "a", aaep.ToolSuccess)},
		state(calling, writing), "EVT-051", returned("call_2", "a", aaep.ToolSuccess)},
	{"leaving awaiting_input unanswered", asked, state(awaiting, thinking), "SM-008", settle{"rpl_1", aaep.Reject}},                                             // EVT-076, CONF-001
	{"leaving a clarification unanswered", trace{started(), state(idle, awaiting), clarify("rpl_1")}, state(awaiting, thinking), "SM-008", settle{"rpl_1", ""}}, // EVT-081, CONF-006
	{"leaving twice for one answer", trace{started(), state(idle, awaiting), clarify("rpl_1"), clarify("rpl_2"), settle{"rpl_1", ""}, state(awaiting, thinking), state(thinking, awaiting)},
		state(awaiting, thinking), "SM-008", settle{"rpl_2", ""}}, // D-40
	{"an old answer does not pay for a new question", trace{started(), state(idle, awaiting), clarify("rpl_1"), clarify("rpl_2"),
		settle{"rpl_1", ""}, state(awaiting, thinking), settle{"rpl_2", ""}, state(thinking, awaiting), clarify("rpl_3")},
		state(awaiting, thinking), "SM-008", settle{"rpl_3", ""}},

	// Tool calls.
	{"a tool outside calling_tool", trace{started(), state(idle, thinking)}, invoked("call_1", "a"), "SM-005", state(thinking, calling)},
	{"a call id used twice at once", trace{started(), state(idle, calling), invoked("call_1", "a")}, invoked("call_1", "b"), "EVT-043", invoked("call_2", "b")},
	{"a call id used again", trace{started(), state(idle, calling), invoked("call_1", "a"), returned("call_1", "a", aaep.ToolSuccess)}, invoked("call_1", "a"), "EVT-043", invoked("call_2", "a")},
	{"completed twice", trace{started(), state(idle, calling), invoked("call_1", "a"), returned("call_1", "a", aaep.ToolSuccess)}, returned("call_1", "a", aaep.ToolError), "SM-003", completed()},
	{"completed twice by name", trace{started(), state(idle, calling), invoked("", "a"), returned("", "a", aaep.ToolSuccess)}, returned("", "a", aaep.ToolSuccess), "EVT-091", completed()},
	{"completed under another tool's name", trace{started(), state(idle, calling), invoked("call_1", "a")}, returned("call_1", "b", aaep.ToolSuccess), "EVT-050", returned("call_1", "a", aaep.ToolSuccess)},
	{"completed under another id", trace{started(), state(idle, calling), invoked("call_1", "a")}, returned("call_2", "a", aaep.ToolSuccess), "EVT-091", returned("call_1", "a", aaep.ToolSuccess)},
	{"completed without the id it was invoked with", trace{started(), state(idle, calling), invoked("call_1", "a")}, returned("", "a", aaep.ToolSuccess), "EVT-091", returned("call_1", "a", aaep.ToolSuccess)},
	{"completed with an id it was not invoked with", trace{started(), state(idle, calling), invoked("", "a")}, returned("call_1", "a", aaep.ToolSuccess), "EVT-091", returned("", "a", aaep.ToolSuccess)},
	{"completed while its question is open", asked, returned("call_1", "send", aaep.ToolSuccess), "EVT-091", settle{"rpl_1", aaep.Accept}}, // CONF-004

	// Consent.
	{"high risk without confirmation", trace{started(), state(idle, calling)}, risky("call_1", "send", aaep.RiskHigh), "TERM-016", invoked("call_1", "look")}, // D-32
	{"an unknown risk counts as high", trace{started(), state(idle, calling)}, risky("call_1", "send", "extreme"), "TERM-016", invoked("call_1", "look")},     // D-13
	{"irreversible without id", trace{started(), state(idle, calling)}, irreversible("", "send"), "EVT-042", invoked("", "look")},
	{"irreversible without id after an accept", answered(aaep.Accept), irreversible("", "send"), "EVT-042", irreversible("call_1", "send")},
	{"one accept covers one call", append(answered(aaep.Accept), irreversible("call_1", "send")), irreversible("call_2", "send"), "EVT-042", returned("call_1", "send", aaep.ToolSuccess)}, // D-22
	{"one accept covers one call once", append(answered(aaep.Accept), irreversible("call_1", "send"), returned("call_1", "send", aaep.ToolError)), irreversible("call_1", "send"), "EVT-043", completed()},
	{"an accept for another call", answered(aaep.Accept), irreversible("call_2", "send"), "EVT-042", irreversible("call_1", "send")},
	{"an accept for another tool, irreversible", answered(aaep.Accept), irreversible("call_1", "wipe_disk"), "EVT-042", irreversible("call_1", "send")}, // INV-16
	{"an accept for another tool, high risk", answered(aaep.Accept), risky("call_1", "wipe_disk", aaep.RiskHigh), "TERM-016", irreversible("call_1", "send")},
	{"an accept for another tool, low risk", answered(aaep.Accept), invoked("call_1", "look"), "CONF-001", irreversible("call_1", "send")},
	{"invoked while the question is open", trace{started(), state(idle, awaiting), clarify("rpl_0"), confirm("rpl_1", "call_1", "send"), settle{"rpl_0", ""}, state(awaiting, calling)},
		irreversible("call_1", "send"), "CONF-001", invoked("call_2", "look")}, // INV-02, CONF-003
	{"a low-risk call while its question is open", asked, invoked("call_1", "send"), "CONF-001", settle{"rpl_1", aaep.Accept}},
	{"an answered clarification is no accept", trace{started(), state(idle, awaiting), clarify("rpl_1"), settle{"rpl_1", aaep.Accept}, state(awaiting, calling)},
		irreversible("call_1", "send"), "EVT-042", invoked("call_1", "look")},
	{"an accept for no call in particular", trace{started(), state(idle, awaiting), confirmAbout("rpl_1", `{"Tool_Call_ID":"call_1"}`), settle{"rpl_1", aaep.Accept}, state(awaiting, calling)},
		irreversible("call_1", "send"), "EVT-042", invoked("call_1", "look")},
	{"rejected, then low risk after all", answered(aaep.Reject), invoked("call_1", "send"), "SM-009", invoked("call_2", "look")},
	{"the zero Decision is a rejection", answered(""), irreversible("call_1", "send"), "SM-009", invoked("call_2", "look")}, // INV-03
	{"an unknown decision is a rejection", answered("Accept"), irreversible("call_1", "send"), "SM-009", invoked("call_2", "look")},
	{"accepted, asked again, rejected", append(slices.Clone(asked), settle{"rpl_1", aaep.Accept}, confirm("rpl_2", "call_1", "send"), settle{"rpl_2", aaep.Reject}, state(awaiting, calling)),
		irreversible("call_1", "send"), "SM-009", invoked("call_2", "look")},
	{"accepted, asked again, open", append(slices.Clone(asked), settle{"rpl_1", aaep.Accept}, confirm("rpl_2", "call_1", "send"), state(awaiting, calling)),
		irreversible("call_1", "send"), "CONF-001", invoked("call_2", "look")},

	// Questions.
	{"a confirmation outside awaiting_input", trace{started(), state(idle, thinking)}, confirm("rpl_1", "call_1", "send"), "SM-007", state(thinking, awaiting)},
	{"a clarification outside awaiting_input", trace{started()}, clarify("rpl_1"), "SM-007", state(idle, awaiting)},
	{"a token used twice at once", asked, confirm("rpl_1", "call_2", "send"), "CONF-009", confirm("rpl_2", "call_2", "send")},
	{"a settled token used again", append(slices.Clone(asked), settle{"rpl_1", aaep.Reject}), clarify("rpl_1"), "CONF-009", clarify("rpl_2")},
	{"told again in the language it was asked in", asked, confirm("rpl_1", "call_1", "send"), "CONF-009 CONF-005", spoken{"es", confirm("rpl_1", "call_1", "send")}}, // I18N-009
	{"told again in the language it was told in last", append(slices.Clone(asked), spoken{"es", confirm("rpl_1", "call_1", "send")}), spoken{"es", confirm("rpl_1", "call_1", "send")}, "CONF-009 CONF-005", confirm("rpl_1", "call_1", "send")},
	{"a token used for another call, in another language", asked, spoken{"es", confirm("rpl_1", "call_2", "send")}, "CONF-009", spoken{"es", confirm("rpl_2", "call_2", "send")}},
	{"told again when it was settled", append(slices.Clone(asked), settle{"rpl_1", aaep.Accept}), spoken{"es", confirm("rpl_1", "call_1", "send")}, "CONF-009", confirm("rpl_2", "call_1", "send")},
	{"two open questions about one call", asked, confirm("rpl_2", "call_1", "send"), "CONF-005", settle{"rpl_1", aaep.Accept}}, // INV-13
	{"asked again after a rejection", append(slices.Clone(asked), settle{"rpl_1", aaep.Reject}), confirm("rpl_2", "call_1", "send"), "SM-009", confirm("rpl_2", "call_2", "send")},
	{"acted first, asked later", trace{started(), state(idle, calling), invoked("call_1", "a"), returned("call_1", "a", aaep.ToolSuccess), state(calling, awaiting)},
		confirm("rpl_1", "call_1", "a"), "EVT-067", confirm("rpl_1", "call_2", "a")}, // D-31
	{"a call id given twice", trace{started(), state(idle, awaiting)}, confirmAbout("rpl_1", `{"tool_call_id":"call_1","tool_call_id":"call_2"}`), "EVT-075", confirm("rpl_1", "call_1", "a")}, // D-14
	{"a call id that is no string", trace{started(), state(idle, awaiting)}, confirmAbout("rpl_1", `{"tool_call_id":1}`), "EVT-075", confirm("rpl_1", "call_1", "a")},
	{"a context that is no object", trace{started(), state(idle, awaiting)}, confirmAbout("rpl_1", `["call_1"]`), "EVT-075", confirm("rpl_1", "call_1", "a")},
	{"a context that is not JSON", trace{started(), state(idle, awaiting)}, confirmAbout("rpl_1", `{"tool":`), "EVT-075", confirm("rpl_1", "call_1", "a")},

	// Settlements.
	{"settled before anything", nil, settle{"rpl_1", aaep.Accept}, "CONF-020", started()},
	{"settled but never asked", asked, settle{"rpl_2", aaep.Accept}, "CONF-020", settle{"rpl_1", aaep.Accept}},
	{"settled twice", append(slices.Clone(asked), settle{"rpl_1", aaep.Reject}), settle{"rpl_1", aaep.Accept}, "CONF-021", state(awaiting, thinking)}, // CONF-028, INV-01
	{"settled after the end", append(slices.Clone(asked), settle{"rpl_1", aaep.Reject}, cancelled()), settle{"rpl_1", aaep.Accept}, "CONF-021", nil},  // INV-14

	// Outputs.
	{"a gap", trace{started(), chunk("out_1", 0, "ab")}, chunk("out_1", 3, "c"), "EVT-056", chunk("out_1", 2, "c")}, // INV-28
	{"a repeated position", trace{started(), chunk("out_1", 0, "ab")}, chunk("out_1", 0, "ab"), "EVT-059", chunk("out_1", 2, "c")},
	{"an overlap", trace{started(), chunk("out_1", 0, "ab")}, chunk("out_1", 1, "bc"), "EVT-059", chunk("out_1", 2, "c")},
	{"the first chunk is not at 0", trace{started()}, chunk("out_1", 1, "ab"), "EVT-056", chunk("out_1", 0, "ab")},
	{"a negative position", trace{started()}, chunk("out_1", -1, "ab"), "EVT-056", chunk("out_1", 0, "ab")},
	{"positions counted in bytes", trace{started(), chunk("out_1", 0, "né")}, chunk("out_1", 3, "e"), "EVT-056", chunk("out_1", 2, "e")},
	{"positions counted in UTF-16", trace{started(), chunk("out_1", 0, "👍")}, chunk("out_1", 2, "a"), "EVT-056", chunk("out_1", 1, "a")},
	{"another output's position", trace{started(), chunk("out_1", 0, "ab")}, chunk("out_2", 2, "c"), "EVT-056", chunk("out_2", 0, "c")},
	{"an empty chunk at first", trace{started()}, chunk("out_1", 0, ""), "EVT-055", chunk("out_1", 0, "a")},
	{"an empty chunk in between", trace{started(), chunk("out_1", 0, "ab")}, chunk("out_1", 2, ""), "EVT-055", closing("out_1", 2, "")},
	{"an empty closing chunk short of the end", trace{started(), chunk("out_1", 0, "ab")}, closing("out_1", 1, ""), "EVT-059", closing("out_1", 2, "")},
	{"an empty closing chunk past the end", trace{started(), chunk("out_1", 0, "ab")}, closing("out_1", 3, ""), "EVT-056", closing("out_1", 2, "")},
	{"complete twice", trace{started(), closing("out_1", 0, "ab")}, closing("out_1", 2, ""), "EVT-058", chunk("out_2", 0, "a")},
	{"the session's output complete twice", trace{started(), closing("", 0, "ab")}, closing("", 0, "ab"), "EVT-058", chunk("out_1", 0, "a")},

	// The spec's own examples leave transitions out, which our stream never does (D-29).
	{"4.6 and 5.11 as printed", trace{started(), state(idle, thinking)}, invoked("call_1", "fetch_balance"), "SM-005", state(thinking, calling)},
	{"announced first, asked later, as published producers do", trace{started(), state(idle, calling)}, irreversible("call_1", "send"), "EVT-042", state(calling, awaiting)}, // D-31

	// Every broken rule is named.
	{"several rules at once", trace{started(), progress()}, at("sess_1", 0, state(thinking, thinking)), "ENV-023 EVT-029 EVT-030", state(idle, thinking)},
}

// A step that breaks a rule is refused by its name and changes nothing.
func TestIllegal(t *testing.T) {
	for _, tt := range illegal {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, tt.first)
			before := snapshot(s)
			err := apply(s, len(tt.first), tt.bad)
			if got := broken(t, err); got != tt.want {
				t.Errorf("broke %q, want %q: %v", got, tt.want, err)
			}
			if !same(s, before) {
				t.Errorf("the refused step changed the Session from %+v to %+v", before, s)
			}
			switch {
			case tt.then == nil && !s.Over():
				t.Error("no legal step follows, yet the session is not over")
			case tt.then == nil:
			default:
				if err := apply(s, len(tt.first)+1, tt.then); err != nil {
					t.Errorf("a legal step after the refusal: %v", err)
				}
			}
		})
	}
}

// A wall clock set back is noticed although Go's monotonic clock went on (ENV-023).
func TestWallClockSetBack(t *testing.T) {
	first := time.Now()
	second := first.Add(time.Second)
	*(*uint64)(unsafe.Pointer(&second)) -= 10 << 30 // ten seconds off the wall clock alone
	if !second.After(first) || !second.Round(0).Before(first.Round(0)) {
		t.Skip("time.Time is not laid out as expected")
	}
	s := new(Session)
	if err := s.Next(&aaep.Event{Timestamp: first, Payload: started()}); err != nil {
		t.Fatal(err)
	}
	if got := broken(t, s.Next(&aaep.Event{Timestamp: second, Payload: progress()})); got != "ENV-023" {
		t.Errorf("broke %q, want ENV-023", got)
	}
}
