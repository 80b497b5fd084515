package akashik

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
)

// The events of a field.
const (
	recorded         = "memory.recorded"
	superseded       = "memory.superseded"
	contested        = "memory.contested"
	conflictDetected = "conflict.detected"
	conflictResolved = "conflict.resolved"
	taskChanged      = "task.state_changed"
	taskAssigned     = "task.assigned"
	taskCompleted    = "task.completed"
	handoffIncoming  = "handoff.incoming"
	agentJoined      = "agent.joined"
	agentFailed      = "agent.failed"
	sessionPaused    = "session.paused"
	sessionEnded     = "session.ended"
)

// Events are the names of all events of a field.
func Events() []string {
	return []string{recorded, superseded, contested, conflictDetected, conflictResolved, taskChanged, taskAssigned,
		taskCompleted, handoffIncoming, agentJoined, agentFailed, sessionPaused, sessionEnded}
}

// kinds are the events as they are counted in a digest, in the order in which they matter.
var kinds = []bridge.DigestKind{
	{Name: conflictDetected, Noun: "conflict"}, {Name: contested, Noun: "disputed record"},
	{Name: conflictResolved, Noun: "settled conflict"}, {Name: agentFailed, Noun: "failed agent"},
	{Name: recorded, Noun: "new record"}, {Name: superseded, Noun: "replaced record"},
	{Name: taskAssigned, Noun: "assigned task"}, {Name: taskCompleted, Noun: "completed task"},
	{Name: taskChanged, Noun: "task change"}, {Name: agentJoined, Noun: "new agent"},
	{Name: sessionPaused, Noun: "pause"},
}

// beginnings are what the sentence about each event begins with.
var beginnings = map[string]string{
	recorded: "New", superseded: "Replaced", contested: "Disputed", conflictDetected: "Conflict found",
	conflictResolved: "Conflict settled", taskChanged: "Task", taskAssigned: "Task assigned",
	taskCompleted:   "Task done",
	handoffIncoming: "A task is handed over to you", agentJoined: "An agent joined", agentFailed: "An agent failed",
	sessionPaused: "The session is paused", sessionEnded: "The session ended",
}

// A notification is what the field pushes.
type notification struct {
	Subscription string         `json:"subscription_id"`
	Event        string         `json:"event"`
	Epoch        jsontext.Value `json:"epoch"`
	Relevance    jsontext.Value `json:"relevance_score"`
	Summary      string         `json:"summary"`
	UnitID       string         `json:"memory_unit_id"`
	ConflictID   string         `json:"conflict_id"`
	Action       jsontext.Value `json:"requires_action"`
}

// A memoryUnit is a record of the field.
type memoryUnit struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Content string `json:"content"`
	Intent  struct {
		Purpose string `json:"purpose"`
	} `json:"intent"`
	Source struct {
		AgentID   string `json:"agent_id"`
		Timestamp string `json:"timestamp"`
	} `json:"source"`
	Status string         `json:"status"`
	Epoch  jsontext.Value `json:"epoch"`
}

// A conflict is one between two records.
type conflict struct {
	ID          string `json:"id"`
	Status      string `json:"status"`
	UnitA       string `json:"unit_a"`
	UnitB       string `json:"unit_b"`
	Description string `json:"description"`
}

// Of a peer's text no more than these bytes are told.
const (
	mostSummary = 1000
	mostClaim   = 300
)

// fitLine is a peer's text in one line and of a length to listen to.
func fitLine(text string, most int) string { return words.Fit(bridge.Line(text), most) }

// news is something that is told of the field, however it came.
type news struct {
	event      string
	epoch      int64
	relevance  float64
	unit       string
	conflict   string
	units      [2]string // that a conflict is between, where they are known
	summary    string
	sentence   string
	at         time.Time // when it was recorded, by the field's clock; zero is unknown
	wantAction bool
	name       []string // by which it is known when it comes again
}

var errNotification = errors.New("the field pushed what is no notification")

// decodeNotification reads a notification, and returns its news and the subscription that it is of.
// n is nil for one that cannot be read, or of an unknown event; problem is set beside n where its
// relevance is none, and taken as 1.
func decodeNotification(message []byte) (n *news, subscription string, problem error) {
	var m notification
	if bridge.Decode(message, &m) != nil || !slices.Contains(Events(), m.Event) {
		return nil, "", errNotification
	}
	n = &news{event: m.Event, unit: m.UnitID, conflict: m.ConflictID, summary: fitLine(m.Summary, mostSummary),
		wantAction: unquoteValue(m.Action) == "true"}
	n.epoch, _ = epochOf(m.Epoch)
	var ok bool
	if n.relevance, ok = relevanceOf(m.Relevance); !ok {
		problem = errors.New("the field sent a relevance that is not from 0 to 1; it is taken as 1")
	}
	n.sentence = words.Sentence(beginnings[m.Event])
	if n.summary != "" {
		n.sentence = beginnings[m.Event] + ": " + words.Sentence(n.summary)
	}
	hash := sha256.Sum256([]byte(m.Summary))
	n.name = []string{"event", m.Event, strconv.FormatInt(n.epoch, 10), m.UnitID, m.ConflictID,
		hex.EncodeToString(hash[:])}
	switch {
	case strings.HasPrefix(m.Event, "memory.") && m.UnitID != "":
		n.name = []string{"unit", m.UnitID, m.Event}
	case strings.HasPrefix(m.Event, "conflict.") && m.ConflictID != "":
		n.name = []string{"conflict", m.ConflictID, m.Event}
	}
	return n, m.Subscription, problem
}

// newsOfUnit returns the news of a record that ATTUNE returned.
func newsOfUnit(u *memoryUnit, relevance float64) *news {
	n := &news{event: recorded, relevance: relevance, unit: u.ID, summary: fitLine(u.Content, mostSummary)}
	n.epoch, _ = epochOf(u.Epoch)
	n.at, _ = time.Parse(time.RFC3339, u.Source.Timestamp)
	switch u.Status {
	case "contested":
		n.event = contested
	case "superseded", "retracted":
		n.event = superseded
	}
	kind := cmp.Or(strings.ReplaceAll(toolwords.Label(u.Type), "_", " "), "record")
	n.sentence = beginnings[n.event] + " " + kind
	if u.Status == "draft" {
		n.sentence = "Draft of a " + kind
	}
	n.sentence += " from " + cmp.Or(toolwords.Label(u.Source.AgentID), "an agent without a name") + ": " +
		words.Sentence(cmp.Or(n.summary, "it is empty"))
	if why := fitLine(u.Intent.Purpose, mostClaim); why != "" {
		n.sentence += " It was recorded to: " + words.Sentence(why)
	}
	n.name = []string{"unit", u.ID, n.event}
	return n
}

// newsOfConflict returns the news of a conflict that ATTUNE returned. One that was escalated is
// marked for a person to decide.
func newsOfConflict(c *conflict, epoch int64) *news {
	n := &news{event: conflictDetected, relevance: 1, conflict: c.ID, units: [2]string{c.UnitA, c.UnitB},
		summary: fitLine(c.Description, mostSummary), wantAction: c.Status == "escalated", epoch: epoch}
	if c.Status == "resolved" {
		n.event = conflictResolved
	}
	n.sentence = beginnings[n.event] + ": " + words.Sentence(cmp.Or(n.summary, "it is not described"))
	n.name = []string{"conflict", c.ID, n.event}
	return n
}

// actionName returns the name under which the question about news that want an action is
// remembered: that of the unit or the conflict, so that one action is asked about once, or else of
// the news.
func (n *news) actionName() []string {
	if n.unit == "" && n.conflict == "" {
		return append([]string{"action"}, n.name...)
	}
	return []string{"action", n.unit, n.conflict}
}
