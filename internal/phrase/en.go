package phrase

var english = table{
	Thinking:         "Thinking.",
	UsingATool:       "Using a tool.",
	Answering:        "Answering.",
	WaitingForAnswer: "Waiting for an answer.",
	Idle:             "Now: idle.",
	Deciding:         "Now: deciding.",
	HandingOff:       "Now: handing off.",
	InState:          "Now: {state}.",

	UsingTool:        "Using the tool {tool}.",
	ToolFinished:     "{tool} finished.",
	ToolTookTooLong:  "{tool} took too long.",
	ToolFailed:       "{tool} failed.",
	ToolDidNotFinish: "{tool} did not finish.",
	TookTooLong:      "It took too long.",
	Failed:           "It failed.",

	AgentFinished: "The agent finished.",
	AgentFailed:   "The agent failed.",
	AgentStopped:  "The agent stopped before it had finished.",
	Cancelled:     "Cancelled.",
	SessionEnded:  "The session ended.",

	ActionRejected:    "Rejected, and not done: {action}",
	ActionTimedOut:    "Nobody answered in time, so this was not done: {action}",
	ActionUnreachable: "Nobody could be asked, so this was not done: {action}",
	ActionWithdrawn:   "Withdrawn, and not done: {action}",

	QuestionTimedOut:    "Nobody answered in time.",
	QuestionUnreachable: "Nobody could be asked.",
	QuestionWithdrawn:   "The question was withdrawn.",
	DefaultUsed:         "No answer; the default is used.",

	HalfTimeLeft:   "Half of the time to answer is over. Seconds left: {seconds}.",
	LittleTimeLeft: "The time to answer is almost over. Seconds left: {seconds}.",
	MoreTimeGiven:  "There is more time to answer. Seconds left: {seconds}.",
	ActionChanged:  "The action was changed. The question follows again.",

	LinkLost: "The connection to the agent is interrupted. What it does now is told when it is back.",
	LinkBack: "The connection to the agent is back.",

	Request:          "Working on a request.",
	ModelBusy:        "The provider of the model is too busy at the moment.",
	ModelFault:       "The provider of the model has a fault.",
	ModelUnreachable: "The provider of the model could not be reached.",
	ModelRefused:     "The provider of the model did not accept the request.",
	AnswerBroken:     "The answer broke off before its end.",
	AnswerCut:        "The answer was cut off because it became too long.",
	AnswerDeclined:   "The model or its provider declined to answer.",
	AnswerUnread:     "There is an answer, but it could not be followed here.",

	Done:       "Done.",
	Error:      "Error.",
	Handover:   "Handover.",
	WaitingFor: "Waiting for an answer: {action}",

	PleaseDecide:   "Please decide.",
	CannotBeUndone: "This cannot be undone.",
	HardToUndo:     "This is hard to undo.",
	RiskLow:        "The risk is low.",
	RiskMedium:     "The risk is medium.",
	RiskHigh:       "The risk is high.",

	ActionIs:       "Action: {action}",
	ConsequenceIs:  "Consequence: {action}",
	QuestionIs:     "Question: {action}",
	ContextIs:      "Context: {action}",
	OpenQuestionIs: "The question is: {action}",

	MinutesToAnswer: "You have {minutes} to answer.",
	SecondsToAnswer: "You have {seconds} to answer.",

	SilenceAccepts: "Without an answer it will be done.",
	SilenceRejects: "Without an answer it will not be done.",
	SilenceUnknown: "Without an answer nobody knows what will happen.",
	SilenceYes:     "No answer means yes.",
	SilenceNo:      "No answer means no.",
	SilenceMeans:   "No answer means: {action}",

	AgentSays: "The agent says: {action}",
	Code:      "Code, {lines}.",
	AnImage:   "An image.",
}
