package phrase

// ID names a sentence that the SDK says by itself.
type ID int

// The sentences. Those with an argument say which in en.go. From OneQuestionOpen on they are pieces.
const (
	Thinking ID = iota
	UsingATool
	Answering
	WaitingForAnswer
	Idle
	Deciding
	HandingOff
	InState // any other state

	UsingTool
	ToolFinished
	ToolTookTooLong
	ToolFailed
	ToolDidNotFinish
	TookTooLong
	Failed

	AgentFinished
	AgentFailed
	AgentStopped // by a crash
	Cancelled
	SessionEnded

	ActionRejected
	ActionTimedOut
	ActionUnreachable
	ActionWithdrawn
	ActionNotBegun // accepted, and the agent stopped

	QuestionTimedOut
	QuestionUnreachable
	QuestionWithdrawn
	DefaultUsed

	HalfTimeLeft
	LittleTimeLeft
	MoreTimeGiven
	ActionChanged

	// To a subscriber, about its terms.
	RateCapped
	NoneOfLanguages
	OnlyListen
	NotToldOf
	NotRunning

	LinkLost // to the agent, by who serves its listeners elsewhere
	LinkBack
	LinkRefused // so far
	AnswerStuck // the same, of an answer that came to it

	// For agents that are followed by what they ask of a model.
	Request
	ModelBusy
	ModelFault
	ModelUnreachable
	ModelRefused
	AnswerBroken
	AnswerCut
	AnswerDeclined
	AnswerUnread

	// For tools of which nobody has said what they do.
	UseTool
	MayDestroy
	OnlyAdds

	// Beside what an agent says, by who tells it to a person.
	Done
	Error
	Handover
	WaitingFor

	ToDecide
	CannotBeUndone
	HardToUndo
	RiskLow
	RiskMedium
	RiskHigh

	ActionIs
	ConsequenceIs
	QuestionIs
	ContextIs
	OpenQuestionIs

	TimeToAnswer

	SilenceAccepts
	SilenceRejects
	SilenceUnknown
	SilenceYes
	SilenceNo
	SilenceMeans

	AgentSays
	Code
	CodeSoFar
	AnImage
	Checked // in a list
	Unchecked

	// To a person who follows agents at a terminal, by the program they do that with.
	FollowingAgent
	AgentUnproven
	AgentProven
	AgentFirstMet
	NameMisleads
	NameLooksLike
	HelpIsThere
	CtrlCEnds
	AgentHasEnded
	WaitingForAgent
	ConnectionLost
	TryingAgain
	TryingAgainIn
	StillUnproven
	NewCertificate
	StillRefused
	ConnectedAgain
	ConnectedAgainOver
	NothingLost
	MayBeLost
	AgentEndedLink
	TriedUntilThere
	NotFollowed
	OthersAnswer
	Connecting
	AgentFloods
	QuestionLeftOut
	MessageLeftOut

	// Where an agent is not there to be followed.
	NothingThere
	NoAnswerFrom
	NoMachine
	NoAgentThere
	CheckAddress
	OrStart
	CannotFollow
	TryAgainAfter
	AskOtherLanguage
	CannotAnswerHere
	PageIsHere
	PageIsSecret

	Decide
	DecideAgain
	TypeIt
	MoreAsks
	NoAnswer
	EnterAgain
	AskedProven
	AskedUnproven
	AnotherWaits
	NextFirst
	SaidMore
	OverNotPut
	NoOtherWaits
	WaitingClosed
	QuestionClosed
	MayHaveArrived
	NotAnswered
	AsksAgain
	TypedTooSoon
	EnterThenAnswer
	AnswerNotTaken
	NotDelivered
	TypeItAgain
	AnswerSent
	AnswerSentIs
	AnswerLate
	AnswerUnheeded
	AnswerUnsent
	AsksTooMuch
	NothingAsked
	LastQuestion
	MoreAskedAlready
	NoMoreTime
	NoMoreTimeClosed
	NoMoreTimeSoFar
	AskMoreAgain
	MoreTime
	NotAllHeard
	AcceptedDoing

	NoCommand
	SpaceBefore
	NotUnderstood
	Expected
	YouGet
	FromNowOn
	NotGranted
	AskedFor
	NotChanged
	QuietNow
	NotQuiet
	NoLongerQuiet
	ForOutputs
	OutputGone
	OutputBack

	// To a person who hears, by what plans it.
	NoQuestionOpen
	QuestionsOpen
	StillToCome
	LeftToAskFor
	NothingMore
	NothingSaidYet
	NothingGoesOn
	ToolsRan
	LinesLeftOut
	NoVoice
	NothingToSpell
	OtherWays
	MayBeGarbled
	WhileTyped
	TheNewest
	DetailsTell
	PrintedInstead
	MarksLost

	// Pieces of sentences and of lists, the rest of this.
	OneQuestionOpen
	MarkGrave
	MarkAcute
	MarkBelow
	AnswerSentences
	Announcements
	Meanwhile
	MeanwhileWithout
	CameBefore
	BeforeNext
	AgentNumber
	AnAgent
	OverWay
	Or
	OrElse
	WithValues
	ANumberTo
	YesOrNo
	ANumber
	YourAnswer
	SaidAccept
	SaidReject
	SaidYes
	SaidNo
	LinkBroke
	NotInTime
	NothingAnswers
	NotOpen

	EveryEvent
	AtMost
	InOwnLanguage
	InLanguage
	TheLanguage
	FewWords
	NormalWords
	ManyWords
	AsWritten
	WordByWord
	SentenceBySentence
	ParagraphByParagraph
	WhenWhole
	MainSteps
	UsualSteps
	EveryStep
	AtPace
	OnlyCriticalAnd
	WithoutTypes
	CutToCells
	TimesTheTime
	ThePatterns
	TheExtension
	QuietExcept
	EndOfQuiet
	QuestionsToDecide
	NoQuestions
	NothingElse

	StandsConnected
	StandsApart
	StandsUnfollowed
	StandsEnded
	StandsBehind
	StandsUpToDate
	StandsLeftOut
	StandsToAskFor
	StandsOpen

	CommandsHelp

	count
)
