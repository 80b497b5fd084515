package rap

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// choice is what is known of a user_choice: whether one of its two sides has answered, and how its
// question is taken back here.
type choice struct {
	answered bool
	withdraw func() // nil: it is not asked here
}

// maxKnownChoices is how many choices are known; then all are forgotten, and the tool decides which
// of two answers counts.
const maxKnownChoices = 4096

// knownChoice returns the state of a choice, a new one where it is unknown. The caller holds t.mu.
func (t *Tee) knownChoice(p callRef) *choice {
	if t.choices[p] == nil {
		if len(t.choices) >= maxKnownChoices {
			clear(t.choices)
		}
		t.choices[p] = &choice{}
	}
	return t.choices[p]
}

// beginChoice records that a choice is put to the user here; withdraw is called where it is
// answered elsewhere. It reports false if it was answered, or is put already.
func (t *Tee) beginChoice(p callRef, withdraw func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.knownChoice(p)
	if c.answered || c.withdraw != nil {
		return false
	}
	c.withdraw = withdraw
	return true
}

// answerOnce reports whether this answer to a choice is the first, and withdraws the question here
// if it is open. It takes t.mu.
func (t *Tee) answerOnce(p callRef) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.knownChoice(p)
	first := !c.answered
	c.answered = true
	if c.withdraw != nil {
		c.withdraw()
	}
	return first
}

// maxChoices is how many choices a question offers at most.
const maxChoices = 32

// askChoice puts a choice of a tool to the user, once the runtime has it too; the first answer
// counts, and silence leaves it to the runtime. A choice of one, or of more than maxChoices, is
// announced and left to the runtime. answers is where an answer goes.
func (t *Tee) askChoice(answers callRef, c *callback) {
	name := cmp.Or(toolwords.Label(answers.Tool), "A tool")
	ctx, cancel := context.WithCancelCause(t.ctx)
	if !t.beginChoice(answers, func() { cancel(toolcall.ErrCancelled) }) {
		cancel(nil)
		return
	}
	if len(c.Choices) < 2 || len(c.Choices) > maxChoices {
		t.queueForGroup(answers.Group, func(th *thread) {
			th.AnnounceNotice(name + " offers " + words.Count(len(c.Choices), "choice") +
				". The program that runs the agent has them.")
		})
		return
	}
	prompt := words.Fit(toolwords.Line(c.Prompt), toolcall.MaxTold/2)
	q := producer.Question{Text: aaep.Say(words.Sentence(name + " asks: " + prompt)),
		Context: bridge.Ours("The program that runs the agent asks the same. The first answer counts."),
		Timeout: t.cfg.AnswerTime}
	for i, label := range c.Choices {
		q.Choices = append(q.Choices, producer.Choice{Value: strconv.Itoa(i),
			Label: aaep.Say(cmp.Or(toolcall.Line(label), "Choice "+strconv.Itoa(i+1)))})
	}
	t.queueForGroup(answers.Group, func(th *thread) {
		if s := th.Session(); s != nil {
			t.work.Go(func() {
				defer cancel(nil)
				t.answerChoice(ctx, s, answers, q)
			})
		}
	})
}

// answerChoice puts a choice and posts the user's answer to the tool, if the runtime has not
// answered it first. It is a goroutine of its own.
func (t *Tee) answerChoice(ctx context.Context, s *producer.Session, answers callRef, q producer.Question) {
	value, err := s.AskChoice(ctx, q)
	if err != nil || !t.answerOnce(answers) {
		return
	}
	selected, _ := strconv.Atoi(value) // it is one of ours
	body, err := json.Marshal(struct {
		ID       string `json:"id"`
		Selected int    `json:"selected"`
	}{answers.Call, selected})
	if err == nil {
		err = t.postAgain(t.ctx, answers.To, body, attempts)
	}
	if err != nil {
		t.cfg.Logger.Error("rap: an answer did not reach the tool", "error", err)
		t.queueForGroup(answers.Group, func(th *thread) { th.AnnounceNotice("Your answer did not reach the tool.") })
	}
}

// serveChoice passes the runtime's answer to a choice on to the tool, if it is the first.
func (t *Tee) serveChoice(w http.ResponseWriter, r *http.Request, p callRef) {
	body, ok := readBody(w, r, maxInvocation)
	if !ok || !t.answerOnce(p) {
		return
	}
	t.relayMessage(w, r, p.To, body)
}
