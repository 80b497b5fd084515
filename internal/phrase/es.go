package phrase

// Spanish, for all its regions.
var spanish = table{
	Thinking:         "Pensando.",
	UsingATool:       "Usando una herramienta.",
	Answering:        "Respondiendo.",
	WaitingForAnswer: "Esperando una respuesta.",
	Idle:             "Sin actividad.",
	Deciding:         "Decidiendo qué hacer.",
	HandingOff:       "Transfiriendo la tarea.",
	InState:          "Ahora: {state}.",

	UsingTool:        "Usando la herramienta {tool}.",
	ToolFinished:     "La herramienta {tool} terminó.",
	ToolTookTooLong:  "La herramienta {tool} tardó demasiado.",
	ToolFailed:       "La herramienta {tool} falló.",
	ToolDidNotFinish: "La herramienta {tool} no terminó.",
	TookTooLong:      "Tardó demasiado.",
	Failed:           "Falló.",

	AgentFinished: "El agente terminó.",
	AgentFailed:   "El agente falló.",
	AgentStopped:  "El agente se detuvo antes de terminar.",
	Cancelled:     "Cancelado.",
	SessionEnded:  "La sesión terminó.",

	ActionRejected:    "Se rechazó y esto no se hizo: {action}",
	ActionTimedOut:    "Nadie respondió a tiempo, así que esto no se hizo: {action}",
	ActionUnreachable: "No se pudo preguntar a nadie, así que esto no se hizo: {action}",
	ActionWithdrawn:   "Se retiró la solicitud y esto no se hizo: {action}",

	QuestionTimedOut:    "Nadie respondió a tiempo.",
	QuestionUnreachable: "No se pudo preguntar a nadie.",
	QuestionWithdrawn:   "Se retiró la pregunta.",
	DefaultUsed:         "Sin respuesta; se usa la respuesta predeterminada.",

	HalfTimeLeft:   "Ya pasó la mitad del tiempo para responder. Segundos restantes: {seconds}.",
	LittleTimeLeft: "El tiempo para responder casi se acaba. Segundos restantes: {seconds}.",
	MoreTimeGiven:  "Hay más tiempo para responder. Segundos restantes: {seconds}.",
	ActionChanged:  "La acción cambió. La pregunta se repite.",

	LinkLost: "La conexión con el agente está interrumpida. Lo que haga ahora se dirá cuando vuelva.",
	LinkBack: "La conexión con el agente ha vuelto.",

	Request:          "Trabajando en una solicitud.",
	ModelBusy:        "El proveedor del modelo está sobrecargado en este momento.",
	ModelFault:       "El proveedor del modelo tiene una avería.",
	ModelUnreachable: "No se pudo contactar con el proveedor del modelo.",
	ModelRefused:     "El proveedor del modelo no aceptó la solicitud.",
	AnswerBroken:     "La respuesta se interrumpió antes de terminar.",
	AnswerCut:        "La respuesta se cortó porque era demasiado larga.",
	AnswerDeclined:   "El modelo o su proveedor se negó a responder.",
	AnswerUnread:     "Hay una respuesta, pero aquí no se pudo seguir.",

	Done:       "Hecho.",
	Error:      "Hubo un error.",
	Handover:   "Traspaso.",
	WaitingFor: "Esperando una respuesta: {action}",

	PleaseDecide:   "Se necesita una decisión.",
	CannotBeUndone: "Esto no se puede deshacer.",
	HardToUndo:     "Esto es difícil de deshacer.",
	RiskLow:        "El riesgo es bajo.",
	RiskMedium:     "El riesgo es medio.",
	RiskHigh:       "El riesgo es alto.",

	ActionIs:       "Acción: {action}",
	ConsequenceIs:  "Consecuencia: {action}",
	QuestionIs:     "Pregunta: {action}",
	ContextIs:      "Contexto: {action}",
	OpenQuestionIs: "La pregunta es: {action}",

	MinutesToAnswer: "Minutos para responder: {minutes}.",
	SecondsToAnswer: "Segundos para responder: {seconds}.",

	SilenceAccepts: "Sin respuesta, se hará.",
	SilenceRejects: "Sin respuesta, no se hará.",
	SilenceUnknown: "Sin respuesta, nadie sabe qué pasará.",
	SilenceYes:     "Sin respuesta se entiende que sí.",
	SilenceNo:      "Sin respuesta se entiende que no.",
	SilenceMeans:   "Sin respuesta se entiende: {action}",

	AgentSays: "El agente dice: {action}",
	Code:      "Código, líneas: {lines}.",
	AnImage:   "Una imagen.",
}
