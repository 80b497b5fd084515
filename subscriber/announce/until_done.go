package announce

import (
	"time"

	"github.com/aaep-go/aaep"
)

// tellsEnd reports whether an announcement is said to a person who wants to hear no more than
// questions, failures and ends.
func (it *item) tellsEnd() bool {
	isOfQuestion := it.kind == Question || it.outcome || it.closesUnanswered || it.about != nil
	isFailure := it.critical || it.kind == Problem
	if it.event == nil || isOfQuestion || isFailure {
		return true
	}
	if p, ok := payloadOf(it).(*aaep.ToolCompleted); ok {
		return p.Status != aaep.ToolSuccess
	}
	return it.event.Type().Terminal()
}

// leaveUntilDone leaves an announcement to be asked for; of states and progress nothing is kept,
// since they say nothing once they are over.
func (a *Announcer) leaveUntilDone(now time.Time, it *item) {
	switch payloadOf(it).(type) {
	case *aaep.OutputStreaming, *aaep.ToolInvoked:
		a.keepForDetails(it)
	default:
		a.endItem(it, now, Expired)
	}
}

// leftUntilDone returns the words that say at the end of a session how many lines of it were left
// out; none if all was said. Add appends them to the words of the end.
func (a *Announcer) leftUntilDone(source string, end *aaep.Event) Words {
	n := 0
	for _, it := range a.missed {
		if it.session == sessionOf(source, end) {
			n += it.countLines()
		}
	}
	if n == 0 {
		return nil
	}
	return leftOutWords(a.language, n)
}
