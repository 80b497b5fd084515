package serving

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// What an operator finds in the log of serve: who was asked, who answered what, and none of the
// words.
func TestAnswered(t *testing.T) {
	var log strings.Builder
	a := Answered{slog.New(slog.NewTextHandler(&log, nil))}
	by := &audit.Subscription{SubscriptionID: "sub_1", SubscriberID: "reader", Principal: "ada"}
	for _, r := range []audit.Record{
		{Kind: audit.Asked, SessionID: "ses_1", QuestionID: "q_1", Shown: []audit.Words{{Action: "secret"}},
			Default: "secret", Recipients: []audit.Subscription{*by}},
		{Kind: audit.Replied, SessionID: "ses_1", QuestionID: "q_1", By: by,
			Claims: &audit.Claims{Rationale: "secret"}},
		{Kind: audit.Settled, SessionID: "ses_1", QuestionID: "q_1", By: by, Cause: "replied", Decision: aaep.Accept},
		{Kind: audit.Settled, SessionID: "ses_1", QuestionID: "q_2", Cause: "timed_out", Response: "secret"},
	} {
		if err := a.Record(r); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{
		`msg="question asked" session_id=ses_1 question_id=q_1 recipients=1`,
		`msg="question settled" session_id=ses_1 question_id=q_1 cause=replied decision=accept subscription_id=sub_1 principal=ada`,
		`msg="question settled" session_id=ses_1 question_id=q_2 cause=timed_out`,
	} {
		if !strings.Contains(log.String(), want+"\n") {
			t.Errorf("the log has no %s", want)
		}
	}
	if strings.Contains(log.String(), "secret") || strings.Count(log.String(), "\n") != 3 {
		t.Error(log.String())
	}
}

// An agent of the command without a trail logs that it asked, and what came of it, and no word of
// that.
func TestNoWordsInTheLog(t *testing.T) {
	var log clitest.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	p, err := NewProducer("planner", producer.Config{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	s, err := p.StartSession(t.Context(), aaep.Say("Working."))
	if err != nil {
		t.Fatal(err)
	}
	s.AskText(t.Context(), producer.Question{Text: aaep.Say("A secret question?")})
	if got := log.String(); strings.Contains(got, "secret") || !strings.Contains(got, "question settled") {
		t.Errorf("the log has %q", got)
	}
}
