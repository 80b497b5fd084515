package phrase

// Yoruba, with tone marks and underdots (U+0323) everywhere: without them a voice says other words.
var yoruba = table{
	Thinking:         "Ó ń ronú.",
	UsingATool:       "Ó ń lo irinṣẹ́ kan.",
	Answering:        "Ó ń dáhùn.",
	WaitingForAnswer: "Ó ń dúró de ìdáhùn.",
	Idle:             "Kò ní iṣẹ́ kankan lọ́wọ́ báyìí.",
	Deciding:         "Ó ń pinnu ohun tí yóò ṣe.",
	HandingOff:       "Ó ń fi iṣẹ́ náà lé ẹlòmíràn lọ́wọ́.",
	InState:          "Ní báyìí: {state}.",

	UsingTool:        "Ó ń lo irinṣẹ́ {tool}.",
	ToolFinished:     "Irinṣẹ́ {tool} ti parí iṣẹ́ rẹ̀.",
	ToolTookTooLong:  "Irinṣẹ́ {tool} pẹ́ jù.",
	ToolFailed:       "Irinṣẹ́ {tool} kùnà.",
	ToolDidNotFinish: "Irinṣẹ́ {tool} kò parí iṣẹ́ rẹ̀.",
	TookTooLong:      "Ó pẹ́ jù.",
	Failed:           "Ó kùnà.",

	AgentFinished: "Aṣojú náà ti parí iṣẹ́ rẹ̀.",
	AgentFailed:   "Aṣojú náà kùnà.",
	AgentStopped:  "Aṣojú náà dúró kí ó tó parí iṣẹ́ rẹ̀.",
	Cancelled:     "A ti fagi lé e.",
	SessionEnded:  "Ìjókòó náà ti parí.",

	ActionRejected:    "A kò gbà á, a kò sì ṣe é: {action}",
	ActionTimedOut:    "Kò sí ẹni tó dáhùn kí àkókò tó parí, nítorí náà a kò ṣe é: {action}",
	ActionUnreachable: "Kò sí ẹni tí a lè béèrè lọ́wọ́ rẹ̀, nítorí náà a kò ṣe é: {action}",
	ActionWithdrawn:   "A ti fà á sẹ́yìn, a kò sì ṣe é: {action}",

	QuestionTimedOut:    "Kò sí ẹni tó dáhùn kí àkókò tó parí.",
	QuestionUnreachable: "Kò sí ẹni tí a lè béèrè lọ́wọ́ rẹ̀.",
	QuestionWithdrawn:   "A ti fa ìbéèrè náà sẹ́yìn.",
	DefaultUsed:         "Kò sí ìdáhùn; èyí tí a ti yàn tẹ́lẹ̀ ni a lò.",

	HalfTimeLeft:   "Ìdajì àkókò ìdáhùn ti kọjá. Ìṣẹ́jú àáyá tó kù: {seconds}.",
	LittleTimeLeft: "Àkókò ìdáhùn fẹ́rẹ̀ẹ́ parí. Ìṣẹ́jú àáyá tó kù: {seconds}.",
	MoreTimeGiven:  "Àkókò púpọ̀ sí i wà fún ìdáhùn. Ìṣẹ́jú àáyá tó kù: {seconds}.",
	ActionChanged:  "A ti yí ohun tí a fẹ́ ṣe padà. A ó tún béèrè ìbéèrè náà.",

	LinkLost: "Ìsopọ̀ pẹ̀lú aṣojú náà ti já. A ó sọ ohun tí ó ń ṣe báyìí nígbà tí ó bá padà.",
	LinkBack: "Ìsopọ̀ pẹ̀lú aṣojú náà ti padà.",

	Request:          "Ó ń ṣiṣẹ́ lórí ìbéèrè kan.",
	ModelBusy:        "Ọwọ́ olùpèsè àwòṣe náà dí jù báyìí.",
	ModelFault:       "Ìṣòro kan wà lọ́dọ̀ olùpèsè àwòṣe náà.",
	ModelUnreachable: "A kò lè kàn sí olùpèsè àwòṣe náà.",
	ModelRefused:     "Olùpèsè àwòṣe náà kò gba ìbéèrè náà.",
	AnswerBroken:     "Ìdáhùn náà dá dúró kí ó tó parí.",
	AnswerCut:        "A gé ìdáhùn náà kúrú nítorí pé ó gùn jù.",
	AnswerDeclined:   "Àwòṣe náà tàbí olùpèsè rẹ̀ kọ̀ láti dáhùn.",
	AnswerUnread:     "Ìdáhùn kan wà, ṣùgbọ́n a kò lè tẹ̀ lé e níbí.",

	Done:       "Ó ti parí.",
	Error:      "Àṣìṣe kan ṣẹlẹ̀.",
	Handover:   "A ń fi iṣẹ́ náà lé ẹlòmíràn lọ́wọ́.",
	WaitingFor: "Ó ń dúró de ìdáhùn: {action}",

	PleaseDecide:   "Jọ̀wọ́, ṣe ìpinnu.",
	CannotBeUndone: "A kò lè yí èyí padà.",
	HardToUndo:     "Ó ṣòro láti yí èyí padà.",
	RiskLow:        "Ewu rẹ̀ kéré.",
	RiskMedium:     "Ewu rẹ̀ mọ níwọ̀n.",
	RiskHigh:       "Ewu rẹ̀ pọ̀.",

	ActionIs:       "Ìgbésẹ̀: {action}",
	ConsequenceIs:  "Àbájáde: {action}",
	QuestionIs:     "Ìbéèrè: {action}",
	ContextIs:      "Àlàyé: {action}",
	OpenQuestionIs: "Ìbéèrè náà ni: {action}",

	MinutesToAnswer: "Ìṣẹ́jú tó wà fún ìdáhùn: {minutes}.",
	SecondsToAnswer: "Ìṣẹ́jú àáyá tó wà fún ìdáhùn: {seconds}.",

	SilenceAccepts: "Tí kò bá sí ìdáhùn, a ó ṣe é.",
	SilenceRejects: "Tí kò bá sí ìdáhùn, a kò ní ṣe é.",
	SilenceUnknown: "Tí kò bá sí ìdáhùn, kò sí ẹni tó mọ ohun tí yóò ṣẹlẹ̀.",
	SilenceYes:     "Àìdáhùn túmọ̀ sí bẹ́ẹ̀ ni.",
	SilenceNo:      "Àìdáhùn túmọ̀ sí bẹ́ẹ̀ kọ́.",
	SilenceMeans:   "Àìdáhùn túmọ̀ sí: {action}",

	AgentSays: "Aṣojú náà sọ pé: {action}",
	Code:      "Kóòdù, iye ìlà: {lines}.",
	AnImage:   "Àwòrán kan.",
}
