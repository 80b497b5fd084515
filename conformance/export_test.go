package conformance

import (
	"context"
	"maps"
	"slices"
	"strings"
)

var WhyNot, WhyNotOfSubscribers = whyUnjudged, whyUnjudgedOfSubscribers

// UnjudgedOfSubscribers is Unjudged for subscribers.
func UnjudgedOfSubscribers() (ids []string) {
	for _, why := range unjudgedOfSubscribers {
		ids = append(ids, strings.Fields(why.ids)...)
	}
	return ids
}

// Unjudged are the requirements that have a reason for having no case.
func Unjudged() (ids []string) {
	for _, why := range unjudgedRequirements {
		ids = append(ids, strings.Fields(why.ids)...)
	}
	return ids
}

// Record puts a producer through all scenario runs, and returns what was recorded of each.
func Record(ctx context.Context, run ProducerRun) (map[string]*Recording, error) {
	all, err := run.performRuns(ctx, run.neededRuns(scenarioRuns, Cases(), func(Case) bool { return true }))
	return all.of, err
}

// RecordSubscriber is Record for a subscriber.
func RecordSubscriber(ctx context.Context, run SubscriberRun) (map[string]*Recording, error) {
	all, err := run.performScenarios(ctx, subscriberScenarios)
	return all.of, err
}

// OursAlone is what the runner said and noted in a recording, as if the target had not been there.
// With substitutes, each message of the target is replaced by a note that the link of the suite
// wrote one in its place.
func OursAlone(r *Recording, substitutes bool) *Recording {
	ours := *r
	ours.Entries, ours.read, ours.before, ours.ended, ours.plain = nil, map[int]object{}, nil, nil, false
	for _, e := range r.Entries {
		switch {
		case e.Sent, slices.Contains(ourNotes, e.Note):
			ours.Entries = append(ours.Entries, e)
		case substitutes && e.Data != nil && e.Note == "":
			ours.Entries = append(ours.Entries, Entry{At: e.At, Link: e.Link, Note: noteSubstitute})
		}
	}
	return &ours
}

// Unanswered is a recording in which the link of the suite wrote the answers to requests, and all
// else is as it was.
func Unanswered(r *Recording) *Recording {
	changed := *r
	changed.Entries, changed.read = slices.Clone(r.Entries), map[int]object{}
	for link := range r.linkCount() {
		for _, m := range ofTypes(r.messagesOn(link, false), "subscription.accepted", "subscription.rejected") {
			changed.Entries[m.index].Data, changed.Entries[m.index].Note = nil, noteSubstitute
		}
	}
	return &changed
}

// Judged is what a case makes of recordings.
func Judged(c Case, recordings map[string]*Recording) Result {
	if c.everywhere {
		c.plays = slices.Collect(maps.Keys(recordings))
	}
	return judgeCase(c, recordings)
}

// The hostile messages, as the tests make mutants of them.
type Hostile = invalidMessage

var HostileRequests, HostileReplies, HostileResponses = invalidRequests, invalidReplies, invalidResponses

// Reply is what differs in a hostile reply to the question with a token.
func (h invalidMessage) Reply(token string) map[string]any { return h.replyMembers(token) }
