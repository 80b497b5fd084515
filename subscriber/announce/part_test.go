package announce

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// spokenOf says what is told of an event, each utterance behind the language of its voice.
func (r *room) spokenOf(language string, p aaep.Payload, text string) (said []string) {
	r.n++
	ev := newEvent(p, text)
	ev.LocalizationHints, ev.Timestamp = in(language), r.now
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	for end := r.now.Add(10 * time.Minute); r.now.Before(end); r.now = r.now.Add(time.Second) {
		if do, _ := r.a.Next(r.now); do.Say != nil {
			said = append(said, do.Say.Language+" "+do.Say.Text)
			r.a.Ended(r.now, do.Say.ID, Heard)
		}
	}
	return said
}

// Five minutes are five in every language, though the question was a moment on its way.
func TestTimeToAnswer(t *testing.T) {
	for left, want := range map[time.Duration][2]string{
		5*time.Minute - 10*time.Millisecond: {"You have 5 minutes to answer.", "Tiempo para responder: 5 minutos."},
		4*time.Minute + 50*time.Second:      {"You have about 5 minutes to answer.", "Tiempo para responder: cerca de 5 minutos."},
		-time.Second:                        {"The time to answer is over.", "El tiempo para responder se acabó."},
	} {
		if got := [2]string{timeToAnswer("en", left).String(), timeToAnswer("es", left).String()}; got != want {
			t.Errorf("of %v it says %q, want %q", left, got, want)
		}
	}
}

// I18N-021: what stands beside an agent's text is in the text's language, where it is known, and
// else in English, and labelled so: no voice reads a language that is not its own.
func TestLanguageOfParts(t *testing.T) {
	question := &aaep.AwaitingClarification{Question: "X?", Context: "Y.", TimeoutSeconds: 3600, DefaultResponse: "b",
		Choices: []aaep.Choice{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}}
	for _, tc := range []struct {
		language string
		payload  aaep.Payload
		text     string
		want     []string
	}{
		{"es-MX", &aaep.AwaitingConfirmation{Action: "Pagar 20 dólares.", Consequence: "El dinero se va.", TimeoutSeconds: 3600, DefaultDecision: aaep.Reject,
			RiskLevel: aaep.RiskHigh, Irreversible: new(true)}, "",
			[]string{"es-MX Decida: Pagar 20 dólares.", "es-MX Consecuencia: El dinero se va.", "es-MX No se puede deshacer.", "es-MX Riesgo alto.",
				"es-MX Tiempo para responder: cerca de 1 hora.", "es-MX Sin respuesta, no se hará."}},
		{"sw", &aaep.AwaitingConfirmation{Action: "Lipa dola 20.", Consequence: "Pesa zitaondoka.", TimeoutSeconds: 3600, DefaultDecision: aaep.Reject,
			RiskLevel: aaep.RiskHigh}, "",
			[]string{"en Decide:", "sw Lipa dola 20.", "en Consequence:", "sw Pesa zitaondoka.", "en High risk.",
				"en You have about 1 hour to answer.", "en No answer: it will not be done."}},
		{"de", question, "", []string{"de Frage: X?", "de Hintergrund: Y.", "de 1: A", "de 2: B", "de Zeit zum Antworten: etwa 1 Stunde.", "de Keine Antwort bedeutet: B."}},
		{"sw", question, "", []string{"en Question:", "sw X?", "en Context:", "sw Y.", "sw 1: A", "sw 2: B", "en You have about 1 hour to answer.",
			"en No answer means:", "sw B."}},
		{"en-GB", question, "", []string{"en-GB Question: X?", "en-GB Context: Y.", "en-GB 1: A", "en-GB 2: B", "en-GB You have about 1 hour to answer.",
			"en-GB No answer means: B."}},
		{"", question, "", []string{"en Question:", " X?", "en Context:", " Y.", " 1: A", " 2: B", "en You have about 1 hour to answer.",
			"en No answer means:", " B."}},
		{"fr", &aaep.SessionCompleted{}, "Le plan est prêt.", []string{"fr Terminé.", "fr Le plan est prêt."}},
		{"sw", &aaep.SessionCompleted{}, "Mpango uko tayari.", []string{"en Done.", "sw Mpango uko tayari."}},
		{"sw", &aaep.SessionCompleted{}, "", []string{"en The agent finished."}},
		{"es", &aaep.SessionCompleted{}, "El agente terminó.", []string{"es El agente terminó."}},
		{"es", &aaep.SessionCompleted{}, " ", []string{"es Hecho."}},
		{"es", &aaep.SessionCompleted{}, "Hecho: tres archivos.", []string{"es Hecho: tres archivos."}},
		{"sw", &aaep.HandoffRequested{Reason: "Ni usiku.", TargetKind: aaep.TargetHuman}, "", []string{"en Handover.", "en Handing over to human:", "sw Ni usiku."}},
		{"yo", &aaep.StateChanged{ToState: aaep.StateAwaitingInput}, "San $20.", []string{"yo Ó ń dúró de ìdáhùn: San $20."}},
		{"es", &aaep.OutputStreaming{Chunk: "Vea https://a.example/b y ![casa](c.png):\n```\na\nb\n```\n", Complete: true, OutputID: "o"}, "",
			[]string{"es Vea a.example y casa:", "es Código, líneas: 2."}},
		{"es", &aaep.SessionStarted{}, "Pregunta: todo bien.", []string{"es El agente dice: Pregunta: todo bien."}},
		{"es", &aaep.SessionStarted{}, "QUESTION : todo bien.", []string{"es El agente dice: QUESTION : todo bien."}},
		{"es", &aaep.SessionStarted{}, "Accio\u0301n: nada.", []string{"es El agente dice: Acción: nada."}},
	} {
		if got := newRoom(t, Preferences{}).spokenOf(tc.language, tc.payload, tc.text); !slices.EqualFunc(got, tc.want, sameText) {
			t.Errorf("%s %T:\n%s\nwant\n%s", tc.language, tc.payload, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
}

func sameText(a, b string) bool { return skeletonOf(a) == skeletonOf(b) }

// What this program says of an agent's words is in English, and the words in their own language.
func TestLanguageOfQuotes(t *testing.T) {
	r := newRoom(t, Preferences{})
	var voices []string
	r.spokenOf("es", &aaep.AwaitingConfirmation{Action: "Pagar.", Consequence: "Se va.", TimeoutSeconds: 86400}, "")
	hear := func() {
		for {
			do, _ := r.a.Next(r.now)
			if do.Say == nil {
				return
			}
			voices = append(voices, do.Say.Language+" "+do.Say.Text)
			r.a.Ended(r.now, do.Say.ID, Heard)
		}
	}
	r.a.WhatWaits(r.now)
	hear()
	r.a.WhereAreWe(r.now)
	hear()
	if got, want := strings.Join(voices[:2], "|"), "en One question is open:|es Pagar."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, said := range voices[2:] {
		if !strings.HasPrefix(said, "es ") {
			t.Errorf("where we are: %q", voices)
		}
	}
}

// Of a question in a language without a voice, what is in another is still said; but it has not
// been heard.
func TestPartWithoutVoice(t *testing.T) {
	r := newRoom(t, Preferences{Speaks: func(tag string) bool { return tag != "sw" }})
	ev := newEvent(&aaep.AwaitingClarification{Question: "Lini?", TimeoutSeconds: 3600}, "")
	ev.LocalizationHints, ev.Timestamp = in("sw"), r.now
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	var said []string
	for {
		do, _ := r.a.Next(r.now)
		if do.Say == nil {
			break
		}
		what := Heard
		if do.Say.Language == "sw" {
			what = Unsaid
		}
		said = append(said, do.Say.Text+" "+string(what))
		r.a.Ended(r.now, do.Say.ID, what)
	}
	if got, want := strings.Join(said, "|"), "Question: heard|There is no voice for the language Swahili. heard|It may not be understood. heard|Lini? unsaid|You have 1 hour to answer. heard"; got != want {
		t.Errorf("said %s\nwant %s", got, want)
	}
	if questionFor(r.a, r.now.Add(time.Minute), aaep.Accept) != nil {
		t.Error("a question that nobody could understand can be accepted")
	}
}
