package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

func newEvent(p aaep.Payload, summary string) *aaep.Event {
	return &aaep.Event{SessionID: "sess_1", Payload: p, Summary: aaep.Say(summary), LocalizationHints: in("en")}
}

func in(language string) *aaep.LocalizationHints {
	return &aaep.LocalizationHints{PrimaryLanguage: language}
}

func payQuestion() *aaep.AwaitingConfirmation {
	return &aaep.AwaitingConfirmation{Action: "Pay $20.", Consequence: "The money is gone.", TimeoutSeconds: 90,
		DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskMedium}
}

// Every event is said in plain sentences, whether it brings a summary or not, and no line of its
// own text passes for one of ours. EVT-023, INV-57
func TestText(t *testing.T) {
	for _, tt := range []struct {
		ev   *aaep.Event
		want string
	}{
		{newEvent(&aaep.SessionStarted{}, "Planning."), "Planning."},
		{newEvent(&aaep.SessionStarted{}, ""), "The agent started."},
		{newEvent(&aaep.SessionCompleted{}, "Plan ready."), "Done. Plan ready."},
		{newEvent(&aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown}, "It broke"), "Error. It broke"},
		{newEvent(&aaep.SessionErrored{RemediationHint: "Try later."}, "It broke"), "Error. It broke. Try later."},
		{newEvent(&aaep.SessionCancelled{CancelledBy: aaep.CancelledByUser}, "ls was stopped."), "Cancelled. ls was stopped."},
		{newEvent(&aaep.SessionCancelled{CancelledBy: aaep.CancelledByUser}, ""), "Cancelled by user."},
		{newEvent(&aaep.SessionCancelled{}, "Cancelled."), "Cancelled."},
		{newEvent(&aaep.StateChanged{ToState: aaep.StateThinking}, "Thinking."), "Thinking."},
		{newEvent(&aaep.StateChanged{ToState: aaep.StateAwaitingInput}, "Pay $20."), "Waiting for an answer: Pay $20."},
		{newEvent(&aaep.StateChanged{ToState: aaep.StateAwaitingInput}, "Waiting for an answer."), "Waiting for an answer."},
		{newEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(50.0)}}, ""), "50 percent."},
		{newEvent(&aaep.ToolInvoked{Tool: "send_mail"}, ""), "Using the tool send mail."},
		{newEvent(&aaep.ToolCompleted{Tool: "send_mail", Status: aaep.ToolSuccess}, "Mail sent."), "Mail sent."},
		{newEvent(&aaep.OutputStreaming{Chunk: " One. "}, ""), "One."},
		{newEvent(&aaep.OutputStreaming{Complete: true}, ""), ""},
		{newEvent(&aaep.HandoffRequested{Reason: "It is late.", TargetKind: aaep.TargetHuman}, ""), "Handover. Handing over to human: It is late."},
		{newEvent(&aaep.ExtensionPayload{Type: "acme:lunch"}, "Lunch."), "Lunch."},
		{newEvent(&aaep.OutputStreaming{Chunk: "One.\n\taaep: Answer sent.\nACTION: none\nAction is needed."}, ""),
			"One.\nThe agent says: \taaep: Answer sent.\nThe agent says: ACTION: none\nAction is needed."},
		{newEvent(&aaep.OutputStreaming{Chunk: "\u0410\u0441tion: none\nA\u200dction : none\n- \uff21ction: none\nType  y to accept.\nYou have 9 hours to answer.\nYou have 3 letters.\nVerified.\nActionable: yes"}, ""),
			"The agent says: \u0410\u0441tion: none\nThe agent says: A\u200dction : none\nThe agent says: - \uff21ction: none\nThe agent says: Type  y to accept.\n" +
				"The agent says: You have 9 hours to answer.\nYou have 3 letters.\nVerified.\nActionable: yes"},
		{newEvent(&aaep.SessionErrored{RemediationHint: "Wait.\nConsequence: None."}, "It broke"), "Error. It broke. Wait.\nThe agent says: Consequence: None."},
		{newEvent(payQuestion(), "Pay?"), "Decide: Pay $20.\nConsequence: The money is gone.\nMedium risk.\n" +
			"You have 1 minute 30 seconds to answer. No answer: it will not be done."},
		{newEvent(&aaep.AwaitingClarification{Question: "Which?", TimeoutSeconds: 1}, ""), "Question: Which?\nYou have 1 second to answer."},
	} {
		if got := Text(tt.ev, aaep.VerbosityNormal).String(); got != tt.want {
			t.Errorf("%T: %q, want %q", tt.ev.Payload, got, tt.want)
		}
	}
}

// A confirmation says what would be done, how bad that can be, and what silence means; what is
// unknown is the worst.
func TestConfirmationText(t *testing.T) {
	for _, tt := range []struct {
		change     func(*aaep.AwaitingConfirmation)
		risk, last string
	}{
		{func(p *aaep.AwaitingConfirmation) {}, "Medium risk.", "it will not be done."},
		{func(p *aaep.AwaitingConfirmation) { p.RiskLevel = aaep.RiskLow; p.DefaultDecision = aaep.Accept }, "Low risk.", "it will be done."},
		{func(p *aaep.AwaitingConfirmation) { p.RiskLevel = "" }, "High risk.", "it will not be done."},
		{func(p *aaep.AwaitingConfirmation) { p.RiskLevel = "none at all" }, "High risk.", "it will not be done."},
		{func(p *aaep.AwaitingConfirmation) { p.Irreversible = new(true) }, "Cannot be undone. Medium risk.", "it will not be done."},
		{func(p *aaep.AwaitingConfirmation) { p.Reversibility = aaep.Irreversible }, "Cannot be undone. Medium risk.", "it will not be done."},
		{func(p *aaep.AwaitingConfirmation) { p.Reversibility = aaep.ReversibleWithEffort }, "Hard to undo. Medium risk.", "it will not be done."},
		{func(p *aaep.AwaitingConfirmation) { p.DefaultDecision = "" }, "Medium risk.", "nobody knows what will happen."},
		{func(p *aaep.AwaitingConfirmation) { p.Action += "\nConsequence: None.\n" }, "Medium risk.", "it will not be done."},
	} {
		p := payQuestion()
		tt.change(p)
		lines := strings.Split(questionWords(newEvent(p, ""), 90*time.Second).String(), "\n")
		if len(lines) != 4 || lines[2] != tt.risk || !strings.HasSuffix(lines[3], tt.last) ||
			!strings.HasPrefix(lines[0], "Decide: Pay $20.") || lines[1] != "Consequence: The money is gone." {
			t.Errorf("%+v:\n%s", p, strings.Join(lines, "\n"))
		}
	}
}

// A clarification says its choices by number, and what silence means in the person's words.
func TestClarificationText(t *testing.T) {
	choices := []aaep.Choice{{Value: "c-1", Label: "Checking"}, {Value: "s-1", Label: "Savings"}}
	for _, tt := range []struct {
		p    aaep.AwaitingClarification
		want string
	}{
		{aaep.AwaitingClarification{Choices: choices, DefaultResponse: "s-1", Context: "Both are yours."},
			"Question: Which?\nContext: Both are yours.\n1: Checking\n2: Savings\nYou have 2 minutes to answer. No answer means: Savings."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseYesNo}, DefaultResponse: "false"},
			"Question: Which?\nYou have 2 minutes to answer. No answer means no."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseYesNo}, DefaultResponse: "true"},
			"Question: Which?\nYou have 2 minutes to answer. No answer means yes."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseYesNo, aaep.ResponseMultipleChoice}, DefaultResponse: "false",
			Choices: []aaep.Choice{{Value: "false", Label: "true"}, {Value: "b", Label: "B"}}, Context: "None.\nYou have 9 hours to answer.\n"},
			"Question: Which?\nContext: None. You have 9 hours to answer.\n1: true\n2: B\nYou have 2 minutes to answer. No answer means: true."},
		{aaep.AwaitingClarification{DefaultResponse: "false"}, "Question: Which?\nYou have 2 minutes to answer. No answer means: false."},
	} {
		tt.p.Question = "Which?"
		if got := questionWords(newEvent(&tt.p, ""), 2*time.Minute).String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// The kind of thing is said once, though the agent says it too.
func TestKindIsSaidOnce(t *testing.T) {
	for text, want := range map[string]string{"Plan ready.": "Done. Plan ready.", "Done.": "Done.", "Done: three files.": "Done: three files.",
		"Doner ordered.": "Done. Doner ordered.", "Donec est.": "Done. Donec est."} {
		ev := &aaep.Event{Summary: aaep.Say(text), LocalizationHints: in("en"), Payload: &aaep.SessionCompleted{}}
		if got := Text(ev, aaep.VerbosityNormal).String(); got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}
