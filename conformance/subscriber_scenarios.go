package conformance

// subscriberScenarios are what the target is put through, in this order.
var subscriberScenarios = []subscriberScenario{
	{name: "story", perform: emitEveryType},
	{name: "odd", hook: true, perform: sendEdgeCases},
	{name: "garbage", hook: true, perform: sendGarbage},
	{name: "several", hook: true, perform: emitSeveralSessions},
	{name: "urgent", hook: true, perform: emitUrgentEvents},
	{name: "answers", perform: askEveryKind},
	{name: "two-open", hook: true, perform: askTwoQuestions},
	{name: "unattended", hook: true, perform: leaveUnanswered},
	{name: "cancelled", hook: true, perform: withdrawQuestions(endedSessions)},
	{name: "settled", hook: true, perform: withdrawQuestions(settledElsewhere)},
	{name: "less", perform: grantFewerTerms},
	{name: "renegotiate", hook: true, perform: runRenegotiation},
	{name: "refused", perform: refuseFirstRequest},
	{name: "blue", hook: true, perform: beginWithError},
	{name: "twice", hook: true, perform: sendEventTwice},
	{name: "burst", hook: true, perform: sendBurst},
	{name: "refused-oddly", perform: refuseUnknownReason},
	{name: "closed-oddly", perform: closeUnknownReason},
	{name: "quit", perform: quitTarget},
	{name: "forged", perform: sendUnprovedManifest(forgedManifest)},
	{name: "unsigned", perform: sendUnprovedManifest("")},
	{name: "cut", perform: breakAndResume},
	{name: "calm", perform: breakLinkRepeatedly},
}
