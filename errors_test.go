package aaep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A Rejection is its reason and its cause, and its text can disturb no log.
func TestRejection(t *testing.T) {
	var err error = fmt.Errorf("dialing: %w", &aaep.Rejection{
		Code: aaep.RateLimit, Message: "Full.\nTry later.\x1b[2J", RetryAfter: time.Minute, Remote: true,
		Err: io.ErrUnexpectedEOF,
	})
	if !errors.Is(err, aaep.RateLimit) || errors.Is(err, aaep.AuthorizationDenied) ||
		!errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v matches the wrong errors", err)
	}
	var r *aaep.Rejection
	if !errors.As(err, &r) || r.RetryAfter != time.Minute || !r.Remote {
		t.Errorf("errors.As gives %+v", r)
	}
	if got, want := err.Error(), "dialing: aaep: rate limit (said by the peer): Full.<U+000A>Try later.<U+001B>[2J: unexpected EOF"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	// The set is open: another's code matches itself, and cannot break a log line (INV-36).
	odd := aaep.ReasonCode("too\n\u202ebusy")
	if err := (&aaep.Rejection{Code: odd}); !errors.Is(err, odd) || err.Error() != "aaep: too<U+000A><U+202E>busy" {
		t.Errorf("Error() = %q", err.Error())
	}
	if errors.Is(aaep.RateLimit, aaep.ReasonUnknown) || !errors.Is(aaep.ReasonCode("rate_limit"), aaep.RateLimit) {
		t.Error("a reason code is not its own sentinel")
	}
}

// INV-36, INV-37: one line, nothing raw, no reply token, and not longer for a long input.
func TestInvalidErrorIsSafeToLog(t *testing.T) {
	err := &aaep.InvalidError{Message: "x:\x1b", Violations: []aaep.Violation{
		{Requirement: "ENV-1", Pointer: "/a\nb", Problem: "is \u202ewrong"},
		{Problem: "again, rpl_SECRET1 and rpl_SECRET2, must be \"rpl_\" and letters"},
	}}
	want := `aaep: invalid x:<U+001B>: /a<U+000A>b: is <U+202E>wrong (ENV-1); again, rpl_… and rpl_…, must be "rpl_" and letters`
	if got := err.Error(); got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	for _, data := range []string{
		`{"type":"confirmation.reply","rpl_SECRET":1}`,
		`{` + reply + `,"decision":"accept","rpl_SECRET":1}`,
		eventJSON("rpl_SECRET:x", `,"urgency":1`), eventJSON("x:rpl_SECRET", `,"urgency":1`),
		`{` + strings.Replace(reply, "SECRET", `\ud800SECRET`, 1) + `,"decision":"accept"}`,
		`{` + strings.Replace(reply, "SECRET", `SECRET-`, 1) + `,"decision":"accept"}`,
		`{"` + strings.Repeat("x", 1<<20) + `":1,` + reply + `,"decision":"accept"}`,
		`{"type":"` + strings.Repeat("x", 1<<20) + `"}`,
		eventJSON(strings.Repeat("x", 1<<20), `,"urgency":1`),
		eventJSON("x:y", `,"`+strings.Repeat("x", 1<<20)+`":{"a":1,"a":2}`),
	} {
		_, err := aaep.Decode([]byte(data))
		if err == nil {
			t.Errorf("%.80s is read", data)
		} else if text := err.Error(); strings.Contains(text, "SECRET") || len(text) > 1000 {
			t.Errorf("error %.300q", text)
		}
	}
}

// INV-37: a reply token hides itself wherever values are printed, alone and inside messages.
func TestReplyTokenHides(t *testing.T) {
	const secret = "rpl_c4n4ry"
	token := aaep.ReplyToken(secret)
	payload := &aaep.AwaitingConfirmation{Action: "Pay.", ReplyToken: token}
	values := map[string]any{
		"token": token, "pointer": &token, "list": []aaep.ReplyToken{token}, "map": map[string]any{"t": token},
		"key":     map[aaep.ReplyToken]int{token: 1},
		"payload": payload, "struct": *payload, "clarification": aaep.AwaitingClarification{ReplyToken: token},
		"event": aaep.Event{Payload: payload}, "reply": &aaep.ConfirmationReply{ReplyToken: token},
		"answer": aaep.ClarificationReply{ReplyToken: token},
		"error":  fmt.Errorf("token %v", token), "own": struct{ T aaep.ReplyToken }{token},
	}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%10.3s", "%d"} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, "c4n4ry") ||
				strings.Contains(strings.ToLower(got), fmt.Sprintf("%x", "c4n4ry")) {
				t.Errorf("%s with %s prints %s", name, verb, got)
			}
		}
	}
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		for about, v := range values {
			// A JSON handler writes a struct as JSON, which is what a message is for: log fields,
			// not messages.
			if name == "json" && about != "token" && about != "error" {
				continue
			}
			var out bytes.Buffer
			slog.New(handler(&out)).LogAttrs(context.Background(), slog.LevelInfo, "x", slog.Any("v", v),
				slog.Group("g", slog.Any("v", v)))
			if strings.Contains(out.String(), "c4n4ry") || !strings.Contains(out.String(), "v=") && name == "text" {
				t.Errorf("%s handler, %s: %s", name, about, out.String())
			}
		}
	}
	if data, err := json.Marshal(payload); err != nil || !strings.Contains(string(data), secret) ||
		string(token) != secret {
		t.Errorf("the token does not travel: %s, %v", data, err)
	}
}
