package wake

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
)

// clockSkew is how far a sender's clock may be off without a word about it.
const clockSkew = 10 * time.Minute

// The kinds of wakes.
const (
	sentToMe   = "sent_to_me"
	taskState  = "task_state_changed"
	permission = "permission_granted"
	heartbeat  = "heartbeat_pulse"
	digest     = "digest"
)

// An envelope is a wake as it is sent.
type envelope struct {
	Schema       string         `json:"schemaVersion"`
	Type         string         `json:"eventType"`
	EventID      string         `json:"eventId"`
	LogID        jsontext.Value `json:"logId"`
	Identity     string         `json:"agentIdentity"`
	Subscription string         `json:"subscriptionId"`
	Payload      jsontext.Value `json:"payload"`
	EmittedAt    string         `json:"emittedAt"`

	kind string
	sent time.Time
	log  int64 // zero where there is none
	body payload
}

// payload is that of all kinds in one.
type payload struct {
	MessageID string `json:"messageId"`
	From      string `json:"from"`
	Subject   string `json:"subject"`
	Priority  string `json:"priority"`
	IsReplyTo string `json:"isReplyTo"`
	Broadcast bool   `json:"isBroadcast"`

	TaskID     string `json:"taskId"`
	Previous   string `json:"previousState"`
	State      string `json:"newState"`
	Originator string `json:"originator"`
	Assignee   string `json:"assignee"`
	Modified   string `json:"lastModifiedAt"`

	Scope     string `json:"scope"`
	GrantedBy string `json:"grantedBy"`

	Breakdown map[string]counted `json:"breakdown"`
	WindowMS  float64            `json:"windowMs"`
}

type counted struct {
	Count  float64  `json:"count"`
	Latest *payload `json:"latest"`
}

// decodeEnvelope decodes a wake and checks its required members. The error wraps ErrInvalid and
// says what is wrong. One that was sent more than a day ahead of now is invalid too.
func decodeEnvelope(message []byte) (*envelope, error) {
	e := &envelope{}
	if err := bridge.Decode(message, e); err != nil {
		return nil, fmt.Errorf("%w: it cannot be read", ErrInvalid)
	}
	var known bool
	if e.kind, known = strings.CutPrefix(e.Type, "wake/"); !known || e.kind == "" {
		return nil, fmt.Errorf("%w: its eventType must begin with wake/", ErrInvalid)
	}
	if major, _, _ := strings.Cut(e.Schema, "."); major != "1" {
		return nil, fmt.Errorf("%w: its schemaVersion must be 1.0", ErrInvalid)
	}
	if e.EventID == "" || e.Identity == "" || e.Subscription == "" {
		return nil, fmt.Errorf("%w: it must have eventId, agentIdentity and subscriptionId", ErrInvalid)
	}
	var err error
	if e.sent, err = time.Parse(time.RFC3339, e.EmittedAt); err != nil {
		return nil, fmt.Errorf("%w: its emittedAt must be a time such as 2026-11-01T12:00:00Z", ErrInvalid)
	}
	if e.sent.After(time.Now().Add(bridge.Memory)) { // it could not be known again for as long as it is sent
		return nil, fmt.Errorf("%w: its emittedAt is more than a day ahead", ErrInvalid)
	}
	if len(e.Payload) > 0 && bridge.Decode(e.Payload, &e.body) != nil {
		return nil, fmt.Errorf("%w: its payload cannot be read", ErrInvalid)
	}
	e.log, _ = strconv.ParseInt(string(e.LogID), 10, 64)
	return e, nil
}

// knownNames returns the words by which a wake is known when it comes again: the id of its event,
// which stays in retries, and what it is about, which stays when it is replayed under a new id or
// comes by another subscription of the identity. A message comes once; a task may enter a state,
// and a permission be granted, more than once.
func (e *envelope) knownNames() [][]string {
	all := [][]string{{"event", e.Subscription, e.EventID}}
	once, place := e.body.MessageID, "log "+strconv.FormatInt(e.log, 10)
	occurrence := cmp.Or(e.body.TaskID+e.body.State, e.body.Scope+e.body.GrantedBy)
	switch {
	case once != "":
		all = append(all, []string{"about", e.Identity, e.kind, once})
	case occurrence != "" && (e.body.Modified != "" || e.log > 0):
		all = append(all, []string{"about", e.Identity, cmp.Or(e.body.Modified, place), e.kind, occurrence})
	}
	return all
}

// gathered is what is told together.
type gathered struct {
	bridge.Digest
	waits  []waitingTask
	agents int // of how many identities it is; 0 where of one alone
}

// waitingTask is a task that waits for a person. No digest counts it.
type waitingTask struct {
	place    int64 // in the swarm's log
	sentence string
}

// isEmpty reports whether there is nothing to tell.
func (g *gathered) isEmpty() bool { return g.Total() == 0 && len(g.waits) == 0 }

// addNews adds what came later.
func (g *gathered) addNews(more gathered) {
	g.Join(more.Digest)
	g.waits = append(g.waits, more.waits...)
}

// mostNamedWaits is how many of the tasks that wait for a person are named when they are told
// together.
const mostNamedWaits = 5

// describeWaits says of one or more tasks that they wait for a person: all of them where they are
// few, else how many there are, and the newest.
func describeWaits(waits []waitingTask) string {
	if len(waits) == 1 {
		return waits[0].sentence + " It waits for a person, and cannot be answered here."
	}
	waits = slices.Clone(waits)
	slices.SortStableFunc(waits, func(a, b waitingTask) int { return cmp.Compare(a.place, b.place) })
	text := words.Count(len(waits), "task") + " wait for a person, and cannot be answered here"
	if more := len(waits) - mostNamedWaits; more > 0 {
		text += ", the newest"
		waits = waits[more:]
	}
	text += ":"
	for _, w := range waits {
		text += " " + w.sentence
	}
	return text
}

// Of a digest as many kinds are read, and for each a number up to mostCounted; more is no count.
const (
	mostKinds   = 16
	mostCounted = 1_000_000
)

// gatherNews returns the news in a wake, of the kinds in only, or of all if that is empty: one, or
// for a digest the numbers of each kind, of which at most mostKinds are read; a digest that counts
// one in all and describes it is that one. Tasks that wait for a person are kept apart. A kind
// whose number is no whole one, or beyond mostCounted, is left out.
func (e *envelope) gatherNews(only []string) gathered {
	wanted := func(kind string) bool { return kind != heartbeat && (len(only) == 0 || slices.Contains(only, kind)) }
	if e.kind != digest {
		if !wanted(e.kind) {
			return gathered{}
		}
		return e.gatherOne(e.kind, &e.body)
	}
	n, all, alone := 0, gathered{}, gathered{}
	for kind, c := range e.body.Breakdown {
		isCount := c.Count >= 1 && c.Count <= mostCounted && c.Count == math.Trunc(c.Count)
		if !isCount || !wanted(kind) || n >= mostKinds {
			continue
		}
		n++
		latest := ""
		if c.Latest != nil {
			latest = c.Latest.describeWake(kind)
			alone = e.gatherOne(kind, c.Latest)
			all.waits = append(all.waits, alone.waits...)
		}
		all.AddCounted(kind, int(c.Count), e.log, latest)
	}
	if all.Total() == 1 && !alone.isEmpty() {
		return alone
	}
	return all
}

// gatherOne returns one piece of news of a kind: a task that waits for a person, or any other.
func (e *envelope) gatherOne(kind string, p *payload) (g gathered) {
	text := p.describeWake(kind)
	if kind == taskState && p.waitsForPerson() {
		g.waits = []waitingTask{{e.log, text}}
	} else {
		g.Add(kind, e.log, text)
	}
	return g
}

// waitsForPerson reports whether a task's new state is that it waits for a person's input or
// credentials.
func (p *payload) waitsForPerson() bool {
	switch stateWords(p.State) {
	case "input required", "auth required":
		return true
	}
	return false
}

// stateWords returns a state's name in words: both InputRequired and input_required are input
// required.
func stateWords(state string) string {
	var b strings.Builder
	for i, r := range toolwords.Label(state) {
		switch {
		case r == '_' || r == '-':
			r = ' '
		case unicode.IsUpper(r) && i > 0:
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// scopes are the permissions that are known, in words.
var scopes = map[string]string{"CAN_REPLY_TO": "reply to them", "CAN_READ_INBOX_OF": "read their inbox",
	"CAN_READ_MEMORIES_OF": "read their memories"}

// describeWake returns the sentence that describes a wake of a kind; of a kind that is not known it
// says that, and its name.
func (p *payload) describeWake(kind string) string {
	switch kind {
	case sentToMe:
		return p.describeMessage()
	case taskState:
		return p.describeTask()
	case permission:
		return "Permission from " + cmp.Or(toolwords.Label(p.GrantedBy), "the swarm") + ": " +
			words.Sentence(cmp.Or(scopes[p.Scope], toolwords.Label(p.Scope), "something without a name"))
	}
	return "A wake of a kind that is not known here, " +
		words.Sentence(cmp.Or(toolwords.Label(strings.ReplaceAll(kind, "_", " ")), "without a name"))
}

// describeMessage returns the sentence that says from whom a message is, and about what.
func (p *payload) describeMessage() string {
	text := "Message"
	switch {
	case p.IsReplyTo != "":
		text = "Reply"
	case p.Broadcast:
		text = "Message to all"
	}
	if p.Priority == "high" {
		text = "Important. " + text
	}
	return text + " from " + cmp.Or(toolwords.Label(p.From), "a sender without a name") + ": " +
		words.Sentence(cmp.Or(toolwords.Label(p.Subject), "no subject"))
}

// describeTask returns the sentence that says in which state a task is, and in which it was, where
// that is known.
func (p *payload) describeTask() string {
	text := "Task " + cmp.Or(toolwords.Label(p.TaskID), "without a name")
	if name := toolwords.Label(p.Assignee); name != "" {
		text += " of " + name
	}
	text += ": " + cmp.Or(stateWords(p.State), "a new state")
	if previous := stateWords(p.Previous); previous != "" {
		text += ", it was " + previous
	}
	return words.Sentence(text)
}

// kinds are those that are counted by name.
var kinds = []bridge.DigestKind{{Name: taskState, Noun: "task change"}, {Name: sentToMe, Noun: "message"},
	{Name: permission, Noun: "permission"}}

// describeAll returns the sentences that announce all that was gathered: the numbers of each kind,
// with for how many agents where it is more than one inbox's.
func (g *gathered) describeAll() []string {
	recipients := ""
	if g.agents > 0 {
		recipients = " for " + words.Count(g.agents, "agent")
	}
	return g.Sentences("wake", recipients, kinds)
}
