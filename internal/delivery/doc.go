// Package delivery sends the log of an agent to its subscriptions: to each what its terms let
// through, in the form, at the rate and at the boundaries that they say, over a link that may be
// slow, break and come back. It decides when what is in the log leaves, and to whom it has left.
//
// It knows neither sessions nor questions. What it needs of those it asks the Agent for, and, for
// one subscription, the Subscriber; package producer implements both. Neither does it know a
// concrete transport: a Link is a transports.Conn, with what it can do besides.
//
// A Dispatcher has one log and all subscriptions of it. Every Subscription has one owner at any
// time: a goroutine of its own, runUngrouped, or, while its stream is equal to those of others, the
// run of their group. The owner reads the log at the cursor, gives the entries to the Shaper, and
// sends what that lets go. No other goroutine sends events. What the subscriber sends is received
// by another goroutine, which runs while there may be something to receive.
//
// A goroutine that holds several locks took them in this order: groups.mu, a group's mu, a
// Subscription's mu, a logCursor's counting. Agent.LastStamp and Subscriber.IsWithheld are called
// with a group's mu held: a lock that they take must never be held where groups.mu or a group's mu
// is taken, unless they take it with TryLock alone. The type producer.Producer has the whole order.
// Dispatcher.mu, a Signal's and those of the encodedCache are taken last.
//
// Begin to read at logCursor.loadBatch, which every event passes, then Subscription.runUngrouped.
// The comment at the head of group.go explains how equal subscriptions share one stream, and
// resume.go where a stream goes on after a cut.
//
// Subscriptions, and when one joins a group, are in subscription.go, group_join.go and
// group_rejoin.go. When a subscription ends by itself is in lifetime.go, writing to a link and its
// time limit in link.go, what a subscriber sends in receive.go, and what may be sent again in
// sent_history.go.
package delivery
