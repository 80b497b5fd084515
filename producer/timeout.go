package producer

import (
	"context"
	"fmt"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/spoken"
)

// This file gives a question its time to answer: what its author chose or a default, announced
// before it ends, and more for a subscriber that asks for more (§6.4, WCAG 2.2.1).

// How long a question is open whose author says nothing: a Tool without a Timeout, by what its
// action may do, and a Question without one.
const (
	highImpactTimeout    = 5 * time.Minute // of an action that is irreversible or of high risk
	mediumRiskTimeout    = 2 * time.Minute
	lowRiskTimeout       = time.Minute
	clarificationTimeout = 2 * time.Minute
)

const (
	// longestTimeout is the longest time that an author may give a question.
	longestTimeout = 24 * time.Hour
	// reaction is how long a user must have after hearing something (WCAG 2.2.1).
	reaction = 20 * time.Second
	// noHalfNotice is the time to answer up to which it is not announced that half is left
	// (§6.4.3).
	noHalfNotice = time.Minute
)

// defaultTimeout returns how long the question about a call of the tool is open if Tool.Timeout
// does not say it.
func (t *Tool) defaultTimeout() time.Duration {
	switch {
	case t.isHighImpact():
		return highImpactTimeout
	case t.Risk == aaep.RiskMedium:
		return mediumRiskTimeout
	}
	return lowRiskTimeout
}

// checkTimeout refuses, with an *aaep.InvalidError, a time in which no user can hear and answer:
// less than 20 seconds, unless Config.ShortTimeouts allows it, and more than a day; and a negative
// one. t is the type of the question.
func (p *Producer) checkTimeout(t aaep.Type, timeout time.Duration) error {
	if timeout > longestTimeout {
		return invalidMember(t, "EVT-070", "/timeout_seconds",
			fmt.Sprintf("is %.0f: a question is open for at most a day, which is 86400", timeout.Seconds()))
	}
	if timeout < 0 {
		return invalidMember(t, "EVT-070", "/timeout_seconds",
			fmt.Sprintf("would be %v: give the time that the user has, or zero for the usual", timeout))
	}
	if p.cfg.ShortTimeouts || questions.WholeSeconds(timeout) >= int64(reaction/time.Second) {
		return nil
	}
	return invalidMember(t, "CONF-035", "/timeout_seconds",
		fmt.Sprintf("is %d: nobody who listens can answer in less than 20 seconds; "+
			"give more time, or set Config.ShortTimeouts in a test", questions.WholeSeconds(timeout)))
}

// warnIfTooShort logs a warning for the author of the agent if a question cannot be heard at pace,
// in words per minute, and answered in its time (D-81). It changes nothing and takes no lock but
// that of the warnings.
func (s *Session) warnIfTooShort(question aaep.Payload, pace int64) {
	var text string
	var limit int64
	switch q := question.(type) {
	case *aaep.AwaitingConfirmation:
		text, limit = q.Action+" "+q.Consequence, q.TimeoutSeconds
	case *aaep.AwaitingClarification:
		text, limit = q.Question+" "+q.Context, q.TimeoutSeconds
		for _, c := range q.Choices {
			text += " " + c.Label
		}
	}
	warning := phrase.Lasting("en", phrase.LittleTimeLeft, reaction)
	need := spoken.Time(text, pace) + spoken.Time(warning, pace) + reaction
	if time.Duration(limit)*time.Second >= need {
		return
	}
	if write, left := s.p.shortTimes.countWarning(time.Now()); write {
		attrs := []any{"session_id", s.id, "timeout_seconds", limit,
			"needed_seconds", int64(need / time.Second), "pace_wpm", pace}
		if left > 0 {
			attrs = append(attrs, "left_out", left)
		}
		s.p.cfg.Logger.Warn("too little time to hear the question and answer", attrs...)
	}
}

// awaitOutcome waits for the outcome of a question. Meanwhile it announces how much time is left:
// at half of it, when there is just enough left to hear that and to answer, and when more was
// given; never as a running count. When ctx is done it withdraws the question and returns the
// outcome, which may be of a reply that came first. It returns nil if the session ends. Like the
// broker it looks every questions.LookAgain, for no timer runs while the machine is suspended
// (D-79). askQuestion calls it on the agent's goroutine, holding no lock.
func (s *Session) awaitOutcome(ctx context.Context, pending *questions.Pending, q *ledger.Question) *ledger.Outcome {
	limit := closes.Given(pending.Event)
	deadline := s.p.broker.Now().Add(limit)
	next, notice := nextNotice(limit, limit, pending.Pace)
	timer := time.NewTimer(min(limit-next, questions.LookAgain))
	defer timer.Stop()
	for {
		select {
		case out := <-pending.Answer:
			return out
		case <-ctx.Done():
			s.p.broker.Withdraw(q.Token, "")
			return <-pending.Answer
		case <-s.ctx.Done():
			s.p.broker.GiveUp(pending.Waiter)
			return nil
		case left := <-pending.More:
			now := s.p.broker.Now()
			limit += left - deadline.Sub(now)
			deadline = now.Add(left)
			s.announceTimeLeft(phrase.MoreTimeGiven, left, limit)
			next, notice = nextNotice(limit, left, pending.Pace)
		case <-timer.C:
		}
		left := deadline.Sub(s.p.broker.Now())
		if notice != "" && left <= next {
			due := notice
			if next, notice = nextNotice(limit, left, pending.Pace); notice == "" {
				due = phrase.LittleTimeLeft // also if the machine was suspended when the other notice was due
			}
			if left > 0 {
				s.announceTimeLeft(due, left, limit)
			}
		}
		if notice != "" {
			timer.Reset(min(left-next, questions.LookAgain))
		}
	}
}

// nextNotice returns which notice about the time that is left is due next, and how much time is
// left when it is due. limit is all the time that the question has, left what is left of it now,
// and pace in words per minute. An empty id means that no notice is due any more.
func nextNotice(limit, left time.Duration, pace int64) (at time.Duration, id phrase.ID) {
	warning := phrase.Lasting("en", phrase.LittleTimeLeft, reaction)
	last := (max(limit/10, reaction+spoken.Time(warning, pace)) + time.Second - 1).Truncate(time.Second)
	switch half := limit / 2; {
	case limit > noHalfNotice && half > last+reaction/2 && left > half: // not just before the last one
		return half, phrase.HalfTimeLeft
	case limit > last && left > last:
		return last, phrase.LittleTimeLeft
	}
	return 0, ""
}

// announceTimeLeft emits a progress.updated with the phrase id, which says that left of limit is
// left to answer. That little is left is critical, and reaches every subscriber whatever its filter
// and rate are. It takes s.mu; after the end of the session it does nothing.
func (s *Session) announceTimeLeft(id phrase.ID, left, limit time.Duration) {
	words := s.p.phraseSpeech(id, func(tag string) (string, bool) { return phrase.Time(tag, left), true })
	words.urgent = id == phrase.LittleTimeLeft
	payload := func(text string) *aaep.ProgressUpdated {
		return &aaep.ProgressUpdated{
			Progress: aaep.Progress{Percent: new(float64(100 * (limit - left) / limit)), Description: text},
			ETAMS:    new(left.Milliseconds())}
	}
	words.setPayloads(func(tag string) (aaep.Payload, bool) {
		return payload(phrase.Lasting(tag, id, left)), true
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if _, err := s.emitEvent(words, payload(words.wordings[0].text.Normal)); err != nil {
		s.p.cfg.Logger.Error("the time that is left was not told", "session_id", s.id, "error", err)
	}
}
