package main

// A reason says why no test names a requirement. Once a test does, its reason must go.
type reason struct{ id, why string }

const (
	manifestLater = "the manifest is not published yet"
)

// reasons are in the order of their ids.
var reasons = []reason{
	{"CONF-029", "there is no message for such a notice (D-39)"},
	{"ENV-005", "not done yet: extensions are handed on by prefix; nothing chooses by URI"},
	{"ENV-027", "not done yet: there is no registry of agents"},
	{"ENV-028", "the agent's own choice: Config.Agent is taken as it is"},
	{"ENV-032", "not done yet: one event has all three lengths; no test looks for repeated events"},
	{"ENV-034", "not done yet: the urgency follows the table; no test compares each type"},
	{"ENV-043", "an optional extra: what is out of order is reported, a gap is not, for filters make gaps (D-10)"},
	{"ENV-063", "not done yet: a dropped message is logged with its reason; no test drops one for its size"},
	{"ENV-069", "not done yet: schemas.ValidateExtension knows our own extensions, but messages are not checked with it"},
	{"EVT-090", "the agent's own choice: a handoff ends no session by itself"},
	{"EVT-092", "not done yet: every call has an id; no test would miss it on a call of low risk"},
	{"EXT-013", "not done yet: there are no handlers; what extensions bring is handed on as it came"},
	{"EXT-014", "a rule for the author of an extension; reviewed by people"},
	{"EXT-018", "no profile is claimed; the cases of one can be given to the conformance suite"},
	{"HS-031", "not done yet: questions follow the reply flags; no test compares the levels"},
	{"HS-069", "the subscriber's own choice; the presets ask for 3 and for 1"},
	{"I18N-017", "a recommendation about wording; reviewed by people"},
	{"I18N-019", "a recommendation about wording; reviewed by people"},
	{"I18N-020", "a recommendation about an agent's data; reviewed by people"},
	{"I18N-023", "not done yet: text_direction is handed on as it came, and nothing shows it"},
	{"IPC-006", "the process at the other end is checked on Windows, and its user everywhere; there is no hook for more"},
	{"LVL-027", "nothing here forwards a question to another system"},
	{"SEC-008", "an optional extra: our subscriber closes no subscription for its rate"},
	{"SEC-009", "not done yet: the subscriber bounds what waits and not what comes in a second"},
	{"SEC-011", "the agent's own choice of words; tokens and secrets are kept out (INV-37, SEC-010)"},
	{"SEC-021", manifestLater},
	{"SEC-022", "a rule for the agent's author; reviewed by people"},
	{"SEC-023", "a rule for whoever runs an agent; the trail is one file that they keep or delete"},
	{"SEC-024", "not done yet: what a subscription may be told depends on its terms alone, not on who asks"},
	{"SEC-025", "a rule for whoever runs an agent; reviewed by people"},
	{"SEC-026", "a rule for whoever runs an agent; reviewed by people"},
	{"TERM-002", "the agent's own use: each StartSession opens a new session"},
	{"TERM-003", "a matter of an agent's own documentation"},
	{"TERM-006", "the agent's own choice: a Text holds all three lengths"},
	{"TERM-018", "needs other transports"},
	{"TERM-019", "the conformance suite judges what is on the wire, whatever sends it"},
	{"TR-007", "no transport here is without order"},
	{"VER-002", "no pre-release is claimed; a claim names the version of the specification"},
	{"VER-006", "there is no switch that changes them"},
	{"VER-007", "not done yet: events and the handshake have it; " + manifestLater},
	{"VER-012", "there is only version 1.0.0 so far"},
	{"VER-013", "a rule for whoever releases an agent; reviewed by people"},
	{"WS-008", "an optional extra: who comes back makes a new subscription, which is told what the agent is doing"},
}
