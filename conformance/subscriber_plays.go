package conformance

// scenePlays are what the target is put through, in this order.
var scenePlays = []scenePlay{
	{"story", false, tellStory},
	{"odd", true, tellOdd},
	{"garbage", true, tellGarbage},
	{"urgent", true, tellUrgent},
	{"answers", false, tellAnswers},
	{"unattended", true, leaveAlone},
	{"cancelled", true, withdraw(cancelSession)},
	{"settled", true, withdraw(answerElsewhere)},
	{"less", false, grantLess},
	{"renegotiate", true, renegotiate},
	{"refused", false, refuse},
	{"blue", true, outOfBlue},
	{"twice", true, tellTwice},
	{"burst", true, burst},
	{"quit", false, quit},
	{"forged", false, forge},
	{"cut", false, breakLink},
	{"calm", false, cutAgain},
}
