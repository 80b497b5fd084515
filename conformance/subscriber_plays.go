package conformance

// scenePlays are what the target is put through, in this order.
var scenePlays = []scenePlay{
	{name: "story", perform: tellStory},
	{name: "odd", hook: true, perform: tellOdd},
	{name: "garbage", hook: true, perform: tellGarbage},
	{name: "several", hook: true, perform: tellSeveral},
	{name: "urgent", hook: true, perform: tellUrgent},
	{name: "answers", perform: tellAnswers},
	{name: "two-open", hook: true, perform: askTwo},
	{name: "unattended", hook: true, perform: leaveAlone},
	{name: "cancelled", hook: true, perform: withdraw(cancelSession)},
	{name: "settled", hook: true, perform: withdraw(answerElsewhere)},
	{name: "less", perform: grantLess},
	{name: "renegotiate", hook: true, perform: renegotiate},
	{name: "refused", perform: refuse},
	{name: "blue", hook: true, perform: outOfBlue},
	{name: "twice", hook: true, perform: tellTwice},
	{name: "burst", hook: true, perform: burst},
	{name: "refused-oddly", perform: refuseOddly},
	{name: "closed-oddly", perform: closeOddly},
	{name: "quit", perform: quit},
	{name: "forged", perform: forge},
	{name: "cut", perform: breakLink},
	{name: "calm", perform: cutAgain},
}
