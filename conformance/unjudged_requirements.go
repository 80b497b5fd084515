package conformance

// unjudgedRequirements are the MUSTs of producers that no case decides, each with the reason.
var unjudgedRequirements = []struct{ reason, ids string }{
	{"it is about what the target does or means, and only what it says can be seen",
		"ENV-026 ENV-054 EVT-041 LVL-006 LVL-020 SEC-022"},
	{"it is about several agents or several versions of one, and a run sees one", "ENV-027"},
	{"it is about who receives, and a producer receives no events", "ENV-015 ENV-062 ENV-067 I18N-023"},
	{"what each subscriber may know is for whoever runs the target to decide, and nobody outside can tell what was decided", "SEC-024"},
	{"it takes the schemas or the documents of an extension; a case from outside can judge it",
		"ENV-069 EXT-004 EXT-006 EXT-011 EXT-014"},
	{"it is about the suite itself, or about claims; the tests of this package and its report keep it",
		"EXT-018 LVL-001 LVL-002 LVL-018 LVL-041 LVL-043 LVL-044 LVL-047 LVL-048 VER-013"},
	{"it is about the specification and its versions", "VER-005 VER-006"},
}

// unjudgedOfSubscribers are the MUSTs of subscribers that no case decides, each with the reason.
var unjudgedOfSubscribers = []struct{ reason, ids string }{
	{"it is about what the program does within, and neither its messages nor what it presents tell it",
		"TERM-001 ENV-063 TR-012 I18N-004 ENV-069"},
	{"it is about settings that a user may find or not", "EVT-033"},
	{"it is about direction on a screen, and the hook tells words", "I18N-014 I18N-023"},
	{"it takes a person who is asked elsewhere, and what they are asked there cannot be seen",
		"CONF-046 CONF-047 LVL-027"},
	{"the suite agrees to what is asked for or to less, so that nothing binds without its acceptance", "TERM-015"},
	{"a run reaches the subscriber in one way", "HS-003"},
	{"what it understands of a tag shows only in which of several voices it takes", "I18N-003"},
	{"it is about the suite itself, or about claims; the tests of this package and its report keep it",
		"CONF-034 EXT-018 LVL-001 LVL-002 LVL-018 LVL-041 LVL-042 LVL-043 LVL-044 LVL-047 LVL-048 VER-013"},
	{"it is about the specification and its versions", "VER-005 VER-006"},
}
