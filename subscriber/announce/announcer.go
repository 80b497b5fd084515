package announce

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/internal/words"
)

// Preferences are of one person. The zero Preferences suit a usual voice.
type Preferences struct {
	// WordsPerMinute is how fast they listen. Zero is 170.
	WordsPerMinute int64
	// Verbosity chooses the words of events. Empty is that of each event, which was agreed with its
	// agent: subscriber.Subscription.Renegotiate alone then changes what the person is told.
	Verbosity aaep.Verbosity
	// Speaks reports whether text in a language can be presented; nil is always. Where it cannot,
	// that is said once, and of each question, problem and outcome, with what becomes of such text:
	// Otherwise says that in the announcer's own language; nil is that it may not be understood.
	Speaks    func(language string) bool
	Otherwise func(language string) Words
	// VoiceLanguages are what the voice that reads to them is known to speak, such as that of a
	// screen reader. Where an output does not tell when it was heard, a question in other letters
	// has the time of a voice that names each of them, which is several times as long.
	VoiceLanguages []string
	// Answering is how they answer a question, such as by which key. It is said after the question,
	// and when that is called to mind; nil says nothing. Words{} of a question says that it cannot
	// be answered here: no word for a yes is said then either.
	Answering func(question *aaep.Event) Words
	// Text is what is said of an event of the agent that source names; nil is what the function
	// Text says of it at Verbosity.
	Text func(source string, ev *aaep.Event) Words
	// Reads says that the person reads lines that stay, at their own pace. An Utterance is then a
	// line, with an answer as the agent wrote it, code and marks among it. Nothing tells whether
	// they have read a question whole: a yes that comes before it can have been heard counts where
	// little is at stake, and else when it is given once more.
	Reads bool
	// Unseen reports whether the keys of what the person types now are not seen one by one, as of
	// what was pasted; nil is that they are. A yes to what cannot be undone, or is of high risk, is
	// then a word that is said with the question or asked for.
	Unseen func() bool
	// Content is how what an answer holds beside sentences is told, such as code.
	Content Content
	// UntilDone leaves to be asked for, by Details, what an agent says and which tools it uses;
	// said are questions and what comes of them, what is critical, what failed, and how a session
	// ends, with how much was left out.
	UntilDone bool
}

const (
	usualPace   = 170              // words a minute
	fastest     = 1500             // words a minute, faster than any person listens
	pauseAfter  = time.Second      // of an answer, until what is there is said though more may come
	restAfter   = 5 * time.Second  // of an answer, until the words of a sentence are said though it goes on
	freshNews   = 10 * time.Second // until news of a state or a tool is left out if something newer tells as much
	maxKept     = 200              // announcements that are remembered
	replyWithin = 5 * time.Second  // of a line that was typed, until what is said is no answer to it any more
	longTurn    = 15 * time.Second // of one agent, until another that waits is heard
)

// An Announcer makes one person's plan of what they are told by one or several agents. It is not
// safe for concurrent use and has no clock: the caller passes now, which never goes back, and
// learns when to ask again.
//
//	events, keys, commands ─▶ Announcer ─ Next ─▶ an output ─ Ended ─▶ receipts
//
// What is critical comes first and cuts what is being said, which is said again from the last
// sentence that was heard whole. An answer is said sentence by sentence and never left out.
// Progress waits for everything else, and only its newest value is said. Questions are put one at a
// time, the next when the one before is settled. States are told that last, and that nothing next
// to them tells; news of states and tools that had to wait is left out where newer news tells as
// much; that something ran is always told. While the person types only what is critical is said;
// afterwards one sentence tells what came, and Details the rest. Agents take turns, and are named
// by turn; what one of them does closes nothing of another.
type Announcer struct {
	p        Preferences
	language string // of this program's own words
	sources  []string
	agents   map[string]*agent  // by agent and session
	answers  map[string]*answer // by agent, session and output

	// What waits, in the order in which it is told, and what is told now.
	urgent  []*item // what is critical
	asked   []*item // what the person asked for
	normal  []*item
	soFar   map[string]*item // progress, by agent and session
	saying  *part
	mustCut bool  // what is being said has to end
	lastID  int64 // of utterances

	// What was told, or left out.
	kept         []*item // all announcements, oldest first
	latest       *item   // announcement that was said, or is being said
	toldCode     *item   // the latest announcement with a number of lines of code, whose lines Details reads out
	missed       []*item // announcements left out, which Details reads out
	transcript   transcript
	leftOut      map[string]int // announcements of each agent
	toldNoVoice  map[string]bool
	speaker      string // that was heard last
	speakerSince time.Time
	pace         pace
	duplicates   duplicateFilter
	stateDue     time.Time // when a state has lasted

	// Questions.
	questions   questionQueue
	timeEnds    time.Time     // when a warning is due
	acceptWords []string      // the words for a yes that were asked for, the newest last
	sending     *openQuestion // the newest one to which an answer is on its way
	lastClosed  *openQuestion // and what came of it
	lastOutcome Words
	refused     string // why the newest answer does not count
	blackout    answerBlackout
	isAsking    bool          // questions are open,
	askingSince time.Time     // the first since then,
	askedUntil  time.Time     // the last until then
	withdrawn   *openQuestion // that was put, and went or was put off without the person's answer
	withdrawnAt time.Time
	draftOf     *openQuestion // the newest that closed while something was written for it

	// What the person does. typedBefore is the newest key before those that they type now, which
	// may be those of an answer.
	lastKey     time.Time
	typedBefore time.Time
	isTyping    bool
	typingBegan time.Time
	lineEntered time.Time
	answerTaken time.Time
	wantsQuiet  bool
	// pressedAt is when a switch was pressed last, and wantsMoreTime that this wants more time.
	pressedAt     time.Time
	wantsMoreTime bool
}

// part is one utterance of an item, while it is being said.
type part struct {
	*item
	u     Utterance
	words int       // how many words long it is
	began time.Time // when it was given to the output
}

// item is one announcement: its sentences, how far they were told, and what decides when they are.
type item struct {
	source   string // the agent, as Add names it; empty is this program
	session  string // as sessionOf has it
	kind     Kind
	critical bool
	link     Link        // what it says of the link to an agent,
	linkOf   string      // which is this one
	event    *aaep.Event // that it announces, or nil
	code     *block      // the code of which it announces the number of lines, or the lines; or nil
	verbatim bool        // its sentences are lines of code
	arrived  time.Time
	receipt  Receipt

	// Its sentences. next is the index of the first that was not presented yet; unsaid says that
	// one could not be presented, and voiceless that a notice said that there is no voice for it.
	sentences []Part
	next      int
	unsaid    bool
	voiceless bool
	noVoice   *item // the announcement for which this notice says that there is no voice

	// Questions. about is the question whose remaining time it announces, or nil. Its first
	// mayNameAny sentences may name any question; after them it means the one in names, or nil,
	// whose name was heard when the first named sentences were.
	about      *openQuestion
	warns      bool // all its sentences tell how much time is left for that
	mayNameAny int
	names      *openQuestion
	named      int
	refuses    *openQuestion // it says why an answer to this one does not count
	// What was said before its sentence number explainedAt of why answers do not count.
	explained   [][]Part
	explainedAt int

	// What it tells.
	outcome          bool   // what comes of a question
	closesUnanswered bool   // that a question is closed which the person did not answer: they wonder
	ends             string // the agent of which it says, after all its words, that nothing more comes
	reminds          bool   // of the question that is put, or that what follows is about something else
	isOnOther        bool   // it says that what follows belongs to something else than the question in about
	afterFailure     bool   // it says that what follows came before the session failed
	prefaces         *item  // the announcement that follows it, of which it says how that is meant
	preface          *item  // the announcement that prefaces this one
	call             *item  // that a tool is used, where this says as much: that it ended
	tools            int    // that ran, which it sums up
	leftOut          int    // lines that were left out

	// When it is left out. wanted says that the person asked for it, and fromWalk that it is a
	// place of the transcript that they walked to; staleAt is when something newer takes its place,
	// zero for never; states and news are the numbers of those of its session when it came.
	wanted       bool
	fromWalk     bool
	scans        bool // it tells a cell that the person stepped to
	staleAt      time.Time
	states, news int
	// yieldsToQuestion says that a question which is put before it makes it needless; cancelled
	// that it ends without being said further, because its question is settled or not put now;
	// postponed that it begins again after something else.
	yieldsToQuestion bool
	cancelled        bool
	postponed        bool
}

// New returns an Announcer with nothing to say. The zero Announcer is that of the zero Preferences.
func New(p Preferences) *Announcer {
	a := &Announcer{p: p}
	a.SetLanguage()
	return a
}

// pace returns WordsPerMinute, or usualPace for none.
func (p Preferences) pace() int64 {
	if p.WordsPerMinute <= 0 {
		return usualPace
	}
	return p.WordsPerMinute
}

// setEntry sets an entry of a map, which may be nil before.
func setEntry[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// Follow counts an agent, by its name for the person, among those that are followed, though it may
// have said nothing yet: of several, each question and what comes of it says whose it is.
func (a *Announcer) Follow(source string) {
	if !slices.Contains(a.sources, source) {
		a.sources = append(a.sources, source)
	}
}

// Add takes an event of an agent and plans what is announced of it, if anything: source names the
// agent for the person, as its agent_name does, and no two agents have one name. w is what to say
// of the event, as Text makes it; nil says nothing. Package present calls it for every event.
func (a *Announcer) Add(now time.Time, source string, ev *aaep.Event, w Words) {
	a.Follow(source)
	if ev.Type() == aaep.TypeLost {
		a.tellLost(now, source, ev)
		return
	}
	a.transcript.addEvent(now, source, ev, w)
	current := a.questions.firstOpen()
	w, outcome := a.questions.eventWords(now, source, ev, w)
	isSkipped := a.handleEvent(now, source, ev, w)
	defer a.putNext(now) // what came of the question before is heard first
	if isSkipped {
		return
	}
	closesUnanswered := current != nil && a.isClosedUnanswered(current)
	if p, ok := ev.Payload.(*aaep.OutputStreaming); ok {
		a.queueUnlessDuplicate(now, source, ev, nil)
		a.addAnswerChunk(now, source, ev, p)
		return
	}
	a.flushSession(now, source, ev) // an answer that was interrupted by something else
	q := a.questions.findByEvent(ev)
	if q != nil {
		a.beginAsking(now, q)
		w = w.And("\n", q.answering)
	}
	if a.p.UntilDone && ev.Type().Terminal() {
		w = w.And(" ", a.leftUntilDone(source, ev))
	}
	sentences := a.splitWords(w, kindOf(ev) == Question)
	if len(sentences) == 0 {
		a.queueUnlessDuplicate(now, source, ev, nil)
		return
	}
	it := a.newItem(now, source, ev, kindOf(ev), sentences)
	if q != nil {
		a.queueUnlessDuplicate(now, source, ev, nil)
		a.queueQuestion(now, q, it)
		return
	}
	it.about, it.closesUnanswered, it.outcome = a.questions.findTimed(source, ev), closesUnanswered, outcome
	a.noteOutcome(it)
	it.names, it.warns = it.about, it.about != nil && it.critical
	if outcome && ev.Type() == aaep.TypeToolInvoked { // that it begins is awaited, and need not be acknowledged
		it.critical = false
	}
	a.queueUnlessDuplicate(now, source, ev, it)
	if ev.Type().Terminal() && ev.Critical() { // why it failed comes first, and then the end of what it said
		a.leaveOut(endOfFailed, func(other *item) bool { return other.session == it.session })
		a.recallText(endOfFailed, it.session)
	}
}

// isClosedUnanswered reports whether a question that was put is open no more though the person sent
// no answer.
func (a *Announcer) isClosedUnanswered(q *openQuestion) bool {
	return !q.put.IsZero() && q.sendingSince.IsZero() && a.questions.findByEvent(q.event) == nil
}

// queueUnlessDuplicate queues the announcement it of an event, nil where the event says nothing,
// unless the duplicate filter finds that an event next to it says as much; it also queues what the
// filter had held back until this event showed that it is worth saying. At detailed verbosity
// nothing is filtered. Add calls it.
func (a *Announcer) queueUnlessDuplicate(now time.Time, source string, ev *aaep.Event, it *item) {
	worthTelling, dropped := []*item{it}, []*item(nil)
	if a.p.Verbosity != aaep.VerbosityDetailed {
		worthTelling, dropped = a.duplicates.filterEvent(now, source, ev, it)
	}
	for _, it := range dropped {
		a.dropDuplicate(now, it)
	}
	for _, it := range worthTelling {
		a.queueByKind(now, it)
	}
}

// queueByKind puts an announcement, which may be nil, into the queue of its kind, or leaves it to
// be asked for where the person wants to hear no more than how a session ends.
func (a *Announcer) queueByKind(now time.Time, it *item) {
	switch {
	case it == nil:
	case a.p.UntilDone && !it.tellsEnd():
		a.leaveUntilDone(now, it)
	case it.critical:
		a.appendTo(&a.urgent, it)
	case it.kind == Progress:
		if previous := a.soFar[it.session]; previous != nil {
			a.endItem(previous, now, Expired)
		}
		it.staleAt = now.Add(freshNews)
		setEntry(&a.soFar, it.session, it)
	case it.closesUnanswered:
		a.appendTo(&a.asked, it)
	case it.outcome && !it.event.Type().Terminal():
		a.queueOutcome(it)
	default:
		if it.kind == News && canAge(it.event) {
			it.staleAt = now.Add(freshNews)
		}
		a.appendTo(&a.normal, it)
	}
}

// newItem makes an announcement of an event, and records it. It waits in no queue yet.
func (a *Announcer) newItem(now time.Time, source string, ev *aaep.Event, kind Kind, sentences []Part) *item {
	it := &item{source: source, session: sessionOf(source, ev), kind: kind, critical: cannotWait(ev), event: ev,
		sentences: sentences, arrived: now}
	if g := a.agents[it.session]; g != nil {
		it.states, it.news = g.states, g.news
	}
	a.recordItem(it)
	return it
}

// sessionOf returns the key of an event's session among those of all agents: the sessions of two
// agents may have one id.
func sessionOf(source string, ev *aaep.Event) string { return source + "\x00" + ev.SessionID }

// recordItem gives an announcement its receipt, in state Waiting, and keeps it among the last
// maxKept, which Receipts returns. It queues nothing.
func (a *Announcer) recordItem(it *item) {
	it.receipt = Receipt{Source: it.source, Kind: it.kind, Outcome: Waiting, Arrived: it.arrived, Of: len(it.sentences)}
	if it.event != nil {
		it.receipt.EventID = it.event.EventID
	}
	if len(a.kept) >= maxKept {
		a.kept = slices.Delete(a.kept, 0, 1)
	}
	a.kept = append(a.kept, it)
}

// Do is what to do now: end what is being presented, or present something, or nothing.
type Do struct {
	Cancel bool
	Say    *Utterance
}

// Next returns what to do, and when to ask again at the latest; the zero time is when something
// happens. What is to be said counts as being said until Ended.
func (a *Announcer) Next(now time.Time) (Do, time.Time) {
	a.language = cmp.Or(a.language, ownLanguage) // of the zero Announcer
	a.handleTime(now)
	wake := a.nextWake(now)
	if a.saying != nil {
		if a.mustEnd(now) && !a.mustCut {
			a.mustCut = true
			return Do{Cancel: true}, wake
		}
		return Do{}, wake
	}
	it := a.chooseNext(now)
	for it != nil && (a.skipHowToAnswer(now, it) || a.addLeadIn(now, it)) {
		it = a.chooseNext(now)
	}
	if it != nil && a.noticeVoiceless(now, it) {
		it = a.chooseNext(now)
	}
	if it == nil {
		return Do{}, wake
	}
	return Do{Say: a.beginSentence(now, it)}, wake
}

// beginSentence marks the next sentence of an announcement as being said from now on, and returns
// it as the utterance for the output: the time left for a question as it is now, the agent's name
// where the speaker changes, and a word before agent's text that would pass for words of this
// program or of another agent. Next calls it.
func (a *Announcer) beginSentence(now time.Time, it *item) *Utterance {
	a.mustCut = false
	if it.code != nil {
		a.toldCode = it
	}
	a.lastID++
	s := it.sentences[it.next]
	u := Utterance{ID: a.lastID, Text: s.Text, Language: s.Language, Kind: it.kind, Critical: it.critical,
		Event: it.event, Source: it.source, Code: it.verbatim, Link: it.link}
	if it.about != nil {
		u.Source = it.about.source
	}
	u.About = cmp.Or(u.Source, it.sentences[0].speaker)
	q := a.questions.findByEvent(it.event)
	isFirst := q != nil && q.put.IsZero()
	if isFirst {
		q.put = now
	}
	a.beginName(now, it, isFirst)
	if q = cmp.Or(q, it.about); q != nil && tellsTime(s) {
		u.Text = timeToAnswer(s.Language, q.timeLeft(now)).String() // not what it was when the question came
	}
	if it.kind == Output && !it.verbatim && a.p.Content.SpeakNames {
		u.Text = speakNames(u.Text, u.Language)
	}
	if it.source != "" { // each sentence is heard for itself
		if it.kind == Output || it.kind != Question && it.next > 0 { // of the rest, Text marks the beginning
			u.Text = quoteAgent(u.Language, u.Text)
		}
		if len(a.sources) > 1 {
			u.Text = quoteNames(u.Language, u.Text, a.sources)
		}
	}
	if it.next == 0 || a.speaker != it.source {
		u.Text = a.speakerPrefix(it) + u.Text
	}
	if it.source != "" {
		if a.speaker != it.source {
			a.speakerSince = now
		}
		a.speaker = it.source
	} else if q := cmp.Or(it.names, it.about); q != nil &&
		(len(a.sources) < 2 || s.speaker == q.source) {
		a.speaker = q.source // whose agent it names
	}
	if q := a.sending; q != nil && it.outcome && it.source == q.source && showsAnswer(q.event, it.event) {
		q.outcomeTold = true
	}
	it.receipt.Outcome = Speaking
	a.saying, a.latest = &part{item: it, u: u, words: spoken.Words(u.Text), began: now}, it
	return &u
}

// speakerPrefix returns what names the agent of an announcement before its words, or "": of several
// agents, one that speaks after another, and in any case one that asks, or whose announcement is
// about a question or what comes of it, for who asks decides what a yes means.
func (a *Announcer) speakerPrefix(it *item) string {
	namesAlways := it.kind == Question || it.about != nil || it.outcome
	if it.source == "" || len(a.sources) < 2 || it.source == a.speaker && !namesAlways {
		return ""
	}
	return Speaker(it.source) + " "
}

// withSpeaker returns w, this program's words about an agent, behind the agent's name where there
// are several.
func (a *Announcer) withSpeaker(source string, w Words) Words {
	if len(a.sources) < 2 || len(w) == 0 || source == "" {
		return w
	}
	return Words{{Language: w[0].Language, Text: Speaker(source), speaker: source}}.And(" ", w)
}

// Speaker names an agent before what it says: "Planner:". No name passes for a label or a sentence
// of ours, and of a long one only the beginning is told. One that runs from right to left is parted
// from numbers behind it, which would be seen in another order than they are heard in.
func Speaker(name string) string {
	const numbers = " 1 2"
	label := words.OneLine(aaep.SafeText(quoteAgent(ownLanguage, words.Within(name)+":")))
	return strings.TrimSuffix(aaep.SafeTextIn(label+numbers, ownLanguage), numbers)
}

// mustEnd reports whether what is being said has to make room: it was cancelled or put off,
// something urgent waits, or the person asked for something, types, or wants quiet. What is
// critical ends only in the first way. Next calls it while something is being said.
func (a *Announcer) mustEnd(now time.Time) bool {
	s := a.saying
	mayFollow := func(it *item) bool { return !a.followsAnswer(now, it) }
	switch {
	case s.cancelled || s.postponed || s.critical:
		return s.cancelled || s.postponed
	case slices.Contains(a.urgent, s.item): // chooseNext would take it again at once, also while they type
		return false
	case slices.ContainsFunc(a.urgent, mayFollow):
		return true
	case slices.Contains(a.asked, s.item):
		return false
	}
	outcome := s.outcome || s.prefaces != nil && s.prefaces.outcome
	return slices.ContainsFunc(a.asked, mayFollow) || a.isTyping || a.wantsQuiet && !outcome && !s.fromWalk
}

// answerLeaves is how long what other agents have to tell, and the next question, wait at most for
// what becomes of an answer: a link has as long to take one.
const answerLeaves = 10 * time.Second

// followsAnswer reports whether an announcement waits for what becomes of the person's answer: an
// agent may tell what comes of it before it is known that it was sent, and that would cut it. What
// other agents tell waits longer, or the next words after a no could be another agent's yes; but
// what is critical by itself does not wait.
func (a *Announcer) followsAnswer(now time.Time, it *item) bool {
	q := a.sending
	if q == nil || it.next > 0 || it.wanted || a.saying != nil && a.saying.item == it {
		return false
	}
	elapsed := now.Sub(q.sendingSince)
	if it.session == q.sessionKey() {
		return elapsed < hearing.SentFirst
	}
	return elapsed < answerLeaves && !q.outcomeTold && isBehindAnswer(q, it)
}

// isBehindAnswer reports whether an announcement belongs behind the words that say what became of
// the answer to q: it asks something or says what comes of that, or another agent tells it.
func isBehindAnswer(q *openQuestion, it *item) bool {
	isNextQuestion := it.kind == Question && it.event != q.event ||
		it.critical && it.names != nil && it.names != q && !it.warns
	isOfOtherAgent := it.source != "" && it.source != q.source && (!it.critical || it.outcome)
	return isNextQuestion || isOfOtherAgent || it.outcome && it.session == q.sessionKey()
}

// chooseNext returns the announcement that is said next, or nil, and leaves it in its queue: of an
// announcement whose preface still waits, that preface. Without this, Next, which puts a preface
// before what was chosen and chooses again, would get the same announcement for ever.
func (a *Announcer) chooseNext(now time.Time) *item {
	it := a.chooseWaiting(now)
	if it != nil && it.next == 0 && it.preface != a.latest && slices.Contains(a.normal, it.preface) {
		return it.preface
	}
	return it
}

// chooseWaiting returns the announcement whose turn it is, or nil: what is critical first, then
// what the person asked for, then the rest in turn, then progress that is due. While the person
// types or wants quiet, the rest waits, but for outcomes and what a walk reads. It takes nothing
// out; prefaces are for its caller.
func (a *Announcer) chooseWaiting(now time.Time) *item {
	for _, queue := range [][]*item{a.urgent, a.asked} {
		i := slices.IndexFunc(queue, func(it *item) bool { return !a.followsAnswer(now, it) })
		if i >= 0 {
			return queue[i]
		}
	}
	if a.isTyping || a.isScanning(now) {
		return nil
	}
	waiting := a.normal
	q := a.questions.firstOpen()
	if q != nil || a.sending != nil {
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(it *item) bool {
			return a.followsAnswer(now, it) || a.waitsForAnswer(now, it)
		})
	}
	if a.wantsQuiet {
		if i := slices.IndexFunc(waiting, func(it *item) bool { return it.outcome || it.fromWalk }); i >= 0 {
			return waiting[i]
		}
		return nil
	}
	if len(waiting) > 0 {
		return a.chooseTurn(now, waiting)
	}
	var first *item
	for session, it := range a.soFar {
		canWait := q != nil && isOfOther(q, it) && !q.heardAt.IsZero() && q.timeLeft(now) > 0
		if canWait || a.followsAnswer(now, it) {
			continue
		}
		if !now.Before(a.progressFrom(session)) && (first == nil || it.arrived.Before(first.arrived)) {
			first = it
		}
	}
	return first
}
