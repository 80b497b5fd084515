package producer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// inSpanish is a renegotiation of the language.
var inSpanish = aaep.Capabilities{Languages: []string{"es"}}

// describeAsks returns how each question came: its language, action and seconds.
func describeAsks(evs []*aaep.Event) string {
	var all []string
	for _, ev := range evs {
		if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
			all = append(all, fmt.Sprintf("%s %s %d", ev.Language(), p.Action, p.TimeoutSeconds))
		}
	}
	return strings.Join(all, "; ")
}

// I18N-009, HS-072, HS-076: a user who changes the language while a question is open hears it in
// the new one: the same question, as an event of its own, with the time that is left. That it was
// put in that language is on record before. No other subscriber hears anything twice.
func TestQuestionInTheNewLanguage(t *testing.T) {
	var shown []string
	cfg := polyglot
	cfg.Audit = sinkFunc(func(r audit.Record) error {
		for _, who := range r.Recipients {
			shown = append(shown, who.Language)
		}
		return nil
	})
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		l, other, s, d := st.listen(mayAnswer(allEvents())), st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
		paid := callTool(s, transfer, d)
		first := l.question()
		time.Sleep(100 * time.Second)
		l.renegotiate(inSpanish)
		q := l.question()
		if got := describeAsks(l.events()); got != "en-US Transfer $500. 300; es Transferir 500 dólares. 200" || q.ReplyToken != first.ReplyToken {
			t.Errorf("asked %s, %v", got, q)
		}
		l.renegotiate(aaep.Capabilities{Languages: []string{"es-MX", "en"}, MaxEventsPerSecond: 50}) // the same words
		l.renegotiate(aaep.Capabilities{Languages: []string{"ar", "en"}})                            // asked by half
		if got := describeAsks(l.events()); strings.Count(got, ";") != 2 || !strings.HasSuffix(got, "; en-US Transfer $500. 200") {
			t.Errorf("asked %s", got)
		}
		ids := map[string]bool{}
		for _, ev := range l.events() {
			if ids[ev.EventID] {
				t.Errorf("%s came twice", ev.EventID)
			}
			ids[ev.EventID] = true
		}
		if got := describeAsks(other.events()); got != "en-US Transfer $500. 300" {
			t.Errorf("the other was asked %s", got)
		}
		if want := []string{"en-US", "en-US", "es", "en-US"}; !slices.Equal(shown, want) {
			t.Errorf("on record are %q, want %q", shown, want)
		}
		l.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || d.times != 1 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
		l.renegotiate(inSpanish)
		if got := describeAsks(l.events()); strings.Count(got, ";") != 2 {
			t.Errorf("what is settled was asked again: %s", got)
		}
	})
}

// D-46, §5.8.2: a language that the agent lacks ends nothing. The subscriber is told so, gets the
// agent's own, and can answer the question that was open.
func TestLanguageThatTheAgentLacks(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l, s, d := st.listen(inLanguages(mayAnswer(allEvents()), "es")), st.startSession("Paying."), &action{}
		paid := callTool(s, transfer, d)
		l.question()
		acc := l.renegotiate(aaep.Capabilities{Languages: []string{"yo"}, MaxEventsPerSecond: 3})
		if c := acc.HonoredCapabilities; c.Languages != nil || c.MaxEventsPerSecond != 3 || !strings.Contains(acc.NegotiationNotes, "en-US") {
			t.Errorf("honored %+v, note %q", c, acc.NegotiationNotes)
		}
		if got := describeAsks(l.events()); got != "es Transferir 500 dólares. 300; en-US Transfer $500. 300" {
			t.Errorf("asked %s", got)
		}
		l.reply(l.question(), aaep.Accept)
		if r := <-paid; r.err != nil || d.times != 1 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// INV-07: how much time is left does not depend on a clock that is set.
func TestQuestionAnewAfterTheClockWasSetBack(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
		s.ClockSetBack(time.Hour)
		paid := callTool(s, transfer, &action{})
		time.Sleep(100 * time.Second)
		l.renegotiate(inSpanish)
		if got := describeAsks(l.events()); got != "en-US Transfer $500. 300; es Transferir 500 dólares. 200" {
			t.Errorf("asked %s", got)
		}
		l.reply(l.question(), aaep.Reject)
		<-paid
	})
}

// Nor does it, at another process, on whether its clock is as the agent's.
func TestQuestionAnewWhereClocksDiffer(t *testing.T) {
	runInCloud(t, func(_ *cloud, agent *stage, edges [2]*stage, _ *sink) {
		l, s := edges[0].listen(mayAnswer(allEvents())), agent.startSession("Paying.")
		s.ClockSetBack(time.Hour)
		each := pay
		each.Action = each.Action.In("es", aaep.Say("Pagar 5 dólares."))
		each.Consequence = each.Consequence.In("es", aaep.Say("El dinero se va."))
		paid := callTool(s, each, &action{})
		time.Sleep(100 * time.Second)
		l.renegotiate(inSpanish)
		if got := describeAsks(l.events()); got != "en-US Pay $5. 300; es Pagar 5 dólares. 200" {
			t.Errorf("asked %s", got)
		}
		l.reply(l.question(), aaep.Reject)
		<-paid
	})
}

// A question in one language only is asked once, and so is one that may not be answered here any
// more.
func TestQuestionInOneLanguage(t *testing.T) {
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l, mute, s := st.listen(mayAnswer(allEvents())), st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
		for _, each := range []producer.Tool{pay, transfer} {
			paid := callTool(s, each, &action{})
			q := l.question()
			change := inSpanish
			if each.Name == transfer.Name {
				change.Languages = []string{"es", "en"}
				mute.renegotiate(aaep.Capabilities{Languages: []string{"es"}, SupportsConfirmationReply: new(false)})
			}
			l.renegotiate(change)
			l.reply(q, aaep.Reject)
			<-paid
		}
		if got := describeAsks(l.events()); got != "en-US Pay $5. 300; es Transferir 500 dólares. 300" {
			t.Errorf("asked %s", got)
		}
		if got := describeAsks(mute.events()); strings.Contains(got, "es ") {
			t.Errorf("who cannot answer was asked %s", got)
		}
	})
}

// A clarification is told whole in the new language, with its choices; and with the time that was
// asked for meanwhile.
func TestClarificationInTheNewLanguage(t *testing.T) {
	es := func(en, es string) aaep.Text { return aaep.Say(en).In("es", aaep.Say(es)) }
	bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
		l, s := st.listen(mayAnswer(allEvents())), st.startSession("Choosing.")
		go s.AskChoice(context.Background(), producer.Question{Text: es("Which account?", "¿Qué cuenta?"), Timeout: time.Minute,
			Choices: []producer.Choice{{Label: es("Checking", "Corriente")}, {Value: "s", Label: es("Savings", "Ahorros")}}})
		q := payloadsOf[*aaep.AwaitingClarification](l.events())[0]
		l.sendRaw(fmt.Sprintf(`{"type":"subscription.renegotiate","subscription_id":%q,"capabilities":{"timing":{"more_time_for":%q}}}`, l.id, string(q.ReplyToken)))
		time.Sleep(50 * time.Second)
		l.renegotiate(inSpanish)
		all := payloadsOf[*aaep.AwaitingClarification](l.events())
		if p := all[len(all)-1]; len(all) != 2 || p.ReplyToken != q.ReplyToken || p.Question != "¿Qué cuenta?" || p.Choices[1] != (aaep.Choice{Value: "s", Label: "Ahorros"}) || p.TimeoutSeconds != 70 {
			t.Errorf("%d questions, the last %+v", len(all), p)
		}
		s.Complete(aaep.Text{})
	})
}

// A stream that is cut, or not there, loses nothing of it: it is told on the next, as the same
// event.
func TestQuestionInTheNewLanguageAfterACut(t *testing.T) {
	for _, before := range []bool{false, true} {
		bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
			l, open := st.listenResumable(mayAnswer(allEvents()))
			s := st.startSession("Paying.")
			stream := open("")
			go s.Tool(context.Background(), transfer, succeed)
			if got := describeAsks(stream.events()); got != "en-US Transfer $500. 300" {
				t.Fatalf("asked %s", got)
			}
			var id string
			if before { // it is told, and lost on its way
				l.renegotiate(inSpanish)
				all := stream.events()
				id = all[len(all)-1].EventID
			}
			stream.breakStream()
			time.Sleep(time.Second)
			if !before {
				l.renegotiate(inSpanish)
			}
			again := open(stream.resume).events()
			if got := describeAsks(again); got != "es Transferir 500 dólares. 300" && got != "es Transferir 500 dólares. 299" || before && again[0].EventID != id {
				t.Errorf("after the cut asked %s", got)
			}
			s.Complete(aaep.Text{})
		})
	}
}
