package phrase

var german = table{
	Thinking:         "Denkt nach.",
	UsingATool:       "Verwendet ein Werkzeug.",
	Answering:        "Antwortet.",
	WaitingForAnswer: "Wartet auf eine Antwort.",
	Idle:             "Hat gerade nichts zu tun.",
	Deciding:         "Entscheidet, was zu tun ist.",
	HandingOff:       "Gibt die Aufgabe ab.",
	InState:          "Jetzt: {state}.",

	UsingTool:        "Verwendet das Werkzeug {tool}.",
	ToolFinished:     "Das Werkzeug {tool} ist fertig.",
	ToolTookTooLong:  "Das Werkzeug {tool} hat zu lange gebraucht.",
	ToolFailed:       "Das Werkzeug {tool} ist gescheitert.",
	ToolDidNotFinish: "Das Werkzeug {tool} wurde nicht fertig.",
	TookTooLong:      "Es hat zu lange gedauert.",
	Failed:           "Es ist gescheitert.",

	AgentFinished: "Der Agent ist fertig.",
	AgentFailed:   "Der Agent ist gescheitert.",
	AgentStopped:  "Der Agent brach ab, bevor er fertig war.",
	Cancelled:     "Abgebrochen.",
	SessionEnded:  "Die Sitzung ist beendet.",

	ActionRejected:    "Abgelehnt und nicht ausgeführt: {action}",
	ActionTimedOut:    "Niemand hat rechtzeitig geantwortet, daher wurde dies nicht ausgeführt: {action}",
	ActionUnreachable: "Niemand konnte gefragt werden, daher wurde dies nicht ausgeführt: {action}",
	ActionWithdrawn:   "Zurückgezogen und nicht ausgeführt: {action}",

	QuestionTimedOut:    "Niemand hat rechtzeitig geantwortet.",
	QuestionUnreachable: "Niemand konnte gefragt werden.",
	QuestionWithdrawn:   "Die Frage wurde zurückgezogen.",
	DefaultUsed:         "Keine Antwort, daher gilt die Vorgabe.",

	HalfTimeLeft:   "Die Hälfte der Zeit zum Antworten ist um. Sekunden übrig: {seconds}.",
	LittleTimeLeft: "Die Zeit zum Antworten ist fast um. Sekunden übrig: {seconds}.",
	MoreTimeGiven:  "Es gibt mehr Zeit zum Antworten. Sekunden übrig: {seconds}.",
	ActionChanged:  "Die Aktion wurde geändert. Die Frage folgt noch einmal.",

	LinkLost: "Die Verbindung zum Agenten ist unterbrochen. Was er jetzt tut, wird gesagt, wenn sie wieder da ist.",
	LinkBack: "Die Verbindung zum Agenten ist wieder da.",

	Request:          "Eine Anfrage wird bearbeitet.",
	ModelBusy:        "Der Anbieter des Modells ist gerade überlastet.",
	ModelFault:       "Beim Anbieter des Modells liegt eine Störung vor.",
	ModelUnreachable: "Der Anbieter des Modells war nicht erreichbar.",
	ModelRefused:     "Der Anbieter des Modells hat die Anfrage nicht angenommen.",
	AnswerBroken:     "Die Antwort brach vor ihrem Ende ab.",
	AnswerCut:        "Die Antwort wurde abgeschnitten, weil sie zu lang wurde.",
	AnswerDeclined:   "Das Modell oder sein Anbieter hat die Antwort verweigert.",
	AnswerUnread:     "Es gibt eine Antwort, aber sie konnte hier nicht mitgelesen werden.",

	Done:       "Fertig.",
	Error:      "Fehler.",
	Handover:   "Übergabe.",
	WaitingFor: "Wartet auf eine Antwort: {action}",

	PleaseDecide:   "Bitte entscheiden.",
	CannotBeUndone: "Das lässt sich nicht rückgängig machen.",
	HardToUndo:     "Das lässt sich nur schwer rückgängig machen.",
	RiskLow:        "Das Risiko ist gering.",
	RiskMedium:     "Das Risiko ist mittel.",
	RiskHigh:       "Das Risiko ist hoch.",

	ActionIs:       "Aktion: {action}",
	ConsequenceIs:  "Folge: {action}",
	QuestionIs:     "Frage: {action}",
	ContextIs:      "Hintergrund: {action}",
	OpenQuestionIs: "Die Frage ist: {action}",

	MinutesToAnswer: "Minuten zum Antworten: {minutes}.",
	SecondsToAnswer: "Sekunden zum Antworten: {seconds}.",

	SilenceAccepts: "Ohne Antwort wird es ausgeführt.",
	SilenceRejects: "Ohne Antwort wird es nicht ausgeführt.",
	SilenceUnknown: "Ohne Antwort weiß niemand, was geschieht.",
	SilenceYes:     "Keine Antwort bedeutet ja.",
	SilenceNo:      "Keine Antwort bedeutet nein.",
	SilenceMeans:   "Keine Antwort bedeutet: {action}",

	AgentSays: "Der Agent sagt: {action}",
	Code:      "Programmtext, Zeilen: {lines}.",
	AnImage:   "Ein Bild.",
}
