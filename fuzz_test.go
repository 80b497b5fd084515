package aaep_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// INV-31, INV-33, INV-34: Decode never panics, every error is an *InvalidError, and what it takes
// can be written and is then read the same.
func FuzzDecode(f *testing.F) {
	for _, m := range everyMessage() {
		data, err := aaep.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, sample := range seedSamples {
		f.Add([]byte(sample))
	}
	f.Add([]byte(`{"type":"confirmation.reply","decision":"reject","Decision":"accept"}`))
	f.Add([]byte("\ufeff[{\"a\":\"\\ud800\"}]\x00"))
	f.Add([]byte(eventJSON("https://aaep-protocol.org/types/agent.state.changed",
		`, "from_state":"\u0069dle","to_state":"","extensions":{"a":{ "b" : [1.0,"\/"]}},"x":null`)))
	for _, c := range departures {
		f.Add([]byte(publishedEvent("aaep:agent."+c.typ, c.members)))
	}
	f.Add([]byte(publishedEvent("aaep:agent.session.started",
		`,"summary_terse_yo":"a","summary_normal_YO-ng":"b","summary_detailed_zh_hant":"c","language":"yo"`)))
	f.Add([]byte(`{"type":"subscription.renegotiate","subscription_id":"s","capabilities":{"Languages":{},"event_filters":{"Include":["*"]},"medai":{"producer":{"Model":null}}}}`))
	f.Add([]byte(`{"type":"subscription.accepted","subscription_id":"s","aaep_version":"1.0.0","producer":{"agent_id":"a","Agent_Id":"b"},"honored_capabilities":{"pace_wpm":1.5e2}}`))
	f.Add([]byte(`{` + strings.Replace(reply, "confirmation", "clarification", 1) + `,"response":-9007199254740993}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := aaep.Decode(data)
		if err != nil {
			wantInvalid(t, err)
			return
		}
		if e, ok := m.(*aaep.Event); ok {
			checkLiberal(t, e)
		}
		if err := aaep.Validate(m); err != nil {
			wantInvalid(t, err)
		}
		written := writeMessage(t, m)
		if written == nil {
			return
		}
		again, err := aaep.Decode(written)
		if err != nil {
			t.Fatalf("%s\nis written as\n%s\nwhich is not read: %v", data, written, err)
		}
		if twice := writeMessage(t, again); !bytes.Equal(written, twice) {
			t.Fatalf("%s\nthen\n%s", written, twice)
		}
		if !reflect.DeepEqual(normalize(t, m), normalize(t, again)) {
			t.Fatalf("%s\nis read as\n%#v\nand after writing as\n%#v", data, m, again)
		}
	})
}

// checkLiberal checks what must hold of every event that was read: diagnostics are bounded,
// complete and safe to log, the four critical types are critical, and there are words in some
// language.
func checkLiberal(t *testing.T, e *aaep.Event) {
	t.Helper()
	if len(e.Diagnostics) > 64 || e.Type().Critical() && e.Urgency != aaep.UrgencyCritical {
		t.Fatalf("%d diagnostics, urgency %q", len(e.Diagnostics), e.Urgency)
	}
	for _, v := range e.Diagnostics {
		if v.Requirement == "" || v.Problem == "" || v.String() != aaep.SafeText(v.String()) ||
			strings.Contains(v.String(), "\n") {
			t.Fatalf("diagnostic %q", v)
		}
	}
	text := e.Text(aaep.VerbosityTerse)
	if p, ok := e.Payload.(*aaep.ProgressUpdated); ok && p.Progress.Description == "" && e.Summary.IsZero() &&
		strings.ContainsAny(text, "+-") {
		t.Fatalf("a person hears %q", text)
	}
	for _, translation := range e.Translations {
		if !aaep.ValidLanguageTag(translation.Language()) || translation.Summary.IsZero() {
			t.Fatalf("a translation into %q: %+v", translation.Language(), translation.Summary)
		}
	}
	if p, output := e.Payload.(*aaep.OutputStreaming); text == "" && (!output || p.Chunk != "") {
		if _, question := e.Payload.(*aaep.AwaitingClarification); !question {
			t.Fatalf("nothing to say of %+v", e)
		}
	}
}

// wantInvalid checks that err is an *aaep.InvalidError with a violation, whose text is safe.
func wantInvalid(t *testing.T, err error) {
	t.Helper()
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Violations) == 0 || err.Error() != aaep.SafeText(err.Error()) {
		t.Fatalf("error %q is not a safe *InvalidError", err)
	}
}

// writeMessage returns m as JSON: an event valid or not, another message only if it is valid.
func writeMessage(t *testing.T, m aaep.Message) []byte {
	t.Helper()
	if e, ok := m.(*aaep.Event); ok {
		data, err := e.MarshalJSON()
		if err != nil {
			t.Fatalf("MarshalJSON(%#v) = %v", e, err)
		}
		return data
	}
	data, err := aaep.Encode(m)
	if (err == nil) != (aaep.Validate(m) == nil) {
		t.Fatalf("Validate passes, Encode says %v", err)
	}
	return data
}

// normalize returns m without what writing does not keep: blanks in raw JSON, more than
// microseconds, and what was read liberally.
func normalize(t *testing.T, m aaep.Message) aaep.Message {
	t.Helper()
	raw := func(v json.RawMessage) json.RawMessage {
		if v == nil {
			return nil
		}
		var out bytes.Buffer
		if err := json.Compact(&out, v); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	all := func(m map[string]json.RawMessage) map[string]json.RawMessage {
		for k, v := range m {
			m[k] = raw(v)
		}
		return m
	}
	at := func(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
	switch m := m.(type) {
	case *aaep.Event:
		m.Timestamp, m.Extensions, m.Unknown, m.Diagnostics = at(m.Timestamp), all(m.Extensions), raw(m.Unknown), nil
		switch p := m.Payload.(type) {
		case *aaep.AwaitingConfirmation:
			p.ExtraContext = raw(p.ExtraContext)
		case *aaep.HandoffRequested:
			p.PackagedContext = raw(p.PackagedContext)
		}
	case *aaep.SubscriptionRequest:
		m.Extensions, m.Capabilities.Extensions = all(m.Extensions), all(m.Capabilities.Extensions)
	case *aaep.SubscriptionAccepted:
		m.HonoredCapabilities.Extensions = all(m.HonoredCapabilities.Extensions)
	case *aaep.SubscriptionRenegotiate:
		m.Capabilities.Extensions = all(m.Capabilities.Extensions)
	case *aaep.ConfirmationReply:
		m.Timestamp, m.ModifiedAction = at(m.Timestamp), raw(m.ModifiedAction)
	case *aaep.ClarificationReply:
		m.Timestamp = at(m.Timestamp)
	}
	return m
}

// INV-57.
func FuzzSafeText(f *testing.F) {
	for _, s := range mustStay {
		f.Add(s)
	}
	for _, c := range mustGo {
		f.Add(c[0])
	}
	f.Fuzz(func(t *testing.T, s string) { checkSafe(t, s) })
}
