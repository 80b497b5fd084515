package akashik

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	mostWaiting  = 16   // questions that wait to be asked
	mostSought   = 1000 // records among which those of a conflict are looked for
	mostWords    = 4000
	giveUp       = 10 * time.Minute // until an answer that the field did not take is given up
	cannotAnswer = " The field says that this requires an action. It cannot be answered here."
)

// The answers that are offered; any other is a decision in the user's own words.
const (
	answerAccept  = "accept"
	answerDecline = "decline"
	answerFirst   = "first"
	answerSecond  = "second"
	answerNone    = "none"
)

// requireAction queues a question about news that want an action of a person, or announces that it
// cannot be answered here. The caller holds b.mu.
func (b *Bridge) requireAction(n *news) error {
	if !b.cfg.Record || len(b.waiting) >= mostWaiting {
		return b.handOver(n.sentence + cannotAnswer)
	}
	b.waiting = append(b.waiting, n)
	return b.askNext()
}

// askNext starts a goroutine that puts the next queued question, and then the one after it, unless
// one is open or the bridge is closed. The error is that no session could be begun. The caller
// holds b.mu.
func (b *Bridge) askNext() error {
	if b.asking != nil || len(b.waiting) == 0 || b.ctx.Err() != nil {
		return nil
	}
	if err := b.openSession(); err != nil {
		return err
	}
	n, s := b.waiting[0], b.s
	b.waiting = b.waiting[1:]
	ctx, cancel := context.WithCancel(b.ctx)
	b.asking, b.withdraw = n, cancel
	b.asks.Go(func() {
		b.askAbout(ctx, s, n)
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asking = nil
		if err := b.askNext(); err != nil {
			b.cfg.Logger.Error("akashik: a question could not be put", "error", err)
		}
	})
	return nil
}

// askAbout asks about news in a session, waits, and writes the answer into the field. Without
// anyone who can answer, it announces that, and without an answer nothing is written. It runs on
// the goroutine of askNext.
func (b *Bridge) askAbout(ctx context.Context, s *producer.Session, n *news) {
	if n.conflict != "" && !b.knowsClaims(n) {
		b.findClaims(ctx, n)
	}
	// What the records say may change while the question is open.
	claims := [2]string{b.describeClaim(n.units[0]), b.describeClaim(n.units[1])}
	reply, err := s.AskText(ctx, b.makeQuestion(n, claims))
	switch {
	case errors.Is(err, producer.ErrUnreachable):
		b.mu.Lock()
		defer b.mu.Unlock()
		text := n.sentence + " The field says that this requires an action. No listener can answer it, and nothing " +
			"was written."
		if err := b.handOver(text); err != nil {
			b.cfg.Logger.Error("akashik: it could not be told", "error", err)
		}
	case err != nil || reply == answerNone:
		// The end of the question was told by itself, and nothing is written.
	default:
		// An answer is written although the question was settled meanwhile.
		b.writeDirective(b.ctx, n, s, b.makeDirective(n, claims, reply))
	}
}

// makeQuestion makes the question about news, which says what an answer does before there is one. A
// conflict of two records is a choice between their claims; anything else is accepted or declined.
func (b *Bridge) makeQuestion(n *news, claims [2]string) producer.Question {
	subject := n.summary
	if subject == "" {
		subject = n.sentence
	}
	choices := []producer.Choice{
		{Value: answerAccept, Label: aaep.Say("Write that a person accepts it")},
		{Value: answerDecline, Label: aaep.Say("Write that a person declines it")},
		{Value: answerNone, Label: aaep.Say("Write nothing")},
	}
	if n.units[0] != "" && n.units[1] != "" {
		choices[0] = producer.Choice{Value: answerFirst, Label: aaep.Say("Write that this holds: " + claims[0])}
		choices[1] = producer.Choice{Value: answerSecond, Label: aaep.Say("Write that this holds: " + claims[1])}
	}
	return producer.Question{
		Text: aaep.Say("The field " + b.name + " says that this requires an action: " + words.Sentence(subject) +
			" What is to be written there as a person's directive?"),
		Context: aaep.Say("Choose, or say it in your own words. Your answer is put on record in the field, where " +
			"agents may read it. It does nothing else: whether an agent follows it is not known here. Silence writes " +
			"nothing."),
		Choices: choices, Timeout: b.cfg.AnswerTime,
	}
}

// describeClaim returns the summary of a record, or its id where the summary is not known.
func (b *Bridge) describeClaim(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text := b.claims[id]; text != "" {
		return words.Fit(text, mostClaim)
	}
	return "the record " + toolwords.Label(id)
}

// knowsClaims reports whether it is known between which records a conflict is, and what they say.
func (b *Bridge) knowsClaims(n *news) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claims[n.units[0]] != "" && b.claims[n.units[1]] != ""
}

// findClaims asks the field between which records a conflict is, and what they say. What it does
// not say stays unknown.
func (b *Bridge) findClaims(ctx context.Context, n *news) {
	answer, err := b.fetchRecords(ctx, wholeField, mostSought)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range answer.Conflicts {
		if c.ID == n.conflict {
			n.units = [2]string{c.UnitA, c.UnitB}
		}
	}
	for _, known := range answer.listNews() {
		if known.unit != "" && slices.Contains(n.units[:], known.unit) {
			b.claims[known.unit] = known.summary
		}
	}
}

// A directive is the payload of the RECORD that a person's answer becomes.
type directive struct {
	Mode       string     `json:"mode"`
	Type       string     `json:"type"`
	Content    string     `json:"content"`
	Intent     intent     `json:"intent"`
	Confidence confidence `json:"confidence"`
	Relations  []relation `json:"relations"`
}

type intent struct {
	Purpose  string `json:"purpose"`
	Question string `json:"question"`
}

type confidence struct {
	Score       float64  `json:"score"`
	Reasoning   string   `json:"reasoning"`
	Evidence    []string `json:"evidence"`
	Assumptions []string `json:"assumptions"`
}

type relation struct {
	Type        string `json:"type"`
	TargetID    string `json:"target_id"`
	Description string `json:"description"`
}

// makeDirective makes the record of an answer: what was decided, what was asked, and by which
// event. claims are what the records of a conflict said when it was asked.
func (b *Bridge) makeDirective(n *news, claims [2]string, reply string) *directive {
	subject := words.Sentence(n.summary)
	if n.summary == "" {
		subject = n.sentence
	}
	d := &directive{Mode: "committed", Type: "human_directive",
		Intent: intent{Purpose: "A person was asked about what the field says requires an action, and answered.",
			Question: subject},
		Confidence: confidence{Score: 1, Reasoning: "A person decided it, when they were asked by AAEP.",
			Assumptions: []string{}},
	}
	relate := func(kind, target, description string) {
		if target != "" {
			d.Relations = append(d.Relations, relation{kind, target, description})
		}
	}
	switch reply {
	case answerAccept:
		d.Content = "A person accepts: " + subject
		relate("answers", n.unit, "accepted")
	case answerDecline:
		d.Content = "A person declines: " + subject
		relate("answers", n.unit, "declined")
	case answerFirst, answerSecond:
		i := 0
		if reply == answerSecond {
			i = 1
		}
		d.Content = "A person decides that this holds: " + claims[i]
		relate("supports", n.units[i], "a person decides for it in the conflict "+n.conflict)
		relate("informs", n.units[1-i], "a person decides against it in the conflict "+n.conflict)
	default:
		d.Content = "A person decides: " + words.Fit(strings.TrimSpace(reply), mostWords)
		relate("answers", n.unit, "in their own words")
	}
	if d.Relations == nil {
		d.Relations = []relation{}
	}
	d.Confidence.Evidence = append(d.Confidence.Evidence, fmt.Sprintf("akashik event %s at epoch %d", n.event, n.epoch))
	if n.conflict != "" {
		d.Confidence.Evidence = append(d.Confidence.Evidence, "akashik conflict "+n.conflict)
	}
	return d
}

// writeDirective records the person's answer in the field as a directive, and announces whether it
// was accepted. Where the field cannot be reached, the same message is sent again for ten minutes.
// A refusal, and an answer that does not arrive, are announced. It returns when that is known, or
// ctx ends.
func (b *Bridge) writeDirective(ctx context.Context, n *news, s *producer.Session, d *directive) {
	d.Confidence.Evidence = append(d.Confidence.Evidence, "aaep session "+s.ID(),
		"answered at "+time.Now().UTC().Format(time.RFC3339))
	hash := sha256.Sum256([]byte(strings.Join(append(n.actionName(), s.ID(), d.Content), "\x00")))
	id := "aaep-" + hex.EncodeToString(hash[:16])
	var answer struct {
		Status string `json:"status"`
		UnitID string `json:"memory_unit_id"`
		Reason string `json:"rejection_reason"`
	}
	err := b.sendUntilAnswered(ctx, id, d, &answer)
	if err == nil && answer.Status != "accepted" {
		err = errors.New("the field did not accept it: " + toolwords.Label(answer.Reason))
	}
	if err != nil {
		b.announceNote("It is not known that your answer was written: " + words.Sentence(toolwords.Label(err.Error())))
		return
	}
	b.mu.Lock()
	now := time.Now()
	err = b.seen.Record(now, "unit", answer.UnitID, recorded) // which the field may push to its own author
	b.mu.Unlock()
	if err != nil {
		b.cfg.Logger.Error("akashik: what was told is not remembered across a restart", "error", err)
	}
	b.announceNote("Written in the field: " + words.Sentence(d.Content) + " Whether an agent follows it is not known here.")
}

// sendUntilAnswered sends a directive as the message with an id until the field answers, for giveUp
// at most or until ctx ends. answer is what the field said; a refusal of the field is an error at
// once, but that it does not know this listener, which registers again. That it is delayed is
// announced once.
func (b *Bridge) sendUntilAnswered(ctx context.Context, id string, d *directive, answer any) error {
	began, delayed := time.Now(), false
	for retry := bridge.FirstRetry; ; retry = min(2*retry, bridge.LastRetry) {
		err := b.f.callOperation(ctx, "RECORD", id, d, answer)
		var refused *fieldError
		isRefused := errors.As(err, &refused) && refused.Code != codeNotRegistered
		if err == nil || isRefused || time.Since(began) > giveUp {
			return err
		}
		if !delayed {
			delayed = true
			b.announceNote("Your answer is not written yet, for the field cannot be reached. It is tried again.")
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return err
		}
	}
}
