package announce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/spoken"
)

// Outcome says what became of an announcement.
type Outcome string

const (
	Waiting  Outcome = "waiting"  // for its turn, or to be asked for
	Speaking Outcome = "speaking" // now
	Heard    Outcome = "heard"    // presented whole
	Cut      Outcome = "cut"      // silenced by the person
	Expired  Outcome = "expired"  // overtaken by something newer
	Unsaid   Outcome = "unsaid"   // in a language that nothing here can present
)

// Receipt says what became of one announcement. It holds no words: those are the person's.
type Receipt struct {
	Source  string // as given to Add; empty for what this program said
	EventID string
	Kind    Kind
	Outcome Outcome
	Arrived time.Time
	Ended   time.Time // zero while it waits
	Said    int       // sentences that were heard whole,
	Of      int       // of so many
}

// Receipts returns the receipts of the newest announcements, oldest first: at most 200.
func (a *Announcer) Receipts() []Receipt {
	receipts := make([]Receipt, len(a.kept))
	for i, it := range a.kept {
		receipts[i] = it.receipt
	}
	return receipts
}

// Retell is for an output that takes the place of others that are gone. Of the events in waits, by
// their ids, it queues what this output left unsaid because others told it, as far back as Receipts
// goes, and it puts the question that is open once more.
func (a *Announcer) Retell(now time.Time, waits map[string]bool) {
	for _, old := range slices.Clone(a.kept) {
		if old.receipt.Outcome != Unsaid || old.kind == Question || !waits[old.receipt.EventID] {
			continue
		}
		it := &item{source: old.source, session: old.session, kind: old.kind, critical: old.critical, event: old.event,
			outcome: old.outcome, verbatim: old.verbatim, sentences: old.sentences, arrived: now}
		a.recordItem(it)
		a.queueByKind(now, it)
	}
	if q := a.questions.firstOpen(); q != nil && !q.put.IsZero() && q.sendingSince.IsZero() {
		a.putAgain(now, q)
	}
}

// Behind returns how long it takes to say the announcements that wait, at the person's pace.
func (a *Announcer) Behind() (behind time.Duration) {
	for _, q := range [][]*item{a.urgent, a.asked, a.normal} {
		for _, it := range q {
			behind += a.remainingTime(it)
		}
	}
	return behind
}

// Untold reports whether anything waits that will be said without being asked for, by agents of
// these names or by this program; without names, by any agent. While the person wants quiet, only
// what is critical and outcomes count.
func (a *Announcer) Untold(sources ...string) bool {
	isMeant := func(source string) bool { return len(sources) == 0 || slices.Contains(sources, source) }
	isOwed := func(it *item) bool {
		return (it.source == "" || isMeant(it.source)) && (!a.wantsQuiet || it.critical || it.outcome)
	}
	if a.saying != nil && (a.saying.source == "" || isMeant(a.saying.source)) {
		return true
	}
	for _, ans := range a.answers {
		willFlush := ans.hasUnsaid() && !ans.paused || ans.seg.Held() > 0 && !ans.rested
		if willFlush && isMeant(ans.source) && !a.wantsQuiet {
			return true
		}
	}
	return slices.ContainsFunc(a.urgent, isOwed) || len(a.asked) > 0 || slices.ContainsFunc(a.normal, isOwed)
}

// remainingTime is how long it takes to say what has not been heard of an announcement.
func (a *Announcer) remainingTime(it *item) time.Duration {
	return a.speakingTime(Words(it.sentences[it.next:]).countWords())
}

// Standing is how far a person is with what one agent says.
type Standing struct {
	Waiting int           // announcements that wait,
	Behind  time.Duration // and how long it takes to say them
	Missed  int           // that are there to be asked for
	Open    int           // questions
	LeftOut int           // so far: newer ones took their place
}

// Standing returns how much there is for the agent that source names: announcements that wait and
// the time they take, that were left out, that can be asked for, and open questions. An unknown
// agent has the zero value.
func (a *Announcer) Standing(source string) Standing {
	s := Standing{LeftOut: a.leftOut[source]}
	for _, q := range [][]*item{a.urgent, a.asked, a.normal} {
		for _, it := range q {
			if it.source == source {
				s.Waiting++
				s.Behind += a.remainingTime(it)
			}
		}
	}
	for _, it := range a.missed {
		if it.source == source {
			s.Missed++
		}
	}
	for _, q := range a.questions.all {
		if q.source == source {
			s.Open++
		}
	}
	return s
}

// speakingTime is how long so many words take.
func (a *Announcer) speakingTime(words int) time.Duration {
	return time.Duration(words) * time.Minute / time.Duration(a.wordsPerMinute())
}

// spellingTime returns how much longer a text takes where the voice that reads it may have none of
// its words and names the letters. What Preferences.Speaks says of the text's language is relied
// on.
func (a *Announcer) spellingTime(text, language string) time.Duration {
	speaks, wpm := a.p.VoiceLanguages, a.wordsPerMinute()
	if a.p.Speaks != nil && language != "" && a.p.Speaks(language) {
		speaks = append(slices.Clip(speaks), language)
	}
	return spoken.TimeBy(text, wpm, speaks...) - spoken.Time(text, wpm)
}

// wordsPerMinute returns how fast the person listens: as measured, or as their Preferences say
// while that is unknown.
func (a *Announcer) wordsPerMinute() int64 {
	if wpm, ok := a.Pace(); ok {
		return wpm
	}
	return a.p.pace()
}

// Pace returns at how many words a minute the person listens, as measured by what they heard whole.
// ok is false where they have heard too little. A program may request it from agents, in
// Capabilities.PaceWPM.
func (a *Announcer) Pace() (wordsPerMinute int64, ok bool) {
	if a.pace.words < enoughWords {
		return 0, false
	}
	return max(int64(float64(a.pace.words)*float64(time.Minute)/float64(a.pace.took)), 1), true
}

// pace sums what was heard. Old values fade, so that a change of voice shows.
type pace struct {
	words int
	took  time.Duration
}

const (
	enoughWords = 40 // with fewer, the silence at the end of each utterance hides the pace
	manyWords   = 400
)

// addHeard counts words that were heard whole in a time, for wordsPerMinute. Zero words or no time
// change nothing. Beyond manyWords the older ones count half. Ended calls it.
func (p *pace) addHeard(words int, duration time.Duration) {
	if words == 0 || duration <= 0 {
		return
	}
	p.words, p.took = p.words+words, p.took+duration
	if p.words > manyWords {
		p.words, p.took = p.words/2, p.took/2
	}
}
