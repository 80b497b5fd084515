package listen

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// inTheirLanguage lets an agent that speaks some languages ask a person who listens in some whether
// to pay.
func inTheirLanguage(t *testing.T, agent, listener []string, f func(e *testListener, paid <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{Language: agent[0], Languages: agent[1:]})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader(listener...), func(e *testListener) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			action, consequence := aaep.Say("Pay $20 to Ada."), aaep.Say("The money is gone.")
			for _, tag := range agent[1:] {
				action, consequence = action.In(tag, aaep.Say("Pagar 20 dólares a Ada.")),
					consequence.In(tag, aaep.Say("El dinero se va."))
			}
			paid := make(chan error, 1)
			go func() {
				_, err := s.Tool(t.Context(),
					producer.Tool{Name: "pay", Confirm: true, Timeout: time.Minute, Action: action,
						Consequence: consequence},
					func(context.Context) (string, error) { return "", nil })
				s.Complete(aaep.Text{})
				paid <- err
			}()
			clitest.PassTime(5 * time.Second)
			f(e, paid)
		})
	})
}

// A person who chose Spanish is asked, told how to answer and answered in Spanish, and says yes in
// it.
func TestSpanish(t *testing.T) {
	inTheirLanguage(t, []string{"en", "es"}, []string{"es-MX", "en"}, func(e *testListener, paid <-chan error) {
		want := `Decida: Pagar 20 dólares a Ada.
Consecuencia: El dinero se va.
Riesgo bajo.
Tiempo para responder: 1 minuto.
Sin respuesta, no se hará.
No verificado: en nombre de asker.
/more pide más tiempo.
Escriba s para aceptar o n para rechazar y pulse Enter.
`
		if got := e.out.String(); !strings.Contains(got, want) {
			t.Errorf("the question:\n%s\nwant\n%s", got, want)
		}
		e.wantSaid("j", "Eso no es una respuesta. Escriba s para aceptar o n para rechazar y pulse Enter. Enter por sí solo repite la pregunta.")
		e.wantSaid("/agents", "asker: conectado, preguntas pendientes: 1.")
		e.wantSaid("/rate fast", "No se entiende: /rate fast. Lo correcto sería: /rate 1-100000.")
		e.wantSaid("/rate 1", "A partir de ahora: eventos por segundo como máximo: 1.")
		clitest.PassTime(time.Second) // or it is one of answers without a pause
		e.wantSaid("SÍ", "Respuesta enviada: aceptar.")
		if err := <-paid; err != nil {
			t.Errorf("after a yes: %v", err)
		}
	})
}

// I18N-009: a person who changes the language while a question is on the screen has it again in the
// new one, once, with its keys; and where the agent has no words in it, as it is, with the new
// keys.
func TestLanguageChangedWhileAsked(t *testing.T) {
	for _, tt := range []struct {
		agent []string
		want  string
	}{
		{[]string{"en", "es"}, "Decida: Pagar 20 dólares a Ada.\n"},
		{[]string{"en"}, "Decide: Pay $20 to Ada.\n"},
	} {
		inTheirLanguage(t, tt.agent, []string{"en-US"}, func(e *testListener, paid <-chan error) {
			before := len(e.out.String())
			e.typeLine("/language es")
			clitest.PassTime(5 * time.Second)
			got := e.out.String()[before:]
			if !strings.Contains(got, tt.want) || strings.Count(got, "/more") != 1 {
				t.Errorf("heard\n%s\nwant\n%s", got, tt.want)
			}
			e.wantSaid("s", "Respuesta enviada: aceptar.")
			if err := <-paid; err != nil {
				t.Errorf("after a yes: %v", err)
			}
		})
	}
}

// Where the agent does not speak the listener's language, this program does, and the words of both
// are taken.
func TestTwoLanguages(t *testing.T) {
	inTheirLanguage(t, []string{"en"}, []string{"de", "en"}, func(e *testListener, paid <-chan error) {
		if got := e.out.String(); !strings.Contains(got, "Decide:") || !strings.Contains(got,
			"Nicht überprüft: im Namen von asker.\n/more bittet um mehr Zeit.\nBitte j zum Annehmen oder n zum Ablehnen eingeben, dann Enter.\n") {
			t.Errorf("the question:\n%s", got)
		}
		e.wantSaid("nein", "Antwort gesendet: ablehnen.")
		if err := <-paid; err == nil {
			t.Error("after a no it was done")
		}
	})
	inTheirLanguage(t, []string{"en", "es"}, []string{"ha", "es", "ar"}, func(e *testListener, paid <-chan error) {
		e.wantSaid("نعم", "Eso no es una respuesta. Escriba s para aceptar o n para rechazar y pulse Enter. Enter por sí solo repite la pregunta.")
		clitest.PassTime(time.Second)
		e.wantSaid("y", "Respuesta enviada: aceptar.")
		<-paid
	})
}

// Of every language, the key that the line offers is what is taken, with the digits of its
// keyboard.
func TestPromptInEveryLanguage(t *testing.T) {
	p := &aaep.AwaitingClarification{Choices: []aaep.Choice{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}},
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice, aaep.ResponseYesNo,
			aaep.ResponseNumeric}}
	for tag, want := range map[string]string{
		"en": "Type a number from 1 to 2, or y for yes or n for no, or a number such as 12.5, then press Enter.",
		"es": "Escriba un número del 1 al 2, o s para decir sí o n para decir no, o un número como 12.5 y pulse Enter.",
		"de": "Bitte eine Zahl von 1 bis 2, oder j für ja oder n für nein, oder eine Zahl wie 12,5 eingeben, dann Enter drücken.",
		"ar": "اكتب رقمًا من 1 إلى 2، أو نعم أو لا، أو رقمًا مثل 12.5 ثم اضغط مفتاح الإدخال.",
	} {
		if got := uilang.AnswerPrompt(uilang.Language(tag), &aaep.Event{Payload: p}); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
	for line, want := range map[string]any{"٢": "b", "۱": "a", "١٢.٥": 12.5, "ن": true, "ل": false} {
		if got := answers.Response(p, line, "ar").Response; got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
