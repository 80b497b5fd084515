package announce

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// canAge reports whether an event may be left out when it is old and a newer one says as much:
// states and tools that succeeded, but nothing of high risk or irreversible, and no outcome of a
// question.
func canAge(ev *aaep.Event) bool {
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		return !tellsOutcome(ev, p)
	case *aaep.SessionStarted:
		return isBare(ev)
	case *aaep.ToolInvoked:
		return p.RiskLevel != aaep.RiskHigh && (p.Irreversible == nil || !*p.Irreversible)
	case *aaep.ToolCompleted:
		return p.Status == aaep.ToolSuccess
	}
	return false
}

// dropDuplicate ends an announcement, nil for none, that the duplicate filter found needless. The
// end of a tool is still queued where the announcement of its beginning waits unsaid.
func (a *Announcer) dropDuplicate(now time.Time, it *item) {
	if it == nil {
		return
	}
	if p, ok := payloadOf(it).(*aaep.ToolCompleted); ok {
		i := slices.IndexFunc(a.normal, func(call *item) bool {
			c, ok := payloadOf(call).(*aaep.ToolInvoked)
			return ok && call.session == it.session && c.ToolCallID == p.ToolCallID && c.Tool == p.Tool &&
				a.isUntold(call)
		})
		if i >= 0 {
			it.call = a.normal[i]
			a.queueByKind(now, it)
			return
		}
	}
	a.endItem(it, now, Expired)
}

// payloadOf returns the payload of an announcement's event, or nil.
func payloadOf(it *item) aaep.Payload {
	if it.event == nil {
		return nil
	}
	return it.event.Payload
}

// isUntold reports whether nothing of an announcement has been said, nor what leads to it.
func (a *Announcer) isUntold(it *item) bool {
	return it.next == 0 && !a.wasPrefaced(it) && (a.saying == nil || a.saying.item != it)
}

// wasPrefaced reports whether the preface of an announcement was said last, or is being said.
func (a *Announcer) wasPrefaced(it *item) bool { return a.latest != nil && a.latest.prefaces == it }

// isOvertaken reports whether something newer says as much as an announcement that may grow stale:
// of a state the next one, the session's end or what the state is about; of the beginning of a
// session anything but a state; of the end of a tool that its beginning was heard or cut. dropStale
// asks it.
func (a *Announcer) isOvertaken(it *item) bool {
	if it.call != nil {
		return it.call.receipt.Outcome == Heard || it.call.receipt.Outcome == Cut
	}
	g := a.agents[it.session]
	if it.staleAt.IsZero() || g == nil {
		return false
	}
	p, ok := payloadOf(it).(*aaep.StateChanged)
	if !ok {
		return it.event.Type() == aaep.TypeSessionStarted && g.news-g.states > it.news-it.states
	}
	s := a.duplicates.sessions[it.session]
	return g.over || g.states > it.states || s != nil && s.tellsState(p.ToState)
}

// dropStale drops announcements that wait and are out of date: a state that the agent has left,
// and, once they are old, progress that newer progress replaces and the use of a tool whose end is
// announced. Many tools that succeeded long ago become one sentence with their number.
func (a *Announcer) dropStale(now time.Time) {
	isOld := func(it *item) bool { return !it.staleAt.IsZero() && !now.Before(it.staleAt) && a.isUntold(it) }
	for session, it := range a.soFar {
		if g := a.agents[session]; g != nil && g.news > it.news && !now.Before(it.staleAt) && a.isUntold(it) {
			delete(a.soFar, session)
			a.endItem(it, now, Expired)
		}
	}
	a.expireNormal(now, func(it *item) bool {
		if !a.isUntold(it) || !a.isOvertaken(it) {
			return false
		}
		// What is told whole is told while it is fresh.
		return isOld(it) || !isToldWhole(it.event) && a.p.Verbosity != aaep.VerbosityDetailed
	})
	if slices.ContainsFunc(a.normal, isOld) {
		a.dropStaleTools(now, isOld)
	}
}

// dropStaleTools drops old announcements of tools whose end is announced too, and replaces those of
// ends, for each session, by their number. isOld selects what is old enough.
func (a *Announcer) dropStaleTools(now time.Time, isOld func(*item) bool) {
	type call struct{ session, id string }
	hasEnded, endedIn := map[call]bool{}, map[string][]*item{} // by session, the newest first
	isOvertaken := map[*item]bool{}
	for _, it := range slices.Backward(a.normal) {
		switch p := payloadOf(it).(type) {
		case *aaep.ToolInvoked:
			isOvertaken[it] = hasEnded[call{it.session, cmp.Or(p.ToolCallID, p.Tool)}]
		case *aaep.ToolCompleted:
			hasEnded[call{it.session, cmp.Or(p.ToolCallID, p.Tool)}] = true
			if isOld(it) {
				endedIn[it.session] = append(endedIn[it.session], it)
			}
		}
	}
	for _, session := range slices.Sorted(maps.Keys(endedIn)) {
		a.sumUpTools(now, endedIn[session])
	}
	a.expireNormal(now, func(it *item) bool { return isOvertaken[it] && isOld(it) })
}

// expireNormal removes from a.normal the announcements that isStale selects, with the outcome
// Expired.
func (a *Announcer) expireNormal(now time.Time, isStale func(*item) bool) {
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool {
		if !isStale(it) {
			return false
		}
		a.endItem(it, now, Expired)
		return true
	})
}

// manyTools is how many tools of one session that ended long ago are told in one sentence, at
// least.
const manyTools = 3

// sumUpTools has one sentence say how many tools of a session ran, in the place of those in ended,
// which ended well and long ago, the newest first. Only the newest is still said, after that
// sentence; the others are kept for a person who asks for details. A sentence that waits already
// counts these too. Where there is none, fewer than manyTools stay as they are.
func (a *Announcer) sumUpTools(now time.Time, ended []*item) {
	newest, oldest := ended[0], ended[len(ended)-1]
	var summary *item
	isSummary := func(it *item) bool { return it.tools > 0 && it.session == newest.session }
	if i := slices.IndexFunc(a.normal, isSummary); i >= 0 {
		summary = a.normal[i]
	}
	switch {
	case len(ended) < 2:
		return
	case summary == nil && len(ended) < manyTools:
		return
	case summary != nil && a.saying != nil && a.saying.item == summary:
		return // its words cannot change while they are said
	case summary == nil:
		summary = &item{source: newest.source, session: newest.session, kind: News, arrived: now}
		a.recordItem(summary)
		a.normal = slices.Insert(a.normal, slices.Index(a.normal, oldest), summary)
	}
	summary.tools += len(ended) - 1
	summary.sentences = []Part{{Language: a.language, Text: phrase.Counted(a.language, phrase.ToolsRan, summary.tools, "tool")}}
	summary.receipt.Of = 1                                // sentence to be heard
	for _, replaced := range slices.Backward(ended[1:]) { // the oldest first, as details are told
		a.normal = slices.DeleteFunc(a.normal, func(it *item) bool { return it == replaced })
		replaced.staleAt = time.Time{}
		a.keepForDetails(replaced)
	}
}
