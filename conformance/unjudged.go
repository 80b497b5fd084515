package conformance

// unjudged are the MUSTs of producers that no case decides, each with the reason.
var unjudged = []struct{ reason, ids string }{
	{"it is about what the target does or means, and only what it says can be seen",
		"ENV-026 ENV-054 EVT-041 LVL-006 LVL-020 SEC-022 I18N-015"},
	{"it is about several agents or several versions of one, and a run sees one", "ENV-027"},
	{"it is about who receives, and a producer receives no events", "ENV-015 ENV-062 ENV-067 I18N-023"},
	{"what each subscriber may know is for whoever runs the target to decide, and nobody outside can tell what was decided", "SEC-024"},
	{"it takes the schemas or the documents of an extension; a case from outside can judge it", "ENV-069 EXT-004 EXT-006 EXT-011 EXT-014"},
	{"it is about the suite itself, or about claims; the tests of this package and its report keep it",
		"EXT-018 LVL-001 LVL-002 LVL-018 LVL-041 LVL-043 LVL-044 LVL-047 LVL-048 VER-013"},
	{"it is about the specification and its versions", "VER-005 VER-006"},
}
