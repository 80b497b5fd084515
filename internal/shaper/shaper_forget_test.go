package shaper

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// INV-27: of sessions that are over, few are kept, however their ends were told or not.
func TestShaperForgetsSessions(t *testing.T) {
	noEnds := paced(1, sentence)
	noEnds.Filters.Exclude = []string{string(aaep.TypeSessionCompleted)}
	noTools := noEnds
	noTools.Filters.Exclude = append([]string{string(aaep.TypeToolInvoked)}, noEnds.Filters.Exclude...)
	for name, do := range map[string]func(r *harness){
		"its end is told": func(r *harness) { r.push(tool("x"), done()) },
		"an end that is not told, behind what waits": func(r *harness) {
			r.s.SetTerms(r.now, noEnds)
			r.push(in("b", tool("x")), tool("y"), done(), in("b", done()))
		},
		"an end that is not told, behind what is critical": func(r *harness) {
			r.s.SetTerms(r.now, noEnds)
			r.manual = true
			r.push(handoff(), done())
		},
		"an end that is not told any more": func(r *harness) {
			r.push(tool("x"), done())
			r.s.SetTerms(r.now, noEnds)
		},
		"what was before an end that is not told is not told any more": func(r *harness) {
			r.s.SetTerms(r.now, noEnds)
			r.push(change(idle, thinking), tool("x"), done())
			r.s.SetTerms(r.now, noTools)
		},
		"the end was missed": func(r *harness) {
			r.push(tool("x"))
			r.s.Reset(true)
		},
	} {
		r := newHarness(t, paced(1, sentence))
		do(r)
		r.wait(time.Minute)
		for session := range r.s.sessions {
			t.Errorf("%s: session %s is not forgotten", name, session)
		}
	}
}
