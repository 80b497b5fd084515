// What an agent of this SDK says of a state for which it has no words of its own: that is no news, and no outcome. It agrees with the SDK.
const states = {
  en: ["Thinking.", "Using a tool.", "Answering.", "Waiting for an answer.", "Now: idle.", "Now: deciding.", "Now: handing off."],
  en: ["Thinking.", "Using a tool.", "Answering.", "Waiting for an answer.", "Now: idle.", "Now: deciding.", "Now: handing off."],
  ar: ["جارٍ التفكير.", "جارٍ استخدام أداة.", "جارٍ كتابة الإجابة.", "في انتظار إجابة.", "لا يوجد عمل جارٍ الآن.", "جارٍ اتخاذ القرار.", "جارٍ تسليم المهمة إلى جهة أخرى."],
  de: ["Denkt nach.", "Verwendet ein Werkzeug.", "Antwortet.", "Wartet auf eine Antwort.", "Hat gerade nichts zu tun.", "Entscheidet, was zu tun ist.", "Gibt die Aufgabe ab."],
  es: ["Pensando.", "Usando una herramienta.", "Respondiendo.", "Esperando una respuesta.", "Sin actividad.", "Decidiendo qué hacer.", "Transfiriendo la tarea."],
  fr: ["Réflexion en cours.", "Utilisation d’un outil.", "Réponse en cours.", "En attente d’une réponse.", "Aucune tâche en cours.", "Décision en cours.", "Transfert de la tâche en cours."],
  yo: ["Ó ń ronú.", "Ó ń lo irinṣẹ́ kan.", "Ó ń dáhùn.", "Ó ń dúró de ìdáhùn.", "Kò ní iṣẹ́ kankan lọ́wọ́ báyìí.", "Ó ń pinnu ohun tí yóò ṣe.", "Ó ń fi iṣẹ́ náà lé ẹlòmíràn lọ́wọ́."],
};

const all = new Set(Object.values(states).flat());

// bare reports whether a text says no more than that there is such a state.
export const bare = (text) => all.has(String(text ?? "").trim());
