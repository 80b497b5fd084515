package phrase

// French. The space in front of a colon is \u00a0, which keeps the colon on its line.
var french = table{
	Thinking:         "Réflexion en cours.",
	UsingATool:       "Utilisation d’un outil.",
	Answering:        "Réponse en cours.",
	WaitingForAnswer: "En attente d’une réponse.",
	Idle:             "Aucune tâche en cours.",
	Deciding:         "Décision en cours.",
	HandingOff:       "Transfert de la tâche en cours.",
	InState:          "Maintenant\u00a0: {state}.",

	UsingTool:        "Utilisation de l’outil {tool}.",
	ToolFinished:     "L’outil {tool} a terminé.",
	ToolTookTooLong:  "L’outil {tool} a mis trop de temps.",
	ToolFailed:       "L’outil {tool} a échoué.",
	ToolDidNotFinish: "L’outil {tool} n’a pas terminé.",
	TookTooLong:      "Cela a pris trop de temps.",
	Failed:           "Cela a échoué.",

	AgentFinished: "L’agent a terminé.",
	AgentFailed:   "L’agent a échoué.",
	AgentStopped:  "L’agent s’est arrêté avant d’avoir terminé.",
	Cancelled:     "Annulé.",
	SessionEnded:  "La session est terminée.",

	ActionRejected:    "Action refusée, non effectuée\u00a0: {action}",
	ActionTimedOut:    "Personne n’a répondu à temps, l’action n’a donc pas été effectuée\u00a0: {action}",
	ActionUnreachable: "Il n’y avait personne à qui demander, l’action n’a donc pas été effectuée\u00a0: {action}",
	ActionWithdrawn:   "Demande retirée, action non effectuée\u00a0: {action}",

	QuestionTimedOut:    "Personne n’a répondu à temps.",
	QuestionUnreachable: "Il n’y avait personne à qui demander.",
	QuestionWithdrawn:   "La question a été retirée.",
	DefaultUsed:         "Sans réponse, la réponse par défaut est utilisée.",

	HalfTimeLeft:   "La moitié du temps de réponse est écoulée. Secondes restantes\u00a0: {seconds}.",
	LittleTimeLeft: "Le temps de réponse est presque écoulé. Secondes restantes\u00a0: {seconds}.",
	MoreTimeGiven:  "Il y a plus de temps pour répondre. Secondes restantes\u00a0: {seconds}.",
	ActionChanged:  "L’action a été modifiée. La question est posée à nouveau.",

	LinkLost: "La connexion avec l’agent est interrompue. Ce qu’il fait maintenant sera dit à son retour.",
	LinkBack: "La connexion avec l’agent est rétablie.",

	Request:          "Traitement d’une demande en cours.",
	ModelBusy:        "Le fournisseur du modèle est surchargé en ce moment.",
	ModelFault:       "Le fournisseur du modèle a une panne.",
	ModelUnreachable: "Le fournisseur du modèle n’a pas pu être joint.",
	ModelRefused:     "Le fournisseur du modèle n’a pas accepté la demande.",
	AnswerBroken:     "La réponse s’est interrompue avant la fin.",
	AnswerCut:        "La réponse a été coupée, car elle devenait trop longue.",
	AnswerDeclined:   "Le modèle ou son fournisseur a refusé de répondre.",
	AnswerUnread:     "Il y a une réponse, mais elle n’a pas pu être suivie ici.",

	Done:       "Terminé.",
	Error:      "Erreur.",
	Handover:   "Transfert.",
	WaitingFor: "En attente d’une réponse\u00a0: {action}",

	PleaseDecide:   "Une décision est nécessaire.",
	CannotBeUndone: "Cela ne peut pas être annulé.",
	HardToUndo:     "Cela est difficile à annuler.",
	RiskLow:        "Le risque est faible.",
	RiskMedium:     "Le risque est moyen.",
	RiskHigh:       "Le risque est élevé.",

	ActionIs:       "Action\u00a0: {action}",
	ConsequenceIs:  "Conséquence\u00a0: {action}",
	QuestionIs:     "Question\u00a0: {action}",
	ContextIs:      "Contexte\u00a0: {action}",
	OpenQuestionIs: "La question est\u00a0: {action}",

	MinutesToAnswer: "Minutes pour répondre\u00a0: {minutes}.",
	SecondsToAnswer: "Secondes pour répondre\u00a0: {seconds}.",

	SilenceAccepts: "Sans réponse, ce sera fait.",
	SilenceRejects: "Sans réponse, ce ne sera pas fait.",
	SilenceUnknown: "Sans réponse, personne ne sait ce qui se passera.",
	SilenceYes:     "L’absence de réponse vaut oui.",
	SilenceNo:      "L’absence de réponse vaut non.",
	SilenceMeans:   "L’absence de réponse vaut\u00a0: {action}",

	AgentSays: "L’agent dit\u00a0: {action}",
	Code:      "Code, lignes\u00a0: {lines}.",
	AnImage:   "Une image.",
}
