// Package planner is the agent of "aaep demo" and of the recordings in docs: it plans a retirement
// out of fixed figures, and asks before it moves money. No model and no network is in it.
package planner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Planner is the demo's agent. Its sums are real, and so is the account it pays into; only the
// words it would get from a language model are written here, and it makes them at the pace of one.
type Planner struct {
	Say     func(string)
	Timeout time.Duration

	Checking, savings float64
}

// tokenPace is how fast language models write: about 40 tokens a second.
const tokenPace = 25 * time.Millisecond

// decidingTime is how long the agent thinks after its answer, before it asks. A question goes ahead
// of what a listener has yet to hear; this lets the answer be heard first.
const decidingTime = 2 * time.Second

// PlanRetirement runs the demo's agent: one session, with tools, text and a question. A no, or no
// answer, is a session that ends as it should; the error is for what failed, or that of ctx.
func (a *Planner) PlanRetirement(ctx context.Context, p *producer.Producer) error {
	a.Checking, a.savings = 4200, 61500
	a.Say(fmt.Sprintf("checking holds %s, savings %s.", formatDollars(a.Checking), formatDollars(a.savings)))
	s, err := p.StartSession(ctx, aaep.Text{Terse: "Planning.", Normal: "Planning your retirement."}.
		In("es", aaep.Text{Terse: "Planificando.", Normal: "Planificando su jubilación."}).
		With(extensions.HapticVocabulary, extensions.HapticData{Pattern: "buzz"}))
	if err != nil {
		return err
	}
	defer s.Close()

	var total float64
	_, err = s.Tool(ctx, producer.Tool{Name: "project_savings",
		Action: aaep.Text{Terse: "Projecting.", Normal: "Projecting your savings to the age of 67."}.
			In("es", aaep.Text{Terse: "Calculando.", Normal: "Calculando sus ahorros hasta los 67 años."})},
		func(context.Context) (string, error) {
			total = futureValue(a.savings, 500, 0.04, 67-41)
			return fmt.Sprintf("%.0f", total), nil
		})
	if err != nil {
		return err
	}
	out := s.Output()
	err = streamTokens(ctx, out, fmt.Sprintf(`You have %s in savings. With $500 more a month, at 4 percent a year, you will have about %s when you are 67. Dr. Okafor's rule of thumb gives you 4 percent, i.e. %s a month.`,
		formatDollars(a.savings), formatDollars(math.Round(total)), formatDollars(math.Round(total*0.04/12))))
	if err != nil {
		return err
	}
	out.Close()
	if err := sleepContext(ctx, decidingTime); err != nil {
		return err
	}

	_, err = s.Tool(ctx, producer.Tool{
		Name: "transfer_funds", Risk: aaep.RiskHigh, Irreversible: true, Timeout: a.Timeout,
		Action: aaep.Say("Transfer $500 from checking to your retirement savings.").
			In("es", aaep.Say("Transferir 500 dólares a su jubilación.")).
			With(extensions.HapticVocabulary, extensions.HapticData{Pattern: "buzz buzz"}),
		Consequence: aaep.Say("The money moves at once and cannot be taken out before you are 60.").
			In("es", aaep.Say("El dinero se mueve ya y no puede sacarse antes de los 60 años.")),
	}, func(context.Context) (string, error) {
		a.Checking -= 500
		a.savings += 500
		a.Say(fmt.Sprintf("moved the money: checking holds %s, savings %s.", formatDollars(a.Checking),
			formatDollars(a.savings)))
		return "done", nil
	})
	end := aaep.Text{Terse: "Plan ready, $500 saved.",
		Normal: "Your plan is ready, and the first $500 is in your savings."}.
		In("es", aaep.Say("Plan listo, 500 dólares ahorrados."))
	switch {
	case errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut),
		errors.Is(err, producer.ErrUnreachable):
		a.Say(fmt.Sprintf("did not move the money: checking still holds %s.", formatDollars(a.Checking)))
		end = aaep.Text{Terse: "Plan ready, no money moved.", Normal: "Your plan is ready. No money was moved."}.
			In("es", aaep.Say("Plan listo. No se movió dinero."))
	case err != nil:
		return err
	}
	return s.Complete(end.With(extensions.HapticVocabulary, extensions.HapticData{Pattern: "long buzz"}))
}

// futureValue returns what savings and monthly payments come to after years, at a yearly rate.
func futureValue(savings, monthly, rate, years float64) float64 {
	r, n := rate/12, years*12
	growth := math.Pow(1+r, n)
	return savings*growth + monthly*(growth-1)/r
}

// formatDollars returns an amount of money, with cents where there are any.
func formatDollars(amount float64) string {
	cents := int64(math.Round(amount * 100))
	text := "$" + words.Thousands(cents/100)
	if cents%100 != 0 {
		text += fmt.Sprintf(".%02d", cents%100)
	}
	return text
}

// sleepContext sleeps for d, or returns ctx's error if that is done first.
func sleepContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// streamTokens writes text token by token, one each tokenPace, as a language model does. The error
// is that of ctx, or of w.
func streamTokens(ctx context.Context, w io.Writer, text string) error {
	tick := time.NewTicker(tokenPace)
	defer tick.Stop()
	for _, token := range splitTokens(text) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, err := io.WriteString(w, token); err != nil {
			return err
		}
	}
	return nil
}

// splitTokens splits text about as a model's tokenizer does: words with the space before them, long
// ones in pieces, marks for themselves.
func splitTokens(text string) []string {
	var list []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			list = append(list, b.String())
			b.Reset()
		}
	}
	for _, r := range text {
		if strings.ContainsRune(" .,:;$\n", r) || b.Len() >= 6 {
			flush()
		}
		b.WriteRune(r)
	}
	flush()
	return list
}

// TimeToDecide is enough to hear the question, at any pace, and to think about it.
const TimeToDecide = 3 * time.Minute
