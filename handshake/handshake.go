// Package handshake says what an extension of AAEP is: what a subscriber may declare when it asks
// for a subscription, what of that is honored, and what that changes. It only describes: package
// internal/negotiation applies it for a producer. Package handshake/extensions has the extensions
// of this SDK. Begin reading at Extension.
package handshake

import (
	"encoding/json"
	"time"

	"github.com/aaep-go/aaep"
)

// Extension is a vocabulary beyond AAEP's own that a producer serves (chapter 7): what a
// subscriber may declare under its prefix, what of that is honored, and what that changes. Register
// it in producer.Config.Extensions. The extensions of this SDK are in package handshake/extensions,
// and are made of nothing else.
//
// An extension adds to events and never takes from the core: it cannot reach the envelope, the
// payload, or the confirmation contract (§7.2).
type Extension struct {
	// Vocabulary is the prefix and the URI of the extension.
	aaep.Vocabulary
	// Capability reports what is wrong with a capability object, and Event what is wrong with the
	// data under the prefix of an event; the members of an event of the extension's own type are
	// for its author to check. schemas.MustCompile makes such functions from a JSON Schema. Nil
	// takes any object.
	Capability, Event func(json.RawMessage) error
	// Honor decides what of a capability object is honored, and what that changes; the object has
	// passed Capability, and Vocabulary.Read reads it. It is a pure function. Nil honors all of the
	// object, as something that only the agent's author acts upon.
	//
	// These functions, and those of Effect, run on the producer's goroutines, many at once. Where
	// one panics or returns what it must not, that is logged and has no effect.
	Honor func(asked json.RawMessage) Effect
}

// Effect is what honoring a capability object changes for one subscription. Where several
// extensions have an effect, the one that asks more of the producer wins.
type Effect struct {
	// Honored is the object for honored_capabilities. Nil is as asked. It must pass
	// Extension.Capability and never exceed what was asked: no other members and elements, no
	// greater numbers, no true for a false.
	Honored json.RawMessage
	// Note says in words what differs from what was asked, or is empty.
	Note string

	// MaxChunk is the most characters of one output event; text is cut between words. Zero is no
	// such limit. Here and below, a negative value is logged, and counts as zero.
	MaxChunk int
	// TimeoutMultiplier, from 1 to 10, gives more time to answer a question. Zero is 1.
	TimeoutMultiplier float64
	// MinTimeout is the least time to answer a question. Zero is none; a day is as long as a
	// question may be open.
	MinTimeout time.Duration
	// MoreTime is the token of a question that its listener wants more time to answer, in a
	// renegotiation; it is given at once, as much again and ten times at most. Granted then stands
	// in the answer in place of Honored.
	MoreTime aaep.ReplyToken
	Granted  json.RawMessage
	// ResumeAfter is the id of the event after which the subscription goes on, instead of with what
	// comes next. Where the producer still has what came then, Resumed stands in the first answer
	// in place of Honored.
	ResumeAfter string
	Resumed     json.RawMessage
	// Quiet holds back what is not critical for this long from now on, or until the next
	// declaration.
	Quiet time.Duration
	// IdleTimeout ends a subscription to which nothing was sent for so long, MaxDuration one that
	// is so old. Zero is never.
	IdleTimeout, MaxDuration time.Duration
	// Keep says whether an event that is not critical is sent; data is what stands under the
	// extension's prefix, or nil. A nil Keep sends all.
	Keep func(ev *aaep.Event, data json.RawMessage) bool
	// Data returns what stands under the extension's prefix on an event for this subscription, or
	// nil for nothing: an object that passes Extension.Event. Its argument data is what the agent
	// put there, or nil. A nil Data sends that as it is.
	//
	// Neither Keep nor Data may change ev. An event is sent where Keep panics, and without data
	// where Data does. What they return depends on what was honored and on the arguments alone: who
	// was honored the same is told the same.
	Data func(ev *aaep.Event, data json.RawMessage) json.RawMessage
}
