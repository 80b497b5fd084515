package trust

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer/audit"
)

// An auditShower prints an audit log in sentences. Text of a peer is the last thing on its line, so
// that it cannot pass for a fact, or is a name in quotes.
type auditShower struct {
	out       io.Writer
	day       string
	questions map[string]uint64 // the number of the record in which each was asked
	elsewhere map[string]bool   // those that the agent asks itself where they are not answered
	running   map[string]string // the tools that have not ended, by their calls
	agents    map[string]string // who asked or acts in a session, by its id
}

// showInput prints the audit log that r reads; name is what it is called in messages. A record that
// is not as it was written is shown with a warning, and the error says so at the end; a file
// without records is an error too.
func (s *auditShower) showInput(name string, r io.Reader) error {
	records, wrong := 0, 0
	for e, err := range audit.Read(r) {
		var fault *audit.Fault
		switch {
		case errors.As(err, &fault):
			wrong++
			if _, err := fmt.Fprintf(s.out, "Warning, line %d: %s: %s.\n", fault.Line, fault.How,
				fault.Detail); err != nil {
				return err
			}
		case err != nil:
			return exits.With(exits.Unreachable, fmt.Errorf("%s: %w", name, err))
		}
		if e.Seq == 0 {
			continue
		}
		records++
		if err := s.showEntry(e); err != nil {
			return err
		}
	}
	switch {
	case wrong > 0:
		return exits.With(exits.Failed, errors.New("the trail is not as it was written. See: aaep audit verify --help"))
	case records == 0:
		return exits.With(exits.Failed, errors.New("there is no record in it"))
	}
	return nil
}

// showEntry prints one record, a line for each fact with its time, after a line with the date where
// that is another than before. The error is that of printing.
func (s *auditShower) showEntry(e audit.Entry) error {
	when := e.Time.UTC()
	var b strings.Builder
	if day := when.Format("Monday 2 January 2006"); day != s.day {
		s.day = day
		b.WriteString(day + ", all times are UTC.\n")
	}
	for _, line := range s.entryLines(e) {
		b.WriteString(when.Format("15:04:05") + " " + line + "\n")
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// entryLines returns what one record says, a fact a line, without times. It remembers what later
// records refer to: questions by number, agents of sessions, and the actions that run.
func (s *auditShower) entryLines(e audit.Entry) []string {
	question := s.questionName(e)
	if e.AgentID != "" && e.SessionID != "" {
		s.agents[e.SessionID] = e.AgentID
	}
	switch e.Kind {
	case audit.Opened:
		return s.openedLines(e)
	case audit.Asked:
		return s.askedLines(e, question)
	case audit.Replied:
		return repliedLines(e, question)
	case audit.Extended:
		text := question + " has more time, until " + s.formatTime(e.Deadline)
		if e.By != nil {
			text += ", for " + describeSubscription(*e.By)
		}
		return []string{text + "."}
	case audit.Settled:
		return s.settledLines(e, question)
	case audit.Invoked:
		return s.invokedLines(e, question)
	case audit.Completed:
		return []string{s.completedLine(e)}
	case audit.NotDone:
		return []string{nameOf(e.Tool, "A tool") + " was accepted, in " + withSmallInitial(question) +
			", and not done" + s.inSession(e) + "."}
	}
	return []string{"A record of a kind that is not known here: " + embedText(string(e.Kind))}
}

// openedLines says which process opened the trail, and which tools the process before left running.
// No later record can say how those ended, so they are forgotten.
func (s *auditShower) openedLines(e audit.Entry) []string {
	text := "The trail was opened."
	if e.Node != "" {
		text = "The trail was opened by the process " + nameOf(e.Node, "") + "."
	}
	if e.Torn > 0 {
		text += fmt.Sprintf(" The run before was stopped in the middle of a record: %s before this belong to none.", words.Count(e.Torn, "byte"))
	}
	lines := []string{text}
	for _, call := range slices.Sorted(maps.Keys(s.running)) {
		lines = append(lines, s.running[call]+
			" was under way when the run before was stopped. How it ended is not on record.")
	}
	clear(s.running)
	return lines
}

// settledLines says how a question ended, and the answer that was taken, if there is one. Where the
// agent asks in its own window what was not answered here, it says that in place of a rejection.
func (s *auditShower) settledLines(e audit.Entry, question string) []string {
	outcome := describeOutcome(e)
	askedElsewhere := s.elsewhere[e.QuestionID]
	if askedElsewhere && e.Cause != "replied" {
		outcome = ": not answered here" + strings.TrimPrefix(outcome, ": rejected") +
			". The agent then asks in its own window"
	}
	if e.Cause == "unreachable" && s.questions[e.QuestionID] == 0 { // no record says that it was asked
		return []string{s.unreachableLine(e, outcome)}
	}
	lines := []string{question + " was settled" + outcome + "."}
	if e.Cause == "withdrawn" && !askedElsewhere {
		lines[0] = question + " was withdrawn."
	}
	if e.Response != nil {
		lines = append(lines, question+", the answer that was taken: "+embedText(fmt.Sprint(e.Response)))
	}
	return lines
}

// unreachableLine says what was to be asked where no one could be. It is the only line
// about that question.
func (s *auditShower) unreachableLine(e audit.Entry, outcome string) string {
	purpose := ""
	if e.Tool != "" {
		purpose = " whether to use " + nameOf(e.Tool, "a tool")
	}
	outcome = strings.TrimSuffix(outcome, ", because nobody could answer")
	return "No one could be asked" + purpose + s.inSession(e) + outcome + "."
}

// invokedLines says that a tool was started, after which question, and who had been asked and was
// not yet told. The tool counts as running until a record says that it completed.
func (s *auditShower) invokedLines(e audit.Entry, question string) []string {
	tool := nameOf(e.Tool, "A tool")
	s.running[e.ToolCallID] = tool
	text := tool + " was started"
	if e.QuestionID != "" {
		text += ", after " + withSmallInitial(question)
	}
	lines := []string{text + s.inSession(e) + "." + describeDangers(e)}
	for _, r := range e.Untold {
		lines = append(lines, tool+" was started before this was told to "+describeSubscription(r)+
			", who was asked.")
	}
	return lines
}

// completedLine says how a tool ended, and how long it took.
func (s *auditShower) completedLine(e audit.Entry) string {
	delete(s.running, e.ToolCallID)
	text := nameOf(e.Tool, "A tool") + " ended"
	if e.DurationMS != nil {
		text += " after " + describeDuration(*e.DurationMS)
	}
	text += s.inSession(e) + ": " + embedText(string(e.Status))
	if e.Cause != "" {
		text += ", it " + embedText(e.Cause)
	}
	return text
}

// describeDuration says how long so many milliseconds are: exactly below a second, else rounded.
func describeDuration(milliseconds int64) string {
	d := time.Duration(milliseconds) * time.Millisecond
	if d < time.Second {
		return words.Count(milliseconds, "millisecond")
	}
	return words.Spoken(d)
}

// withSmallInitial returns the name of a question as it stands within a sentence.
func withSmallInitial(question string) string {
	return strings.ToLower(question[:1]) + question[1:]
}

// questionName returns the name of the question that a record is about, by the number of the record
// in which it was asked, which it remembers. A question that this file does not have, or a record
// without an id, is said to be that.
func (s *auditShower) questionName(e audit.Entry) string {
	if e.QuestionID == "" {
		return "A question without a name"
	}
	if e.Kind == audit.Asked && s.questions[e.QuestionID] == 0 {
		s.questions[e.QuestionID] = e.Seq
		s.elsewhere[e.QuestionID] = e.Default == audit.AsksElsewhere
	}
	if n := s.questions[e.QuestionID]; n > 0 {
		return fmt.Sprint("Question ", n)
	}
	return "A question that is not in this trail"
}

// askedLines returns the lines that say what was asked (question is its name), what each recipient
// was shown, and who they were. A record that only adds recipients does not repeat what was asked.
func (s *auditShower) askedLines(e audit.Entry, question string) (lines []string) {
	onlyAddsRecipients := len(e.Shown) == 0 && len(e.Recipients) > 0
	if !onlyAddsRecipients {
		lines = append(lines, s.requestLine(e, question))
	}
	for _, w := range e.Shown {
		lines = append(lines, shownLines(w, question)...)
	}
	for _, r := range e.Recipients {
		text := question + " was put to " + describeSubscription(r)
		if r.Language != "" {
			text += ", in " + nameOf(r.Language, "")
		}
		lines = append(lines, text+".")
	}
	return lines
}

// requestLine says which agent asked for what, until when there was time to answer, and what no
// answer means.
func (s *auditShower) requestLine(e audit.Entry, question string) string {
	text := question + ": the agent"
	if e.AgentID != "" {
		text += " " + nameOf(e.AgentID, "")
	}
	if e.Tool != "" {
		text += " asked to use " + nameOf(e.Tool, "a tool")
	} else {
		text += " asked something"
	}
	text += inSession(e) + "." + describeDangers(e)
	if !e.Deadline.IsZero() {
		text += " Time to answer until " + s.formatTime(e.Deadline) + "."
	}
	switch e.Default {
	case "":
	case audit.AsksElsewhere:
		text += " No answer means: the agent asks in its own window."
	default:
		text += " No answer means: " + embedText(e.Default)
	}
	return text
}

// shownLines returns the exact words of a question in one language: each of its texts that differs
// from those before it, and its choices.
func shownLines(shown audit.Words, question string) (lines []string) {
	prefix := question + ", " + nameOf(shown.Language, "no language") + ", "
	printed := map[string]bool{"": true}
	for _, part := range []struct{ name, text string }{
		{"action", shown.Action}, {"consequence", shown.Consequence}, {"question", shown.Question},
		{"context", shown.Context}, {"in short", shown.Terse}, {"in words", shown.Normal}, {"in detail", shown.Detailed},
	} {
		if !printed[part.text] {
			printed[part.text] = true
			lines = append(lines, prefix+part.name+": "+embedText(part.text))
		}
	}
	for i, c := range shown.Choices {
		lines = append(lines, fmt.Sprintf("%schoice %d, %s: %s", prefix, i+1, nameOf(c.Value, "empty"), embedText(c.Label)))
	}
	return lines
}

// repliedLines returns the lines that say who replied what to a question, which is given by its
// name, whether that counted, and what the reply claims of itself.
func repliedLines(e audit.Entry, question string) []string {
	sender, effect := "somebody", "It did not count."
	if e.By != nil {
		sender = describeSubscription(*e.By)
	}
	switch {
	case e.Counted:
		effect = "It counted."
	case e.Refused != "":
		effect = "It did not count: " + embedText(e.Refused)
	}
	if e.Claims == nil {
		return []string{question + ": a reply from " + sender + ". " + effect}
	}
	c := e.Claims
	answer := "an answer"
	if c.Decision != "" {
		answer = nameOf(string(c.Decision), "")
	}
	lines := []string{question + ": a reply from " + sender + ", " + answer + ". " + effect}
	if c.Response != nil {
		lines = append(lines, question+", that reply's answer: "+embedText(fmt.Sprint(c.Response)))
	}
	if c.Modified {
		lines = append(lines, question+", that reply wants a changed action, which counts as a rejection.")
	}
	if c.DecidedBy != "" {
		lines = append(lines, question+", that reply claims to be decided by: "+embedText(c.DecidedBy))
	}
	if c.Rationale != "" {
		lines = append(lines, question+", that reply gives as its reason: "+embedText(c.Rationale))
	}
	if !c.Time.IsZero() {
		lines = append(lines, question+", that reply claims to be of: "+formatMoment(c.Time))
	}
	return lines
}

// describeOutcome returns the end of the sentence that says that a question was settled, such as ":
// rejected, because it was withdrawn": the decision after a colon, and its cause after a comma.
// Either stands alone where the record has no decision, as for a clarification, and "by nothing
// that is on record" where it has no cause.
func describeOutcome(e audit.Entry) string {
	var text string
	switch e.Decision {
	case "":
	case aaep.Accept:
		text = ": accepted"
	case aaep.Reject:
		text = ": rejected"
	default: // which no producer writes
		text = ": " + nameOf(string(e.Decision), "")
	}
	switch e.Cause {
	case "replied":
		text += ", by a reply"
		if e.By != nil {
			text += " from " + describeSubscription(*e.By)
		}
	case "timed_out":
		text += ", because nobody answered in time"
	case "unreachable":
		text += ", because nobody could answer"
	case "withdrawn":
		text += ", because it was withdrawn"
	default:
		text += ", by " + nameOf(e.Cause, "nothing that is on record")
	}
	return text
}

// describeDangers returns sentences with the risk of a record's tool, and whether it cannot be
// undone; "" where the record says neither.
func describeDangers(e audit.Entry) string {
	text := ""
	if e.Risk != "" {
		text += " The risk is " + nameOf(string(e.Risk), "") + "."
	}
	if e.Irreversible {
		text += " It cannot be undone."
	}
	return text
}

// inSession says in which session of which agent, after a comma.
func (s *auditShower) inSession(e audit.Entry) string {
	if agent := s.agents[e.SessionID]; agent != "" {
		return inSession(e) + " of " + nameOf(agent, "")
	}
	return inSession(e)
}

// inSession says in which session, after a comma.
func inSession(e audit.Entry) string {
	if e.SessionID == "" {
		return ""
	}
	return ", in session " + nameOf(e.SessionID, "")
}

// describeSubscription returns, in words, which subscription it is, of whom, served where, and as
// whom its peer was authenticated.
func describeSubscription(s audit.Subscription) string {
	text := "subscription " + nameOf(s.SubscriptionID, "without a name")
	if s.SubscriberID != "" {
		text += " of " + nameOf(s.SubscriberID, "")
	}
	if s.Node != "" {
		text += ", served by " + nameOf(s.Node, "")
	}
	if s.Principal == "" {
		return text + ", nobody authenticated"
	}
	return text + ", authenticated as " + nameOf(s.Principal, "")
}

// formatTime returns a time of the day of its record, or with its date where that is another.
func (s *auditShower) formatTime(t time.Time) string {
	if t = t.UTC(); t.Format("Monday 2 January 2006") != s.day {
		return formatMoment(t)
	}
	return t.Format("15:04:05")
}

// embedText returns a peer's text in one line that is safe to show, for the end of a line.
func embedText(text string) string { return words.OneLine(aaep.SafeText(text)) }

// nameOf returns a name that a peer chose: as it is where it is a short word of letters, digits and
// _-.:/@+, else in quotes, so that it is not taken for words of ours; otherwise where it is empty.
func nameOf(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	plain := strings.TrimFunc(name, func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
			strings.ContainsRune("_-.:/@+", r)
	})
	if plain == "" && len(name) < 300 {
		return name
	}
	return strconv.Quote(embedText(name))
}
