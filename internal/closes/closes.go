// Package closes knows which question to a person an event asks, how long it is open, and when it
// no longer is.
package closes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
)

// longest is how long a question can be open.
const longest = 24 * time.Hour

// Token returns the reply token of a question that ev asks, which a reply to it names. asks is
// false for any other event.
func Token(ev *aaep.Event) (token aaep.ReplyToken, asks bool) {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return p.ReplyToken, true
	case *aaep.AwaitingClarification:
		return p.ReplyToken, true
	}
	return "", false
}

// Given returns the time to answer that a question was asked with, a day at most; of any other
// event it is zero.
func Given(question *aaep.Event) time.Duration {
	var seconds int64
	switch p := question.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		seconds = p.TimeoutSeconds
	case *aaep.AwaitingClarification:
		seconds = p.TimeoutSeconds
	}
	return time.Duration(min(max(seconds, 0), int64(longest/time.Second))) * time.Second
}

// TimeIn returns how much time to answer a question has in all, from the beginning, as the
// progress.updated ev says that announces the time that is left; limit is what was known before. ok
// is false where ev does not announce that. Such an event does not name its question, and its
// session may report on other work too. But the time that is left, the percentage that is over, and
// the stamps of both events, which are by the same clock, must agree; and it never takes time away.
func TimeIn(question *aaep.Event, limit time.Duration, ev *aaep.Event) (total time.Duration, ok bool) {
	p, isProgress := ev.Payload.(*aaep.ProgressUpdated)
	if !isProgress || ev.SessionID != question.SessionID || p.ETAMS == nil || p.Progress.Percent == nil {
		return 0, false
	}
	left := time.Duration(min(max(*p.ETAMS, 0), longest.Milliseconds())) * time.Millisecond
	elapsed := ev.Timestamp.Sub(question.Timestamp)
	total = (elapsed + left).Round(time.Second)
	percent := 100 * elapsed.Seconds() / total.Seconds()
	agrees := math.Abs(percent-*p.Progress.Percent) <= 1
	return total, agrees && elapsed >= 0 && left > 0 && total >= limit && total <= longest
}

// CallOf returns the id of the tool call that a confirmation is for, as its extra_context says or
// what came before it (D-22); "" is unknown.
func CallOf(question *aaep.Event) string {
	call := ""
	if p, ok := question.Payload.(*aaep.AwaitingConfirmation); ok {
		_, call, _ = Subject(p)
	}
	return cmp.Or(call, question.Within)
}

// Subject returns the tool and the id of the tool call that a confirmation is about, as its
// extra_context says, or "" where that says nothing (D-22). Names of members match exactly, and one
// that is there twice is an error: the id decides what may run.
func Subject(p *aaep.AwaitingConfirmation) (tool, call string, err error) {
	if len(p.ExtraContext) == 0 {
		return "", "", nil
	}
	var members struct {
		Tool string `json:"tool"`
		Call string `json:"tool_call_id"`
	}
	if err := jsonv2.Unmarshal(p.ExtraContext, &members); err != nil {
		return "", "", err
	}
	return members.Tool, members.Call, nil
}

// AsksElsewhere reports whether silence does not reject a confirmation: its extra_context says that
// the agent then asks the user in its own window.
func AsksElsewhere(p *aaep.AwaitingConfirmation) bool {
	var context struct {
		Unanswered string `json:"unanswered"`
	}
	return len(p.ExtraContext) > 0 && jsonv2.Unmarshal(p.ExtraContext, &context) == nil &&
		context.Unanswered == Elsewhere
}

// Elsewhere is the value of "unanswered" in the extra_context of a confirmation that the agent puts
// to the user itself where it gets no answer.
const Elsewhere = "asks_elsewhere"

// Question reports whether ev says that question, of the same session, is no longer open: the
// session has ended, the tool call that it is about has completed, or the state is no longer
// awaiting_input. A change of state that is older than the question says nothing. One after it
// counts whatever it leads from, since the change out of awaiting_input may have been merged into
// it; but not where the question is known to be asked within a tool call that goes on, for then it
// may be due to another call.
func Question(question, ev *aaep.Event) bool {
	if ev.SessionID != question.SessionID {
		return false
	}
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		if ev.Timestamp.Before(question.Timestamp) { // the question has overtaken it
			return false
		}
		leavesInput := p.FromState == aaep.StateAwaitingInput
		mayBeMerged := ev.Timestamp.After(question.Timestamp) && question.Within == ""
		return p.ToState != aaep.StateAwaitingInput && (leavesInput || mayBeMerged)
	case *aaep.ToolCompleted:
		return p.ToolCallID != "" && p.ToolCallID == CallOf(question)
	}
	return ev.Type().Terminal()
}

// The errors of an answer to a question that cannot be given; package subscriber says what they
// mean.
var (
	ErrUnknown = errors.New("subscriber: not an open question of this subscription")
	// ErrNoMoreTime is of an agent that gives no more time.
	ErrNoMoreTime = errors.New("subscriber: the producer gives no more time to answer")
	ErrLate       = fmt.Errorf("%w any more: the time to answer it is over, and the answer was not sent", ErrUnknown)
	// ErrNotSent is of an answer of which nothing left.
	ErrNotSent = errors.New("subscriber: the answer was not sent, for the producer could not be reached")
)
