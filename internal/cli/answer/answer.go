// Package answer is "aaep answer": it answers, or asks for more time, at the listeners of this user
// from another window. How they are reached is the business of package control, and whether an
// answer counts is that of the listener.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/control"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/words"
)

// controlCommands are what "aaep answer" takes that is no answer.
var controlCommands = []string{"again", "more", "stop", "details", "quiet", "where", "waiting", "next", "skip",
	"newest", "spell"}

const longHelp = `answer reaches the "aaep listen" and "aaep acp" of yours that run on this machine. Bind it to a key, a switch, a pedal
or a voice command, and you need not look for the terminal to say yes.

accept and reject decide what is asked. ANSWER is the number or the name of a choice, or what you would type. The commands:

  again    says the question, or what was said last, once more
  more     asks for more time to answer
  stop     stops what the agent of "aaep acp" does
  details  says what is behind the question, or was left out
  quiet    leaves all that can wait for later; once more ends that
  where    says how each agent is doing
  waiting, next, skip, newest, spell: as /waiting and so on do in "aaep listen"
  to PLACE, back PLACE, find WORDS: walk in what was said, as /to, /back and /find do there

An answer counts by the same rules as one that is typed there: a yes only once you can have heard the whole question,
and never within a second after another key, so that a key that is held down accepts nothing. Why one does not count is
said, and printed here. Where listeners put different questions, name one by --question, with an id of --watch.

--watch prints how it stands, one JSON object on a line, now and at each change, for a status bar or a program of yours.

Exit codes: 0 it was sent or done, 1 it does not count and nothing was done, 2 wrong use, 3 nothing of yours listens.`

// Command makes "aaep answer", which reaches the listeners of this user and sends them an answer or
// a command, or watches their state.
func Command() *cobra.Command {
	var watch bool
	var question string
	cmd := &cobra.Command{
		Use:   "answer (accept | reject | ANSWER | COMMAND)",
		Short: "Answer a question from another window, as by a key of your desktop or a switch",
		Long:  longHelp,
		Example: `  aaep answer accept
  aaep answer 2
  aaep answer again
  aaep answer to heading
  aaep answer --watch`,
		ValidArgs: slices.Concat([]string{"accept", "reject"}, controlCommands, control.WalkNames),
		Args: func(_ *cobra.Command, args []string) error {
			if watch {
				return checkNothingGiven(args, question)
			}
			return checkAnswerGiven(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			if watch {
				return watchListeners(ctx, func(state string) error {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), state)
					return err
				})
			}
			return sendToListeners(ctx, cmd.OutOrStdout(), args, question)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print how it stands now and at each change, a JSON object on each line")
	cmd.Flags().StringVar(&question, "question", "", "answer the question with this `ID`, of --watch, and no other")
	return cmd
}

// checkNothingGiven refuses arguments of --watch, which answers nothing.
func checkNothingGiven(args []string, question string) error {
	if len(args) > 0 || question != "" {
		return exits.UsageError("--watch answers nothing; leave out the rest.\nSee: aaep answer --help")
	}
	return nil
}

// checkAnswerGiven refuses arguments that are not one answer or command. A command that walks in
// what was said, such as "to heading", takes further words.
func checkAnswerGiven(args []string) error {
	walks := len(args) > 0 && slices.Contains(control.WalkNames, args[0])
	oneWord := len(args) == 1 && strings.TrimSpace(args[0]) != ""
	if walks || oneWord {
		return nil
	}
	return exits.UsageError("give one answer or command, such as accept, and in quotes what has spaces.\nSee: aaep answer --help")
}

// sendToListeners sends the answer or the command in args to the listeners of this user that run on
// this machine. Not an agent but only a person may send an answer.
func sendToListeners(ctx context.Context, out io.Writer, args []string, question string) error {
	links := control.Find(ctx, nil)
	defer func() {
		for _, l := range links {
			l.Close()
		}
	}()
	if len(links) == 0 {
		return exits.With(exits.Unreachable,
			errors.New("nothing of yours listens on this machine.\nStart it with: aaep listen"))
	}
	if isCommand(args[0]) {
		return sendCommand(ctx, out, links, args[0], strings.Join(args[1:], " "), control.Age())
	}
	if err := refuseAgent(os.Environ()); err != nil {
		return err
	}
	return sendAnswer(ctx, out, links, args[0], question, control.Age())
}

// isCommand reports whether a word is a command, and no answer.
func isCommand(word string) bool {
	return slices.Contains(controlCommands, word) || slices.Contains(control.WalkNames, word)
}

// sendAnswer sends an answer to the listener that has the question put; age is how long ago its key
// was pressed. Every other listener is informed of the key, so that one that is held down accepts
// nothing there. id is that of the question, or "" where one is put. The error has the exit code.
func sendAnswer(ctx context.Context, out io.Writer, links []*control.Link, text, id string, age time.Duration) error {
	answers, r, err := chooseQuestion(links, text, id)
	r.Age = age.Milliseconds()
	var noting sync.WaitGroup
	defer noting.Wait()
	for _, l := range links {
		if l != answers {
			noting.Go(func() { l.Call(ctx, control.Request{Name: control.PressedName, Age: r.Age}) })
		}
	}
	if err != nil {
		return err
	}
	return callListeners(ctx, out, []*control.Link{answers}, r)
}

// chooseQuestion returns the listener whose question is answered, and the Request for that. Where
// none puts a question, it is one that says what became of the last.
func chooseQuestion(links []*control.Link, text, id string) (answers *control.Link, r control.Request, err error) {
	puts := slices.DeleteFunc(slices.Clone(links), func(l *control.Link) bool {
		return l.State.Question == nil || id != "" && l.State.Question.ID != id
	})
	r = control.Request{Name: control.AnswerName, Text: text}
	if len(puts) == 0 && id != "" {
		return nil, r, exits.With(exits.Failed, fmt.Errorf("no listener of yours puts the question %q now.\nSee: aaep answer --watch", id))
	} else if len(puts) == 0 {
		return links[0], r, nil
	}
	q := puts[0].State.Question
	for _, l := range puts[1:] {
		if other := l.State.Question; other.ID != q.ID {
			return nil, r, exits.With(exits.Failed, fmt.Errorf("two questions are put, and none was answered: %s: %s And %s: %s\nName one: aaep answer --question %s %q",
				q.Agent, words.Sentence(q.Text), other.Agent, words.Sentence(other.Text), q.ID, text))
		}
	}
	if r.Text = answerText(q, text); r.Text != text && !q.Decided {
		return nil, r, exits.With(exits.Failed, fmt.Errorf("accept and reject do not answer this question, and nothing was sent: %s: %s\nGive the number of a choice, or what you would type: aaep answer 2",
			q.Agent, words.Sentence(q.Text)))
	}
	r.Question = q.ID
	return puts[0], r, nil
}

// answerText returns what is typed for an answer: "y" for accept and "n" for reject, in any case of
// letters; all other texts, and a label of one of the question's choices, as they are.
func answerText(q *control.Question, text string) string {
	for _, c := range q.Choices {
		if _, label, _ := strings.Cut(c, ": "); strings.EqualFold(label, text) {
			return text
		}
	}
	switch strings.ToLower(text) {
	case "accept":
		return "y"
	case "reject":
		return "n"
	}
	return text
}

// refuseAgent returns an error where an environment shows that an agent runs who has it: its
// questions are for the person.
func refuseAgent(environment []string) error {
	for _, set := range environment {
		name, value, _ := strings.Cut(set, "=")
		if value != "" && slices.Contains(subprocess.AgentVariables, name) {
			return exits.With(exits.Failed, fmt.Errorf("%s is set, so that an agent runs this. Its questions are for the person, who answers from a window or key of their own", name))
		}
	}
	return nil
}

// sendCommand has listeners obey a command with its text: for stop, those that can stop; for a
// command about a question, those that put one; otherwise, and where none fits, all. age is how
// long ago the person gave it. What they say is printed on out.
func sendCommand(ctx context.Context, out io.Writer, links []*control.Link, name, text string, age time.Duration) error {
	isMeant := func(*control.Link) bool { return true }
	switch name {
	case "stop":
		isMeant = func(l *control.Link) bool { return l.State.Stoppable }
	case "more", "next", "spell", "again", "details":
		isMeant = func(l *control.Link) bool { return l.State.Question != nil }
	}
	addressed := slices.DeleteFunc(slices.Clone(links), func(l *control.Link) bool { return !isMeant(l) })
	if len(addressed) == 0 {
		addressed = links
	}
	return callListeners(ctx, out, addressed, control.Request{Name: name, Text: text, Age: age.Milliseconds()})
}

// callListeners sends a Request to some listeners at once, and prints what they say upon it. The
// error, without words where they have said why, is that none of them did it, or one ended.
func callListeners(ctx context.Context, out io.Writer, links []*control.Link, r control.Request) error {
	responses := make([]control.Response, len(links))
	errs := make([]error, len(links))
	var calling sync.WaitGroup
	for i, l := range links {
		calling.Go(func() { responses[i], errs[i] = l.Call(ctx, r) })
	}
	calling.Wait()
	isDone := false
	for i := range links {
		isDone = isDone || responses[i].Done
		for _, line := range responses[i].Said {
			fmt.Fprintln(out, aaep.SafeText(line))
		}
		if errs[i] != nil && ctx.Err() == nil {
			return exits.With(exits.Failed, errors.New("the listener ended before it said what came of it"))
		}
	}
	if !isDone {
		return exits.With(exits.Failed, errors.New(""))
	}
	return nil
}

// lookForListeners is how often --watch looks for listeners that were started since.
const lookForListeners = time.Second

// watchListeners calls report with the state of all listeners as a line of JSON, now and at each
// change, until ctx is done, which is nil, or report returns an error. It looks for new listeners
// every lookForListeners.
func watchListeners(ctx context.Context, report func(state string) error) error {
	w := listenerWatch{report: report, states: map[int]*control.State{}, changes: make(chan listenerChange)}
	defer w.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	look := time.NewTicker(lookForListeners)
	defer look.Stop()
	for {
		w.watchNew(ctx)
		if err := w.reportUntil(ctx, look.C); err != nil {
			return lineio.UnwrittenError(err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// listenerWatch follows the states of all listeners. A goroutine for each sends its changes to the
// one that reports, which alone has states and last.
type listenerWatch struct {
	report  func(state string) error
	states  map[int]*control.State // by the slots of the listeners
	changes chan listenerChange
	last    string // what was reported last
	running sync.WaitGroup
}

type listenerChange struct {
	slot  int
	state *control.State // nil where the listener is gone
}

// watchNew begins to watch the listeners that were started since.
func (w *listenerWatch) watchNew(ctx context.Context) {
	send := func(c listenerChange) {
		select {
		case w.changes <- c:
		case <-ctx.Done():
		}
	}
	for _, l := range control.Find(ctx, func(slot int) bool { return w.states[slot] != nil }) {
		w.states[l.Slot] = &l.State
		w.running.Go(func() {
			defer l.Close()
			l.Watch(ctx, func(s control.State) { send(listenerChange{l.Slot, &s}) })
			send(listenerChange{slot: l.Slot})
		})
	}
}

// reportUntil reports how it stands and each change of it, until end fires or ctx is done, which is
// no error. What was reported last is not repeated.
func (w *listenerWatch) reportUntil(ctx context.Context, end <-chan time.Time) error {
	for {
		line, err := json.Marshal(combineStates(w.states))
		if err != nil {
			return err
		}
		if string(line) != w.last {
			w.last = string(line)
			if err := w.report(w.last); err != nil {
				return err
			}
		}
		select {
		case c := <-w.changes:
			if c.state == nil {
				delete(w.states, c.slot)
			} else {
				w.states[c.slot] = c.state
			}
		case <-end:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// watched is a line of --watch.
type watched struct {
	Listeners int                 `json:"listeners"`
	Agents    []string            `json:"agents"`
	Questions []*control.Question `json:"questions"` // that are put, each once
	Waiting   int                 `json:"waiting"`   // questions that come after those
	Quiet     bool                `json:"quiet"`
}

// combineStates returns the state of all listeners together, by their slots, as "aaep answer
// --watch" prints it: each agent and each question once.
func combineStates(states map[int]*control.State) watched {
	w := watched{Listeners: len(states), Agents: []string{}, Questions: []*control.Question{}}
	for _, slot := range slices.Sorted(maps.Keys(states)) {
		s := states[slot]
		for _, agent := range s.Agents {
			if !slices.Contains(w.Agents, agent) {
				w.Agents = append(w.Agents, agent)
			}
		}
		if q := s.Question; q != nil && !slices.ContainsFunc(w.Questions,
			func(other *control.Question) bool { return other.ID == q.ID }) {
			w.Questions = append(w.Questions, q)
		}
		w.Waiting += s.Waiting
		w.Quiet = w.Quiet || s.Quiet
	}
	return w
}
