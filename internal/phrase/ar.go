package phrase

// Modern Standard Arabic. Short vowels stand where a reader or a voice would otherwise take another word.
//
// Every sentence begins with an Arabic word, which makes its direction right to left, and a foreign name stands
// behind one: so the order comes out right without direction marks, which a voice or a braille table may spell out.
var arabic = table{
	Thinking:         "جارٍ التفكير.",
	UsingATool:       "جارٍ استخدام أداة.",
	Answering:        "جارٍ كتابة الإجابة.",
	WaitingForAnswer: "في انتظار إجابة.",
	Idle:             "لا يوجد عمل جارٍ الآن.",
	Deciding:         "جارٍ اتخاذ القرار.",
	HandingOff:       "جارٍ تسليم المهمة إلى جهة أخرى.",
	InState:          "الآن: {state}.",

	UsingTool:        "جارٍ استخدام الأداة {tool}.",
	ToolFinished:     "أنهت الأداة {tool} عملها.",
	ToolTookTooLong:  "استغرقت الأداة {tool} وقتًا أطول من اللازم.",
	ToolFailed:       "فشلت الأداة {tool}.",
	ToolDidNotFinish: "لم تُنهِ الأداة {tool} عملها.",
	TookTooLong:      "استغرقت العملية وقتًا أطول من اللازم.",
	Failed:           "فشلت العملية.",

	AgentFinished: "أنهى الوكيل عمله.",
	AgentFailed:   "فشل الوكيل في مهمته.",
	AgentStopped:  "توقف الوكيل قبل أن ينهي عمله.",
	Cancelled:     "تم الإلغاء.",
	SessionEnded:  "انتهت الجلسة.",

	ActionRejected:    "رُفض الإجراء ولم يُنفَّذ: {action}",
	ActionTimedOut:    "لم يُجب أحد في الوقت المحدد، ولذلك لم يُنفَّذ الإجراء: {action}",
	ActionUnreachable: "لم يكن بالإمكان سؤال أحد، ولذلك لم يُنفَّذ الإجراء: {action}",
	ActionWithdrawn:   "سُحب الطلب ولم يُنفَّذ الإجراء: {action}",

	QuestionTimedOut:    "لم يُجب أحد في الوقت المحدد.",
	QuestionUnreachable: "لم يكن بالإمكان سؤال أحد.",
	QuestionWithdrawn:   "سُحب السؤال.",
	DefaultUsed:         "لا توجد إجابة؛ استُخدمت الإجابة الافتراضية.",

	HalfTimeLeft:   "انقضى نصف وقت الإجابة. الثواني المتبقية: {seconds}.",
	LittleTimeLeft: "أوشك وقت الإجابة على الانتهاء. الثواني المتبقية: {seconds}.",
	MoreTimeGiven:  "يوجد وقت إضافي للإجابة. الثواني المتبقية: {seconds}.",
	ActionChanged:  "تغيّر الإجراء. يُعاد طرح السؤال.",

	LinkLost: "انقطع الاتصال بالوكيل. سيُذكر ما يفعله الآن عند عودة الاتصال.",
	LinkBack: "عاد الاتصال بالوكيل.",

	Request:          "جارٍ العمل على طلب.",
	ModelBusy:        "مزوّد النموذج مشغول جدًا في الوقت الحالي.",
	ModelFault:       "يوجد عطل لدى مزوّد النموذج.",
	ModelUnreachable: "تعذّر الوصول إلى مزوّد النموذج.",
	ModelRefused:     "لم يقبل مزوّد النموذج الطلب.",
	AnswerBroken:     "انقطعت الإجابة قبل نهايتها.",
	AnswerCut:        "قُطعت الإجابة لأنها أصبحت طويلة جدًا.",
	AnswerDeclined:   "رفض النموذج أو مزوّده الإجابة.",
	AnswerUnread:     "توجد إجابة، لكن لم يكن بالإمكان متابعتها هنا.",

	Done:       "اكتمل العمل.",
	Error:      "حدث خطأ.",
	Handover:   "تسليم المهمة.",
	WaitingFor: "في انتظار إجابة: {action}",

	PleaseDecide:   "يلزم اتخاذ قرار.",
	CannotBeUndone: "لا يمكن التراجع عن هذا.",
	HardToUndo:     "يصعب التراجع عن هذا.",
	RiskLow:        "الخطر منخفض.",
	RiskMedium:     "الخطر متوسط.",
	RiskHigh:       "الخطر مرتفع.",

	ActionIs:       "الإجراء: {action}",
	ConsequenceIs:  "النتيجة: {action}",
	QuestionIs:     "السؤال: {action}",
	ContextIs:      "السياق: {action}",
	OpenQuestionIs: "السؤال هو: {action}",

	MinutesToAnswer: "الدقائق المتاحة للإجابة: {minutes}.",
	SecondsToAnswer: "الثواني المتاحة للإجابة: {seconds}.",

	SilenceAccepts: "إذا لم تصل إجابة فسيُنفَّذ الإجراء.",
	SilenceRejects: "إذا لم تصل إجابة فلن يُنفَّذ الإجراء.",
	SilenceUnknown: "إذا لم تصل إجابة فلا أحد يعلم ما سيحدث.",
	SilenceYes:     "عدم الإجابة يعني نعم.",
	SilenceNo:      "عدم الإجابة يعني لا.",
	SilenceMeans:   "عدم الإجابة يعني: {action}",

	AgentSays: "يقول الوكيل: {action}",
	Code:      "شيفرة برمجية، عدد الأسطر: {lines}.",
	AnImage:   "صورة.",
}
