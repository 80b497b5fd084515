// Package announce decides what a person is told, in which order and in which words: from the
// events of one or several agents to a plan of utterances, each of which ends in a receipt
// (§9.3.2). It is a pure machine: it starts no goroutine, has no clock, and says nothing itself;
// package subscriber/present drives it with real outputs.
//
// Begin reading at Announcer and its methods Add, Next and Ended. What may be left out is decided
// in duplicates.go, stale.go and flood.go; which question is put, and when an answer to it counts,
// in question.go, turn.go, answer_blackout.go and reply.go; how code and tables are told, in
// markdown.go, code.go and tables.go; walking back through what was said, in transcript.go and
// walk.go.
//
// The people's settings are in announcer.go, the answer of an agent in answer.go, how each session
// stands in agent_state.go, and what holds an announcement up or ends it in schedule.go. What a
// person asks for, such as Details, Skip and Hush, is in command.go, outages and other notices in
// notice.go, and the words of an event in text.go and words.go. What differs for a person who reads
// and types is in reader.go. Receipts are in receipt.go, and what is said where no voice speaks the
// language is in voiceless.go.
package announce

import (
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/spoken"
)

// Kind says what an utterance is about. An output may choose a sound or a pattern by it.
type Kind string

const (
	Output   Kind = "output"   // of the agent's answer
	News     Kind = "news"     // of what the agent does: states, tools, the beginning and end of a session
	Progress Kind = "progress" // how far it has come
	Question Kind = "question" // that the person is asked
	Problem  Kind = "problem"  // that went wrong, or needs a person
	Notice   Kind = "notice"   // of this program itself
)

// Link is what an utterance says of the link to an agent, for outputs without words.
type Link string

const (
	LinkLost Link = "lost" // the agent is out of reach, or has ended
	LinkBack Link = "back" // it is there again
)

// Utterance is what is presented in one go: a sentence or a few words, in one language, made for
// the ear. It has no control characters and no markup.
type Utterance struct {
	// ID is unique among the utterances of one Announcer, and is never 0.
	ID int64
	// Text is what to say.
	Text string
	// Language is a language tag, or "" if it is unknown.
	Language string
	Kind     Kind
	// Code says that the text is a line of code: each of its signs counts, and the spaces that it
	// begins with are its indentation.
	Code bool
	// Link says that the agent is out of reach, or is back; empty is one about anything else.
	Link Link
	// Critical ones cannot wait, and stay until they were noticed where an output can do that.
	Critical bool
	// Source is the agent, as Add names it, whose words these are or whose question they are about;
	// empty is this program.
	Source string
	// About is the agent it is about: Source or, where this program says what came of an answer,
	// that an agent is out of reach and the like about one of several agents, that one. Only the
	// first sentence of such words names it: a line that is replaced, or that shows a sentence in
	// pieces, shows whose it is by this. Empty is no one of them.
	About string
	// Event is what it tells of. Nil is a sentence of this program's own, such as that an agent is
	// out of reach, what came of an answer, or which question is still open. An answer is always
	// for the Event of the newest Utterance of the Kind Question, whatever else was presented
	// since: a display of one line that keeps a question keeps that, until
	// Presenter.OpenQuestion of package present returns another one or none.
	Event *aaep.Event
}

// Duration returns how long a voice takes for it at a pace, which is positive: figures and signs
// are counted as they are spoken, and scripts without spaces by their letters. It is for an output
// that has no voice and keeps the time of one.
func (u Utterance) Duration(wordsPerMinute int) time.Duration {
	return time.Duration(spoken.Words(u.Text)) * time.Minute / time.Duration(wordsPerMinute)
}

// What Present of an output returns where it did not present the whole utterance.
var (
	// ErrCut: the person silenced or dismissed it, or another program did.
	ErrCut = errors.New("announce: silenced before its end")
	// ErrLanguage: the output cannot present it, but goes on to present others.
	ErrLanguage = errors.New("announce: there is no voice for this language")
	// ErrClosed: Close was called, or what the output needs has ended, such as the session bus.
	ErrClosed = errors.New("announce: the output is closed")
)
