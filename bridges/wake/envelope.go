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

// decode reads an envelope.
func decode(message []byte) (*envelope, error) {
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
	if len(e.Payload) > 0 && bridge.Decode(e.Payload, &e.body) != nil {
		return nil, fmt.Errorf("%w: its payload cannot be read", ErrInvalid)
	}
	e.log, _ = strconv.ParseInt(string(e.LogID), 10, 64)
	return e, nil
}

// names are the words by which a wake is known when it comes again: the id of its event, which
// stays in retries, and what it is about, which stays when it is replayed under a new id. A message
// comes once; a task may enter a state, and a permission be granted, more than once.
func (e *envelope) names() [][]string {
	all := [][]string{{"event", e.Subscription, e.EventID}}
	once, place := e.body.MessageID, "log "+strconv.FormatInt(e.log, 10)
	again := cmp.Or(e.body.TaskID+e.body.State, e.body.Scope+e.body.GrantedBy)
	switch {
	case once != "":
		all = append(all, []string{"about", e.Subscription, e.kind, once})
	case again != "" && (e.body.Modified != "" || e.log > 0):
		all = append(all, []string{"about", e.Subscription, cmp.Or(e.body.Modified, place), e.kind, again})
	}
	return all
}

// gathered is what is told together: how many of each kind, and the newest of it.
type gathered struct {
	kinds   map[string]*kindOfNews
	singles []string // the sentences of wakes that came alone, three at most
	several bool     // some came as digests, or more than three
	urgent  string   // the sentence of a task that waits for a person, or ""
	agents  int      // of how many identities it is; 0 where of one alone
}

type kindOfNews struct {
	count  int
	log    int64
	latest string // a sentence; empty where it was not sent
}

// total is how many there are.
func (g *gathered) total() (n int) {
	if g.urgent != "" && !g.several {
		n = 1
	}
	for _, k := range g.kinds {
		n += k.count
	}
	return n
}

// add adds what came later. The newest is that with the highest place in the swarm's log, whenever
// it came.
func (g *gathered) add(more gathered) {
	if g.kinds == nil {
		g.kinds = map[string]*kindOfNews{}
	}
	for kind, k := range more.kinds {
		have := g.kinds[kind]
		if have == nil {
			have = &kindOfNews{}
			g.kinds[kind] = have
		}
		have.count += k.count
		if k.latest != "" && (k.log >= have.log || have.latest == "") {
			have.log, have.latest = k.log, k.latest
		}
	}
	g.urgent = cmp.Or(more.urgent, g.urgent)
	g.several = g.several || more.several || len(g.singles)+len(more.singles) > mostSingles
	if g.singles = append(g.singles, more.singles...); g.several {
		g.singles = nil
	}
}

const mostCounted = 1_000_000 // of one kind in a digest; more is no count

// gather is what a wake tells, of the kinds that are wanted.
func (e *envelope) gather(only []string) gathered {
	wanted := func(kind string) bool { return kind != heartbeat && (len(only) == 0 || slices.Contains(only, kind)) }
	g := gathered{kinds: map[string]*kindOfNews{}}
	if e.kind != digest {
		if wanted(e.kind) {
			text := e.body.sentence(e.kind)
			if e.kind == taskState && e.body.waits() { // which is told by itself
				g.urgent = text
				return g
			}
			g.kinds[e.kind] = &kindOfNews{count: 1, log: e.log, latest: text}
			g.singles = []string{text}
		}
		return g
	}
	g.several = true
	for kind, c := range e.body.Breakdown {
		if !wanted(kind) || len(g.kinds) >= 16 || c.Count < 1 || c.Count > mostCounted || c.Count != math.Trunc(c.Count) {
			continue // what is counted so is not there
		}
		k := &kindOfNews{count: int(c.Count), log: e.log}
		if c.Latest != nil {
			k.latest = c.Latest.sentence(kind)
			if kind == taskState && c.Latest.waits() {
				g.urgent = k.latest
			}
		}
		g.kinds[kind] = k
	}
	if g.total() == 1 {
		for _, k := range g.kinds {
			if k.latest != "" {
				g.singles, g.several = []string{k.latest}, false
			}
		}
		if g.urgent != "" {
			return gathered{urgent: g.urgent}
		}
	}
	return g
}

// waits reports whether a task waits for a person.
func (p *payload) waits() bool {
	switch stateWords(p.State) {
	case "input required", "auth required":
		return true
	}
	return false
}

// stateWords are a state's name in words: InputRequired is input required.
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
var scopes = map[string]string{"CAN_REPLY_TO": "reply to them", "CAN_READ_INBOX_OF": "read their inbox", "CAN_READ_MEMORIES_OF": "read their memories"}

// sentence says what one wake is.
func (p *payload) sentence(kind string) string {
	or := func(text, other string) string { return cmp.Or(toolwords.Label(text), other) }
	switch kind {
	case sentToMe:
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
		return text + " from " + or(p.From, "a sender without a name") + ": " + words.Sentence(or(p.Subject, "no subject"))
	case taskState:
		text := "Task " + or(p.TaskID, "without a name")
		if name := toolwords.Label(p.Assignee); name != "" {
			text += " of " + name
		}
		text += ": " + cmp.Or(stateWords(p.State), "a new state")
		if was := stateWords(p.Previous); was != "" {
			text += ", it was " + was
		}
		return words.Sentence(text)
	case permission:
		return "Permission from " + or(p.GrantedBy, "the swarm") + ": " + words.Sentence(cmp.Or(scopes[p.Scope], toolwords.Label(p.Scope), "something without a name"))
	}
	return "A wake of a kind that is not known here, " + words.Sentence(or(strings.ReplaceAll(kind, "_", " "), "without a name"))
}

// nouns are what a count of each kind is called.
var nouns = map[string]string{sentToMe: "message", taskState: "task change", permission: "permission"}

// sentences are what is told of all that was gathered: each by itself where they are few, else one
// digest.
func (g *gathered) sentences() []string {
	if !g.several {
		return g.singles
	}
	var parts []string
	order := []string{taskState, sentToMe, permission}
	for _, kind := range order {
		if k := g.kinds[kind]; k != nil {
			parts = append(parts, k.says(nouns[kind]))
		}
	}
	others := 0
	for kind, k := range g.kinds {
		if !slices.Contains(order, kind) {
			others += k.count
		}
	}
	if others > 0 {
		parts = append(parts, words.Count(others, "wake")+" of other kinds.")
	}
	total := words.Count(g.total(), "wake")
	if g.agents > 0 {
		total += " for " + words.Count(g.agents, "agent")
	}
	return []string{total + ". " + strings.Join(parts, " ")}
}

func (k *kindOfNews) says(noun string) string {
	text := words.Count(k.count, noun)
	if k.latest == "" {
		return text + "."
	}
	return text + ", the newest: " + k.latest
}
