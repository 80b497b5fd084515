package control

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// AnswerName is the Request that answers a question. Any other is a command of the listener's.
const AnswerName = "answer"

// WalkNames are the Requests that walk in what the agents said, with where to as their Text.
var WalkNames = []string{"to", "back", "find"}

// WatchName is the Request for each State from now on.
const WatchName = "watch"

// PressedName is the Request that says that a key answered, or tried to answer, at another
// listener: a key that is held down must not go on to accept here what is asked next.
const PressedName = "pressed"

// Request is what a person wants of a listener.
type Request struct {
	Name string `json:"name"`
	// Text is the answer, such as "y" or "2".
	Text string `json:"text,omitempty"`
	// Question is the ID of the one that the answer is for.
	Question string `json:"question,omitempty"`
	// Age is how many milliseconds ago the key was pressed, as far as that is known.
	Age int64 `json:"age_ms,omitempty"`
}

// Response is what came of a Request.
type Response struct {
	Done bool `json:"done"`
	// Said is what the listener said upon it, as a person hears it.
	Said []string `json:"said,omitempty"`
}

// State is how it stands with a listener. Its texts are safe to show.
type State struct {
	Agents []string `json:"agents"`
	// Question is the one that is put; nil is none.
	Question *Question `json:"question,omitempty"`
	// Waiting is how many questions come after that.
	Waiting int `json:"waiting"`
	// Quiet reports whether only what cannot wait is said.
	Quiet bool `json:"quiet"`
	// Stoppable reports whether the person can stop the agent from here.
	Stoppable bool `json:"stoppable"`
}

// Question is one that is put to the person.
type Question struct {
	// ID is the same at each listener that puts the question.
	ID           string   `json:"id"`
	Agent        string   `json:"agent"`
	Text         string   `json:"text"`
	Consequence  string   `json:"consequence,omitempty"`
	Risk         string   `json:"risk,omitempty"`
	Irreversible bool     `json:"irreversible,omitempty"`
	Choices      []string `json:"choices,omitempty"`
	// Kind is "confirmation" or "clarification".
	Kind string `json:"kind"`
	// Decided reports whether a yes or a no answers it. A choice, a number or a text is neither.
	Decided bool `json:"decided"`
	// Until is when the time to answer ends, as far as is known.
	Until time.Time `json:"until"`
}

// sendJSON sends a value as one message of JSON, within replyTime. The error is that of the link.
func sendJSON(ctx context.Context, conn transports.Conn, v any) error {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	msg, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return conn.Send(ctx, msg)
}

// receiveJSON receives one message of JSON into v, within replyTime. The error is that of the link,
// or of JSON.
func receiveJSON(ctx context.Context, conn transports.Conn, v any) error {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	msg, err := conn.Receive(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(msg, v)
}
