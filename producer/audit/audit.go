// Package audit keeps the trail of an agent's questions and actions: who allowed this, when, having
// been shown what words, in which language.
//
// A Record is one thing that happened. A Sink keeps records: Slog hands them to a logger, and a
// File writes them as JSON, one record on each line, so that a later change is noticed:
//
//	{"seq":2,"prev":"9f86…","time":"2026-10-02T09:30:02.1Z","kind":"asked", … ,"crc":"1c291ca3"}
//
// seq counts the records of the file from 1. prev is the SHA-256, in lower-case hex, of the line
// before: of its bytes exactly as they are in the file, without the newline that ends it; it is
// empty on the first line. crc is the CRC-32 (IEEE) of the line up to the comma before "crc". The
// members in between are those of Record. The first line, and the first after each restart, is a
// record of the kind Opened with the version of this format.
//
// A record's members are in audit.go, its line and the chain in chain.go, writing a file in
// file.go, proving one in verify.go, what a question and a reply put on record in question.go, and
// the logger in slog.go.
//
// # What the chain proves
//
// Every line vouches for all lines before it. Changing, removing, adding or moving a line breaks
// the chain there, unless they write anew everything that follows. The crc lets an accident to the
// last line be noticed too; it protects against no attacker.
//
// The file alone cannot prove that it was not written anew as a whole, nor that no whole lines are
// missing at its end: there is no secret in it, and a secret would lie on the same machine. So take
// File.Head from time to time, and keep it where those who can write the file cannot: another
// system's log, a colleague's mailbox, a time-stamping service. Verify with that head proves that
// everything up to it is as it was. What came after the last head that was kept is proved by the
// next one.
//
// No chain proves that what was recorded is true, or that everything was recorded. A record's words
// are the words that were sent; its principals are those that the transport authenticated; what a
// reply says of itself is recorded as its claim.
//
// # After a crash
//
// A file is only ever appended to, so it may have the append-only attribute of the file system.
// Where a process or its machine stopped in the middle of a line, the next Open leaves the bytes
// where they are, ends their line with " (torn)", and records how many there were: they are covered
// by the prev of that record, which is then the hash of the last record's line, the newline, and
// the torn lines. Torn bytes are no record: the call of Record that wrote them had not returned, so
// nothing was done because of them.
//
// The trail holds what people were asked and what they answered, in clear. It never holds a reply
// token.
package audit

import (
	"time"

	"github.com/aaep-go/aaep"
)

// Sink keeps records. A producer calls it from several goroutines at once.
//
// Record returns when the record is kept, as durably as the sink keeps any; the sink does not hold
// on to what the record points to. An error means that it may or may not be kept, and then the
// producer does not do what must be recorded first: no question is put before its Asked record is
// kept, no acceptance is given to the waiting caller before its Settled record is, and nothing is
// run before its Invoked record is. A question whose settlement could not be recorded is rejected.
// The other records tell what has happened already, and an error changes nothing about that.
//
// A sink that outlives its process may also be a Recovering, as a File is.
//
// A record delays what it is about and nothing else: a question, an answer or a tool call waits for
// it; other listeners, questions and sessions, and what else the same session tells, do not. So
// that no answer waits long, it should be kept within milliseconds.
type Sink interface {
	Record(Record) error
}

// Recovering is a Sink that can read back what a process before this one recorded. producer.New
// then records the end of what that process left open: Settled, as withdrawn, for a question
// without an outcome, and NotDone for an acceptance whose action has not begun.
type Recovering interface {
	Sink
	// Questions returns, of each question that was put before the sink was opened, the newest of
	// its records of the kinds Asked, Settled, Invoked and NotDone, with the AgentID of the
	// question where that is known. The words and the recipients may be left out.
	Questions() []Record
}

// Kind says what happened.
type Kind string

const (
	// Opened: a File was opened. The first record of every run.
	Opened Kind = "opened"
	// Asked: a question is about to be put. A further one about the same question names recipients
	// that came later, or one that has changed its language. They are asked once it is kept, if the
	// question is open then. One that is written while the question is settled may be on record
	// before that or after it, and nothing was put because of it.
	Asked Kind = "asked"
	// Replied: a reply came, whether it counts or not.
	Replied Kind = "replied"
	// Extended: a question has a new deadline.
	Extended Kind = "extended"
	// Settled: a question has its outcome. One that a crash left open is withdrawn by the process
	// that goes on. Where that process cannot read the trail back, as one in a logger, this may be
	// the second Settled of the question: what the first one accepted was then not done either.
	Settled Kind = "settled"
	// Invoked: a tool is about to run.
	Invoked Kind = "invoked"
	// Completed: a tool has ended.
	Completed Kind = "completed"
	// NotDone: what was accepted was not done, for the tool has not begun and will not: its caller
	// gave up, its session ended, or the process was killed before it could, which the process that
	// goes on records.
	NotDone Kind = "not_done"
)

// Record is one thing that happened. The kinds in brackets are those that have the field; what is
// not known is left out. There is no field for a reply token, and none may be put into another: a
// question is named by its QuestionID.
type Record struct {
	// Time is when it happened. A File writes it in UTC, and takes zero as now.
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`

	AgentID    string `json:"agent_id,omitzero"`   // [asked, invoked, settled where no one was asked]
	SessionID  string `json:"session_id,omitzero"` // [all but opened]
	Tool       string `json:"tool,omitzero"`       // [all about a tool]
	ToolCallID string `json:"tool_call_id,omitzero"`
	QuestionID string `json:"question_id,omitzero"` // [asked, replied, extended, settled, invoked, not_done]

	// Shown are the exact words that were sent, in every language they were put in, the agent's own
	// first. [asked]
	Shown []Words `json:"shown,omitzero"`
	// ShownDigest is the SHA-256, in hex, of the value of "shown" in the question's Asked record.
	// [asked, settled, invoked, not_done]
	ShownDigest  string    `json:"shown_digest,omitzero"`
	Risk         aaep.Risk `json:"risk_level,omitzero"`   // [asked, invoked]
	Irreversible bool      `json:"irreversible,omitzero"` // [asked, invoked]
	// Untold are those who were asked and had not been told yet that the tool is about to run: it
	// waits for two seconds at most, and not for those who are away or whose links take nothing.
	// [invoked] of what is irreversible or of high risk
	Untold []Subscription `json:"untold,omitzero"`
	// Deadline is when the time to answer ends. Of a question that is about to be put it is counted
	// from the record; the time itself begins when the record is kept. [asked, extended]
	Deadline time.Time `json:"deadline,omitzero"`
	// Default is what silence means: a decision, the default response, or AsksElsewhere. [asked]
	Default    string         `json:"default,omitzero"`
	Recipients []Subscription `json:"recipients,omitzero"` // [asked]

	// By is who replied, asked for more time, or settled the question by a reply. [replied,
	// extended, settled]
	By     *Subscription `json:"by,omitzero"`
	Claims *Claims       `json:"claims,omitzero"` // [replied]
	// Counted says that the reply settled the question; otherwise Refused says why not. [replied]
	Counted bool   `json:"counted,omitzero"`
	Refused string `json:"refused,omitzero"`

	// Cause is what settled the question: replied, timed_out, unreachable or withdrawn; of a
	// program that aaep run ran, how it failed. [settled, completed]
	Cause    string        `json:"cause,omitzero"`
	Decision aaep.Decision `json:"decision,omitzero"` // [settled] of a confirmation
	// Response is a string, a bool or a float64, or nil if there was none. [settled] of a
	// clarification
	Response any `json:"response,omitzero"`

	Status     aaep.ToolStatus `json:"status,omitzero"`      // [completed] also "stopped": aaep run was told to end
	DurationMS *int64          `json:"duration_ms,omitzero"` // [completed] in milliseconds

	// Node is the process that opened the File, HOST:PID, Version the format, and Torn how many
	// bytes before it belong to no record. [opened] A File sets them.
	Node    string `json:"node,omitzero"`
	Version int    `json:"version,omitzero"`
	Torn    int64  `json:"torn,omitzero"`
}

// Words are what was shown in one language, or would have been to a listener who prefers it.
type Words struct {
	Language string `json:"language"`
	// Terse, Normal and Detailed are the summaries, of which each listener gets one.
	Terse    string `json:"summary_terse,omitzero"`
	Normal   string `json:"summary_normal,omitzero"`
	Detailed string `json:"summary_detailed,omitzero"`
	// A confirmation has an action and its consequence.
	Action      string `json:"action,omitzero"`
	Consequence string `json:"consequence,omitzero"`
	// A clarification has a question, its context, and choices.
	Question string        `json:"question,omitzero"`
	Context  string        `json:"context,omitzero"`
	Choices  []aaep.Choice `json:"choices,omitzero"`
}

// Subscription is a subscription that was asked, or that answered.
type Subscription struct {
	SubscriptionID string `json:"subscription_id"`
	// SubscriberID is what the subscriber calls itself.
	SubscriberID string `json:"subscriber_id,omitzero"`
	// Principal is whom the transport authenticated; empty is no principal.
	Principal string `json:"principal,omitzero"`
	// Language is that of the Words it was shown, where that is known.
	Language string `json:"language,omitzero"`
	// Node is the process that serves it, where that is not the agent itself.
	Node string `json:"node,omitzero"`
}

// Claims are what a reply says. They are not checked: who decided, and when.
type Claims struct {
	Decision  aaep.Decision `json:"decision,omitzero"`
	Response  any           `json:"response,omitzero"`
	DecidedBy string        `json:"decided_by,omitzero"`
	Rationale string        `json:"decision_rationale,omitzero"`
	Time      time.Time     `json:"timestamp,omitzero"`
	// Modified: it wants a changed action, which counts as a rejection.
	Modified bool `json:"modified,omitzero"`
}
