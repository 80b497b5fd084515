package rap

import (
	"cmp"
	"errors"
	"net/url"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	maxNews          = 1024 // what may wait to be told of a group
	maxSubscriptions = 256  // of a group
)

// thread is a group of the runtime, as it is told. Its goroutine, runThread, owns all that follows
// used.
type thread struct {
	tee  *Tee
	news chan func(*thread) // what is to be told; closed at the end of the group
	used time.Time          // when something last came; guarded by Tee.mu

	*toolcall.Conversation
	subscriptions map[string]*subscription
}

// subscription is what a call began that goes on to send events.
type subscription struct {
	name string
	out  *producer.Output  // of events that belong to the group's own thread; nil: none yet
	s    *producer.Session // of all others; nil: none yet
}

// runThread runs what is queued for the group until its queue is closed, and then ends what its
// subscriptions opened, and its own session as complete. queueForGroup starts it in a goroutine.
func (th *thread) runThread() {
	for do := range th.news {
		do(th)
	}
	for id := range th.subscriptions {
		th.endSubscription(id, "The conversation that wanted these events is over.")
	}
	th.Complete("This conversation is over.")
}

// endCall announces how a call ended, and its result. A call that was held is announced by the
// goroutine that asked about it.
func (th *thread) endCall(id string, result *callback) {
	if th.EndCall(id, result.resultFailure()) { // one that was held is told by its own goroutine
		th.announceResult(result)
	}
}

// announceResult announces the result of a call: the text that the tool wants shown or, without
// one, the first sentence of the text for the model.
func (th *thread) announceResult(result *callback) {
	failure := result.resultFailure()
	if failure == nil && result.Subscription {
		return
	}
	text := toolwords.FirstSentence(result.resultText())
	for _, show := range result.DisplayAs {
		var words string
		if show.Type == "text" && jsonv2.Unmarshal(show.Content, &words) == nil {
			text = words
			break
		}
	}
	th.Result(text, failure)
}

// noteSubscription records that a call goes on to send events, which the agent is told, and
// announces that. A known one is left alone; beyond maxSubscriptions the user hears that they will
// not be told of it. The caller is the thread's goroutine.
func (th *thread) noteSubscription(id, tool string) {
	name := cmp.Or(toolwords.Label(tool), "a tool")
	switch {
	case th.subscriptions[id] != nil:
	case len(th.subscriptions) >= maxSubscriptions:
		th.AnnounceNotice("The agent is told from now on what comes of " + name +
			"; you are not, for it is told of too much already.")
	default:
		th.subscriptions[id] = &subscription{name: name}
		th.AnnounceNotice("The agent is told from now on what comes of " + name + ".")
	}
}

// announceEvent announces an event of a subscription, in the group's session or in one of the
// subscription's own. An event of an unknown or ended subscription is logged. c is what the runtime
// has received.
func (th *thread) announceEvent(c *callback) {
	sub := th.subscriptions[c.ToolCallID]
	if sub == nil {
		th.tee.cfg.Logger.Info("rap: an event of no subscription is not told", "call", toolwords.Label(c.ToolCallID))
		return
	}
	text := words.Fit(describeEvent(c.Text), toolcall.MaxTold)
	if c.Associative {
		if s := th.Session(); s != nil {
			if sub.out == nil {
				sub.out = s.Output()
			}
			_, err := sub.out.WriteString(text + "\n")
			th.Note(err)
		}
	} else {
		if sub.s == nil {
			sub.s = th.StartSession("Events of " + sub.name + ".")
		}
		if sub.s != nil {
			out := sub.s.Output()
			_, err := out.WriteString(text)
			th.Note(errors.Join(err, out.Close()))
		}
	}
	if c.Final {
		th.endSubscription(c.ToolCallID, "These events are over.")
	}
}

// describeEvent returns the text of a RAP event as it is announced: of JSON its names and values,
// else the text.
func describeEvent(text string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		var v any
		if bridge.Decode([]byte(trimmed), &v) == nil {
			return words.Sentence(bridge.DescribeValue(v))
		}
	}
	return aaep.SafeText(text)
}

// endSubscription forgets a subscription, and closes its output, or ends its session with a
// sentence. An id that is not known changes nothing.
func (th *thread) endSubscription(id, sentence string) {
	sub := th.subscriptions[id]
	delete(th.subscriptions, id)
	if sub == nil {
		return
	}
	if sub.out != nil {
		th.Note(sub.out.Close())
	}
	if sub.s != nil {
		th.Note(sub.s.Complete(bridge.Ours(sentence)))
	}
}

// cancelCall announces that the agent cancelled a call, and ends its subscription.
func (th *thread) cancelCall(id string) {
	if th.EndCall(id, toolcall.ErrCancelled) {
		th.AnnounceNotice("The agent took that call back.")
	}
	th.endSubscription(id, "The agent wants no more of these events.")
}

// signIn emits a handoff: a tool needs its user to sign in. The address is announced without its
// query, which may hold secrets.
func (th *thread) signIn(address string) {
	s := th.Session()
	if s == nil {
		return
	}
	place := "a place that it does not name"
	if parsed, err := url.Parse(address); err == nil && parsed.Scheme == "https" && parsed.Host != "" {
		place = toolcall.Line(parsed.Host + parsed.Path)
	}
	why := "A tool wants you to sign in at " + place + "."
	th.Note(s.Handoff(bridge.Ours(why+" The program that runs the agent shows where."), aaep.HandoffRequested{
		Reason: why, TargetKind: aaep.TargetHuman, UrgencyForHandoff: aaep.RiskMedium}))
}
