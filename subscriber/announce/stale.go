package announce

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// canAge reports whether news may be left out when it is old and something newer tells as much: of states and tools, but not of a
// deed that cannot be taken back.
func canAge(ev *aaep.Event) bool {
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		return true
	case *aaep.ToolInvoked:
		return p.RiskLevel != aaep.RiskHigh && (p.Irreversible == nil || !*p.Irreversible)
	case *aaep.ToolCompleted:
		return p.Status == aaep.ToolSuccess
	}
	return false
}

// age leaves out what is old and told by something newer: a state by the next one of its session or by its end, that a tool is used
// by how that ended. Of many tools that ended well, one sentence says how many they were, before the newest. So nobody is told what is
// no longer so, and everybody learns that something ran.
func (a *Announcer) age(now time.Time) {
	old := func(it *item) bool {
		return !it.stale.IsZero() && !now.Before(it.stale) && it.next == 0 && (a.saying == nil || a.saying.item != it)
	}
	if !slices.ContainsFunc(a.normal, old) {
		return
	}
	type call struct{ session, id string }
	ended, ran := map[call]bool{}, map[string][]*item{}
	overtaken := map[*item]bool{}
	for _, it := range slices.Backward(a.normal) {
		if it.event == nil {
			continue
		}
		switch p := it.event.Payload.(type) {
		case *aaep.StateChanged:
			g := a.agents[it.session]
			overtaken[it] = g != nil && (g.states > it.states || g.over)
		case *aaep.ToolInvoked:
			overtaken[it] = ended[call{it.session, cmp.Or(p.ToolCallID, p.Tool)}]
		case *aaep.ToolCompleted:
			ended[call{it.session, cmp.Or(p.ToolCallID, p.Tool)}] = true
			if old(it) {
				ran[it.session] = append(ran[it.session], it)
			}
		}
	}
	for _, session := range slices.Sorted(maps.Keys(ran)) {
		a.sumUp(now, ran[session])
	}
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool {
		gone := overtaken[it] && old(it)
		if gone {
			a.end(it, now, Expired)
		}
		return gone
	})
}

// manyTools of one session that ended long ago are told in one sentence.
const manyTools = 3

// sumUp leaves tools that ended well, the newest of them first, to be asked for; the newest itself is still said, after how many ran.
func (a *Announcer) sumUp(now time.Time, ran []*item) {
	newest, oldest := ran[0], ran[len(ran)-1]
	var it *item
	if i := slices.IndexFunc(a.normal, func(it *item) bool { return it.tools > 0 && it.session == newest.session }); i >= 0 {
		it = a.normal[i]
	}
	switch {
	case it == nil && len(ran) < manyTools || len(ran) < 2 || it != nil && a.saying != nil && a.saying.item == it:
		return
	case it == nil:
		it = &item{source: newest.source, session: newest.session, kind: News, language: ownLanguage, arrived: now}
		a.keep(it)
		a.normal = slices.Insert(a.normal, slices.Index(a.normal, oldest), it)
	}
	it.tools += len(ran) - 1
	it.sentences = []string{words.Count(it.tools, "tool") + " ran meanwhile."}
	it.receipt.Of = 1
	for _, other := range slices.Backward(ran[1:]) {
		a.normal = slices.DeleteFunc(a.normal, func(it *item) bool { return it == other })
		other.stale = time.Time{}
		a.miss(other)
	}
}
