// Package replica lets several processes serve the subscribers of one agent. The agent's own
// process has a Leader, which knows the other processes, its replicas. Each of those has a
// Follower, which reports to the agent which subscribers are there. To the agent a replica is one
// recipient of its questions: which of its subscribers may answer is decided there. What settles a
// question is the first claim that the log of all processes keeps.
//
// The package knows neither sessions nor subscriptions: what it needs of those it asks the Agent
// and the Host for, which package producer implements. It begins no goroutine; the producer runs
// Leader.Watch and Follower.RunHeartbeat on goroutines of their own. What a replica reports, how
// often, and when one that is silent is dropped are in this file.
//
// The agent's side is in leader.go, a replica's in follower.go, and the form of claims in claim.go.
package replica

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/audit"
)

// Needs are the needs of all recipients of a question together: it is open for as long as the one
// with the greatest needs. The zero Needs are those of no recipient.
type Needs struct {
	Patience int64 `json:"patience"` // thousandths of the time that the agent gives
	Least    int64 `json:"least"`    // seconds at least
	Pace     int64 `json:"pace"`     // how fast the slowest of them listens, in words per minute
}

// Include adds what one more recipient needs. A pace of zero was not declared, and changes nothing.
func (n *Needs) Include(more Needs) {
	n.Patience, n.Least = max(n.Patience, more.Patience), max(n.Least, more.Least)
	if more.Pace > 0 {
		n.Pace = min(n.Pace, more.Pace)
	}
}

// Presence is what a replica reports of itself, every presenceEvery and when it changes.
type Presence struct {
	ID        string `json:"id"`
	Node      string `json:"node"`
	From      uint64 `json:"from"`      // where the log ended when it began
	Listeners int    `json:"listeners"` // how many subscriptions it serves
	Confirm   bool   `json:"confirm"`   // a confirmation may be put to one of them
	Clarify   bool   `json:"clarify"`   // a clarification may
	Needs
}

// MayBeAsked reports whether a question may be put to the replica: a confirmation, or else a
// clarification.
func (p *Presence) MayBeAsked(isConfirmation bool) bool {
	if isConfirmation {
		return p.Confirm
	}
	return p.Clarify
}

// IncludeListener adds what one more subscription can answer and needs, and reports whether that
// changes the presence.
func (p *Presence) IncludeListener(confirms, clarifies bool, needs Needs) bool {
	before := *p
	p.Needs.Include(needs)
	p.Confirm, p.Clarify = p.Confirm || confirms, p.Clarify || clarifies
	return *p != before
}

// AuditIdentity returns the replica as a recipient in the audit log.
func (p *Presence) AuditIdentity() audit.Subscription {
	return audit.Subscription{SubscriptionID: p.ID, Node: p.Node}
}

// message is a message of a replica to the agent. It has one of Presence, Left and More; one with
// none only finds out whether the agent answers.
type message struct {
	Presence *Presence `json:"presence,omitzero"`
	// Left is the position of a tool call that has left. Untold are the subscriptions that it has
	// not left for.
	Left   uint64               `json:"left,omitzero"`
	Untold []audit.Subscription `json:"untold,omitzero"`
	// More is the token of a question that more time is asked for.
	More aaep.ReplyToken     `json:"more,omitzero"`
	By   *audit.Subscription `json:"by,omitzero"` // which subscription asks for More
	ID   string              `json:"id,omitzero"` // of the replica
}

const (
	// presenceEvery is how often a replica reports its presence.
	presenceEvery = 2 * time.Second
	// presenceKept is how long after its last report a replica counts as gone.
	presenceKept = 10 * time.Second
)
