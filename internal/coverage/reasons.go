package main

// A reason says why no test names a requirement. Once a test does, its reason must go.
type reason struct{ id, why string }

// reasons are in the order of their ids.
var reasons = []reason{
	{"CONF-029", "there is no message for such a notice (D-39)"},
	{"ENV-027", "a rule for whoever runs several agents; listeners tell two of one name apart by their keys (SEC-020)"},
	{"ENV-028", "the agent's own choice: Config.Agent is taken as it is"},
	{"ENV-043", "an optional extra: what is out of order is reported, a gap is not, for filters make gaps (D-10)"},
	{"EVT-090", "the agent's own choice: a handoff ends no session by itself"},
	{"EXT-014", "a rule for the author of an extension; reviewed by people"},
	{"HS-031", "whoever asks gets all that its other terms let it have: what a level adds has flags of its own, so nothing is held back by level"},
	{"HS-069", "the subscriber's own choice; the presets ask for 3 and for 1"},
	{"I18N-017", "a recommendation about wording; reviewed by people"},
	{"I18N-019", "a recommendation about wording; reviewed by people"},
	{"I18N-020", "a recommendation about an agent's data; reviewed by people"},
	{"IPC-006", "the process at the other end is checked on Windows, and its user everywhere; there is no hook for more"},
	{"LVL-011", "an optional extra: all of these are sent, and nothing demands them"},
	{"LVL-020", "the agent's own choice of questions; reviewed by people"},
	{"LVL-027", "nothing here forwards a question to another system"},
	{"LVL-048", "a rule for whoever makes a claim; reviewed by people"},
	{"SEC-008", "an optional extra: our subscriber closes no subscription for its rate"},
	{"SEC-011", "the agent's own choice of words; tokens and secrets are kept out (INV-37, SEC-010)"},
	{"SEC-021", "keys come from files, a key set of a pinned origin, a CA or the first meeting; there is no directory, DNS or web of trust"},
	{"SEC-022", "a rule for the agent's author; reviewed by people"},
	{"SEC-023", "a rule for whoever runs an agent; the trail is one file that they keep or delete"},
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
	{"VER-012", "there is only version 1.0.0 so far"},
	{"VER-013", "a rule for whoever releases an agent; reviewed by people"},
	{"WS-008", "an optional extra: who comes back makes a new subscription, which is told what the agent is doing"},
}
