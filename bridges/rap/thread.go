package rap

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	maxNews          = 1024 // what may wait to be told of a group
	maxCalls         = 4096 // calls of a group that have no result yet
	maxSubscriptions = 256  // of a group
	maxTold          = 16 << 10
)

// thread is a group of the runtime, as it is told. Its goroutine, run, owns all that follows used.
type thread struct {
	tee  *Tee
	news chan func(*thread) // what is to be told; closed at the end of the group
	used time.Time          // when something last came; guarded by Tee.mu

	s             *producer.Session      // nil until there is something to tell
	calls         map[string]func(error) // what ends each call that was told, by the call's id
	subscriptions map[string]*subscription
}

// subscription is what a call began that goes on to send events.
type subscription struct {
	name string
	out  *producer.Output  // of events that belong to the group's own thread; nil: none yet
	s    *producer.Session // of all others; nil: none yet
}

// run tells what comes, until the group ends. tell starts it.
func (th *thread) run() {
	for do := range th.news {
		do(th)
	}
	for id := range th.subscriptions {
		th.endSubscription(id, "The conversation that wanted these events is over.")
	}
	if th.s != nil {
		th.s.Complete(bridge.Ours("This conversation is over."))
	}
}

// session returns the session of the group, begun if need be, or nil if it cannot be told.
func (th *thread) session() *producer.Session {
	if th.s == nil {
		th.s = th.tee.startSession("Following an agent's tools.")
	}
	return th.s
}

// startSession begins a session, or returns nil if it cannot be told, which is logged.
func (t *Tee) startSession(about string) *producer.Session {
	s, err := t.p.StartSession(context.Background(), bridge.Ours(about))
	if err != nil {
		t.cfg.Logger.Error("rap: a conversation cannot be told", "error", err)
		return nil
	}
	return s
}

// progress tells a sentence of ours.
func (th *thread) progress(sentence string) {
	if s := th.session(); s != nil {
		th.note(s.Progress(bridge.Ours(sentence), aaep.Progress{Description: sentence}, 0))
	}
}

// note logs an error of telling.
func (th *thread) note(err error) {
	if err != nil && !errors.Is(err, producer.ErrSessionOver) {
		th.tee.cfg.Logger.Error("rap: something was not told", "error", err)
	}
}

// beginCall tells that a tool which is not held was called.
func (th *thread) beginCall(id string, about producer.Tool) {
	s := th.session()
	if _, known := th.calls[id]; s == nil || known || len(th.calls) >= maxCalls {
		return // a call that is posted again is told once
	}
	done, err := s.Invoked(about)
	th.note(err)
	if err == nil {
		th.calls[id] = done
	}
}

// endCall tells what came of a call, and its result.
func (th *thread) endCall(id string, result *callback) {
	done := th.calls[id]
	delete(th.calls, id)
	if done == nil {
		return // one that was held, whose goroutine tells it
	}
	done(result.failure())
	th.result(result)
}

// maxReason is how many characters are told of why a tool failed.
const maxReason = 200

// result tells what a result has for a person: the text that the tool wants shown or, without one,
// the first line of what it gives to the model.
func (th *thread) result(result *callback) {
	if why := result.failure(); why != nil {
		th.progress(words.Sentence("The tool says: " + toolwords.Clip(why.Error(), maxReason)))
		return
	}
	if result.Subscription {
		return
	}
	text := toolwords.FirstSentence(result.text())
	for _, show := range result.DisplayAs {
		var words string
		if show.Type == "text" && jsonv2.Unmarshal(show.Content, &words) == nil {
			text = words
			break
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	out := th.s.Output()
	_, err := out.WriteString(words.Fit(text, maxTold))
	th.note(errors.Join(err, out.Close()))
}

// subscribe notes that a call goes on to send events.
func (th *thread) subscribe(id, tool string) {
	if th.subscriptions[id] == nil && len(th.subscriptions) < maxSubscriptions {
		th.subscriptions[id] = &subscription{name: cmp.Or(toolwords.Label(tool), "a tool")}
		th.progress("The agent is told from now on what comes of " + th.subscriptions[id].name + ".")
	}
}

// event tells an event of a subscription. One of a subscription that is unknown or over is not
// told.
func (th *thread) event(c *callback) {
	sub := th.subscriptions[c.ToolCallID]
	if sub == nil {
		th.tee.cfg.Logger.Info("rap: an event of no subscription is not told", "call", toolwords.Label(c.ToolCallID))
		return
	}
	text := words.Fit(describeEvent(c.Text), maxTold)
	if c.Associative {
		if s := th.session(); s != nil {
			if sub.out == nil {
				sub.out = s.Output()
			}
			_, err := sub.out.WriteString(text + "\n")
			th.note(err)
		}
	} else {
		if sub.s == nil {
			sub.s = th.tee.startSession("Events of " + sub.name + ".")
		}
		if sub.s != nil {
			out := sub.s.Output()
			_, err := out.WriteString(text)
			th.note(errors.Join(err, out.Close()))
		}
	}
	if c.Final {
		th.endSubscription(c.ToolCallID, "These events are over.")
	}
}

// describeEvent returns what an event says: of JSON its values, else its text.
func describeEvent(text string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		var v any
		if bridge.Decode([]byte(trimmed), &v) == nil {
			return words.Sentence(bridge.DescribeValue(v))
		}
	}
	return aaep.SafeText(text)
}

// endSubscription ends what a subscription has told, with a sentence.
func (th *thread) endSubscription(id, sentence string) {
	sub := th.subscriptions[id]
	delete(th.subscriptions, id)
	if sub == nil {
		return
	}
	if sub.out != nil {
		th.note(sub.out.Close())
	}
	if sub.s != nil {
		th.note(sub.s.Complete(bridge.Ours(sentence)))
	}
}

// cancelCall tells that the agent takes a call back, or a subscription.
func (th *thread) cancelCall(id string) {
	if done := th.calls[id]; done != nil {
		delete(th.calls, id)
		done(errCancelled)
		th.progress("The agent took that call back.")
	}
	th.endSubscription(id, "The agent wants no more of these events.")
}

// signIn tells that a tool needs its user to sign in. The address is told without its query, which
// may hold secrets.
func (th *thread) signIn(address string) {
	s := th.session()
	if s == nil {
		return
	}
	where := "a place that it does not name"
	if at, err := url.Parse(address); err == nil && at.Scheme == "https" && at.Host != "" {
		where = toolLine(at.Host + at.Path)
	}
	why := "A tool wants you to sign in at " + where + "."
	th.note(s.Handoff(bridge.Ours(why+" The program that runs the agent shows where."), aaep.HandoffRequested{
		Reason: why, TargetKind: aaep.TargetHuman, UrgencyForHandoff: aaep.RiskMedium}))
}

// describeCall returns how a call is told and, if it is held, asked about. It is held if the
// toolset marks its tool as destructive, or does not list it. The error says why a held call cannot
// be asked about: what the user agrees to must be told whole.
func (t *Tee) describeCall(in *invocation) (about producer.Tool, held bool, err error) {
	known := t.findTool(in.Operation)
	name := cmp.Or(toolwords.Label(in.Operation), "a tool without a name")
	about = producer.Tool{Name: in.Operation, Title: name, Risk: aaep.RiskMedium, Timeout: t.cfg.AnswerTime}
	switch {
	case known == nil || known.Annotations.Destructive:
		held = true
	case known.Annotations.ReadOnly:
		about.Risk = aaep.RiskLow
	default:
		held = t.cfg.AskAll
	}
	if !held {
		return about, false, nil
	}
	arguments, err := toolwords.Members(in.Arguments)
	if err != nil {
		return about, true, errors.New("its arguments cannot be told")
	}
	consequence := "The toolset does not say what this tool does."
	if known != nil {
		consequence = cmp.Or(toolwords.FirstSentence(known.Description), consequence)
	}
	for _, argument := range arguments {
		consequence += " " + words.Sentence(toolwords.Exact(argument))
	}
	if len(consequence) > maxTold-100 {
		return about, true, errors.New("its arguments are too long to be told")
	}
	about.Risk, about.Confirm, about.Irreversible = aaep.RiskHigh, true, known == nil || known.Annotations.Destructive
	about.Action = bridge.Ours(words.Sentence("Use the tool " + name))
	about.Consequence = bridge.Ours(consequence)
	return about, true, nil
}

// findTool returns what the toolset says of a tool, or nil.
func (t *Tee) findTool(name string) *tool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil {
		return nil
	}
	for i := range t.tools.Tools {
		if t.tools.Tools[i].Name == name {
			return &t.tools.Tools[i]
		}
	}
	return nil
}
