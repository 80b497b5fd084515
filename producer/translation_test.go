package producer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

var polyglot = producer.Config{Language: "en-US", Languages: []string{"es", "ar"}}

// inLanguages returns c with other languages.
func inLanguages(c aaep.Capabilities, languages ...string) aaep.Capabilities {
	c.Languages = languages
	return c
}

// transfer is a tool that can be asked about in English and Spanish, whole, and in Arabic by half.
var transfer = producer.Tool{Name: "transfer_funds", Risk: aaep.RiskHigh, Irreversible: true,
	Action:      aaep.Say("Transfer $500.").In("es", aaep.Say("Transferir 500 dólares.")).In("ar", aaep.Say("تحويل 500 دولار.")),
	Consequence: aaep.Say("Funds move at once.").In("es", aaep.Text{Terse: "Al instante.", Normal: "Los fondos se mueven al instante."})}

// wordsOf returns what a subscriber receives: language and words of each event.
func wordsOf(l *listener) string {
	var lines []string
	for _, ev := range l.events() {
		text := ev.Text(aaep.VerbosityNormal)
		switch p := ev.Payload.(type) {
		case *aaep.AwaitingConfirmation:
			text = p.Action + " / " + p.Consequence
		case *aaep.ToolCompleted:
			text += " " + p.ErrorMessage
		case *aaep.AwaitingClarification:
			text = p.Question + " / " + p.Context + " / " + p.Choices[0].Label
		}
		lines = append(lines, ev.Language()+" "+strings.TrimSpace(text))
	}
	return strings.Join(lines, "\n")
}

// wantHeard compares that with the lines that are wanted.
func wantHeard(t *testing.T, l *listener, want ...string) {
	t.Helper()
	if got := wordsOf(l); got != strings.Join(want, "\n") {
		t.Errorf("heard\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// HS-018, HS-055, HS-086, I18N-004, I18N-007, I18N-008, I18N-022, D-73: each subscriber gets its
// own language: the author's words, the package's own, and a question only where all of it is in
// that language. What is not translated is told as it is.
func TestEachInTheirLanguage(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		english := st.listen(mayAnswer(allEvents()))
		spanish := st.listen(mayAnswer(inLanguages(allEvents(), "es-MX", "en")))
		arabic := st.listen(mayAnswer(inLanguages(allEvents(), "ar")))
		s, err := st.p.StartSession(t.Context(), aaep.Say("Planning.").In("es", aaep.Say("Planificando.")))
		if err != nil {
			t.Fatal(err)
		}
		paid := callLater(func() (string, error) {
			return s.Tool(t.Context(), transfer, func(context.Context) (string, error) { return "", errors.New("no") })
		})
		spanish.reply(spanish.question(), aaep.Accept)
		<-paid
		s.State(aaep.StateDeciding, aaep.Text{})
		s.Complete(aaep.Say("Done."))
		wantHeard(t, english, "en-US Planning.", "en-US Thinking.", "en-US Transfer $500.", "en-US Transfer $500. / Funds move at once.",
			"en-US Using a tool.", "en-US Transfer $500.", "en-US Transfer funds failed. It failed.", "en-US Thinking.",
			"en-US Now: deciding.", "en-US Done.")
		wantHeard(t, spanish, "es Planificando.", "es Pensando.", "es Transferir 500 dólares.", "es Transferir 500 dólares. / Los fondos se mueven al instante.",
			"es Usando una herramienta.", "es Transferir 500 dólares.", "es La herramienta transfer funds falló. Falló.", "es Pensando.",
			"es Decidiendo qué hacer.", "en-US Done.")
		wantHeard(t, arabic, "en-US Planning.", "ar جارٍ التفكير.", "en-US Transfer $500.", "en-US Transfer $500. / Funds move at once.",
			"ar جارٍ استخدام أداة.", "ar تحويل 500 دولار.", "ar "+arabicFailed(arabic), "ar جارٍ التفكير.", "ar "+arabicDeciding(arabic), "en-US Done.")
		for _, l := range []*listener{english, spanish, arabic} {
			for _, ev := range l.events() {
				if ltr := ev.LocalizationHints.TextDirection == aaep.DirectionLTR; ltr == (ev.Language() == "ar") {
					t.Errorf("%s is %s", ev.Language(), ev.LocalizationHints.TextDirection)
				}
				if ev.Unknown != nil {
					t.Errorf("other languages travel too: %s", ev.Unknown)
				}
			}
		}
	})
}

// The Arabic phrases are pinned where they are made; here only that they come, and in Arabic.
func arabicFailed(l *listener) string { return nthLine(wordsOf(l), 6) }

// arabicDeciding returns the line that says, in Arabic, what is being decided.
func arabicDeciding(l *listener) string { return nthLine(wordsOf(l), 8) }

// nthLine returns the n-th line if it is Arabic, or "?".
func nthLine(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) <= n || !strings.ContainsAny(lines[n], "ابتثجحخد") {
		return "?"
	}
	return strings.TrimPrefix(lines[n], "ar ")
}

// A rejected question says so in the listener's language, with the action in it too.
func TestOutcomeInTheirLanguage(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(inLanguages(allEvents(), "es")))
		s := st.startSession("Planning.")
		paid := callTool(s, transfer, &action{})
		l.reply(l.question(), aaep.Reject)
		<-paid
		if last := l.events()[len(l.events())-1]; last.Text(aaep.VerbosityNormal) != "Se rechazó y esto no se hizo: Transferir 500 dólares." {
			t.Errorf("told %q", last.Text(aaep.VerbosityNormal))
		}
	})
}

// A clarification is asked in a language that question, context and every label are in.
func TestClarifyInTheirLanguage(t *testing.T) {
	es := func(en, es string) aaep.Text { return aaep.Say(en).In("es", aaep.Say(es)) }
	for name, tc := range map[string]struct {
		second aaep.Text
		want   string
	}{
		"whole":     {es("Savings", "Ahorros"), "es ¿Qué cuenta? / Ambas son suyas. / Corriente"},
		"one label": {aaep.Say("Savings"), "en-US Which account? / Both are yours. / Checking"},
	} {
		bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
			l := st.listen(mayAnswer(inLanguages(allEvents(), "es")))
			s := st.startSession("Planning.")
			asked := callLater(func() (any, error) {
				return s.AskChoice(t.Context(), producer.Question{Text: es("Which account?", "¿Qué cuenta?"), Context: es("Both are yours.", "Ambas son suyas."),
					Choices: []producer.Choice{{Label: es("Checking", "Corriente")}, {Value: "s", Label: tc.second}}, Default: "Checking"})
			})
			if got := lineAt(wordsOf(l), 3); got != tc.want {
				t.Errorf("%s: asked %q, want %q", name, got, tc.want)
			}
			time.Sleep(3 * time.Minute)
			if r := <-asked; r.value != "Checking" || r.err != nil {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
}

// lineAt returns the n-th line of s, or "" where there are fewer.
func lineAt(s string, n int) string { return append(strings.Split(s, "\n"), make([]string, n+1)...)[n] }

// I18N-009, HS-076: a language asked for in the middle holds for what follows.
func TestLanguageRenegotiated(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l := st.listen(allEvents())
		s := st.startSession("Planning.")
		both := aaep.Say("Adding.").In("es", aaep.Say("Sumando."))
		s.State(aaep.StateDeciding, both)
		l.events() // they have left
		l.renegotiate(aaep.Capabilities{Languages: []string{"es"}})
		s.Progress(both, aaep.Progress{Percent: new(5.0), Description: "Adding."}, 0)
		p := payloadsOf[*aaep.ProgressUpdated](l.events())[0]
		wantHeard(t, l, "en-US Planning.", "en-US Thinking.", "en-US Adding.", "es Sumando.")
		if p.Progress.Description != "Sumando." {
			t.Errorf("described as %q", p.Progress.Description)
		}
	})
}

// A subscriber that comes late is told what the agent is doing in its own language.
func TestLateSubscriberHearsStateInItsLanguage(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		s := st.startSession("Planning.")
		s.State(aaep.StateDeciding, aaep.Say("Adding.").In("es", aaep.Say("Sumando.")))
		wantHeard(t, st.listen(inLanguages(allEvents(), "es")), "es Sumando.")
	})
}

// Handoffs and ends are told in their language too, at the verbosity asked for.
func TestVerbosityInTheirLanguage(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		c := inLanguages(allEvents(), "es")
		c.PreferredVerbosity = aaep.VerbosityTerse
		l := st.listen(c)
		s := st.startSession("Planning.")
		s.Handoff(aaep.Say("I need help.").In("es", aaep.Text{Terse: "Ayuda.", Normal: "Necesito ayuda."}), aaep.HandoffRequested{})
		ev := l.events()[2]
		if p := ev.Payload.(*aaep.HandoffRequested); ev.Text(aaep.VerbosityTerse) != "Ayuda." || p.Reason != "Necesito ayuda." {
			t.Errorf("%+v %+v", ev.Summary, p)
		}
	})
}

// I18N-006: words in a language that no subscriber is offered are refused, not dropped; so are
// words that cannot be sent.
func TestLanguageNotOffered(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l := st.listen(allEvents())
		s := st.startSession("Planning.")
		for _, tag := range []string{"fr", "not a tag", "zh-Hant", "\u202e"} {
			err := s.State(aaep.StateDeciding, aaep.Say("Adding.").In(tag, aaep.Say("X.")))
			var invalid *aaep.InvalidError
			if !errors.As(err, &invalid) {
				t.Errorf("%q: %v", tag, err)
			} else if tag == "fr" && (invalid.Violations[0].Requirement != "I18N-006" || !strings.Contains(err.Error(), "en-US, es, ar")) {
				t.Errorf("%q: %v", tag, err)
			}
		}
		if err := s.State(aaep.StateDeciding, aaep.Say("Adding.").In("es", aaep.Say("\x1b[2J"))); err == nil {
			t.Error("words that nobody may be told were taken")
		}
		wantHeard(t, l, "en-US Planning.", "en-US Thinking.")
	})
	if _, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "x"}, Languages: []string{"en_US"}}); err == nil || !strings.Contains(err.Error(), `"en_US"`) {
		t.Errorf("New took a language that is no tag: %v", err)
	}
}

// I18N-001: words that an agent has only in another language than its own are told in that, and
// labelled so, a question and its outcome too.
func TestTextInOtherLanguageThanAgents(t *testing.T) {
	bubbleWith(t, producer.Config{Language: "fi", Languages: []string{"es"}}, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(inLanguages(allEvents(), "fi")))
		foreign := func(en string) aaep.Text { return aaep.Text{}.In("en", aaep.Say(en)).In("es", aaep.Say("Hola.")) }
		s, err := st.p.StartSession(t.Context(), foreign("Planning."))
		if err != nil {
			t.Fatal(err)
		}
		each := transfer
		each.Action, each.Consequence = foreign("Pay $5."), foreign("It is gone.")
		paid := callTool(s, each, &action{})
		l.reply(l.question(), aaep.Reject)
		<-paid
		s.Handoff(aaep.Text{}.In("sv", aaep.Say("Hjälp.")), aaep.HandoffRequested{})
		s.Complete(aaep.Say("Valmis."))
		wantHeard(t, l, "en Planning.", "en Thinking.", "en Pay $5.", "en Pay $5. / It is gone.", "en Rejected, and not done: Pay $5.", "sv Hjälp.", "fi Valmis.")
		if h := payloadsOf[*aaep.HandoffRequested](l.events())[0]; h.Reason != "Hjälp." {
			t.Errorf("the reason is %q", h.Reason)
		}
	})
}

// A subscriber that goes on after an event that is not known any more is told in its own language
// that something may be missing.
func TestNoteInTheirLanguage(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		_, acc := st.listenAccepted(resumeAfter(inLanguages(allEvents(), "es"), "evt_unknown"))
		if acc.NegotiationNotes != "Puede faltar lo que se dijo mientras tanto." {
			t.Errorf("the answer is %+v", acc)
		}
	})
}
