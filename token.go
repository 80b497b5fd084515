package aaep

import (
	"fmt"
	"io"
	"log/slog"
)

// ReplyToken stands for one open question (§6.2). A subscriber that holds it may answer, so it
// hides itself from logs and formatted text; convert it to string to put it on a wire.
type ReplyToken string

const hidden = "rpl_…"

// String returns a constant, so that a formatted message never shows the token.
func (ReplyToken) String() string { return hidden }

// GoString is String, for %#v.
func (ReplyToken) GoString() string { return `aaep.ReplyToken("` + hidden + `")` }

// Format writes what String returns, for every verb, and what GoString returns for %#v: package fmt
// by itself would print the token in its complaint about a wrong verb.
func (t ReplyToken) Format(s fmt.State, verb rune) {
	if verb == 'v' && s.Flag('#') {
		io.WriteString(s, t.GoString())
		return
	}
	io.WriteString(s, hidden)
}

// LogValue is String, for log/slog.
func (ReplyToken) LogValue() slog.Value { return slog.StringValue(hidden) }

// String returns the question in one line and without its reply token, which package fmt would
// otherwise show in an event formatted with %s.
func (p *AwaitingConfirmation) String() string { return oneLine(p.fallbackText()) }

// String returns the question in one line and without its reply token.
func (p *AwaitingClarification) String() string { return oneLine(p.fallbackText()) }
