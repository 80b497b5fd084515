package aaep_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

const (
	envelope = `"@context":"https://aaep-protocol.org/context/v1","event_id":"evt_1","session_id":"sess_1","timestamp":"2026-07-01T09:30:00.000Z","producer":{"agent_id":"bills"}`
	reply    = `"type":"confirmation.reply","reply_token":"rpl_SECRET","subscription_id":"sub_1","timestamp":"2026-07-01T09:30:00.000Z"`
)

// eventJSON returns an event of this type with a whole envelope; members begin with a comma.
func eventJSON(typ, members string) string {
	return `{"type":"` + typ + `",` + envelope + members + `}`
}

// INV-33, INV-39: one reading only, and an error that names the rule, the place and the problem.
func TestDecodeIsExact(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"nothing":          {``, "is empty; a message is one JSON object (ENV-064)"},
		"blanks":           {" \n", "is empty"},
		"cut off":          {`{"type":"x:y"`, "unexpected EOF (ENV-064)"},
		"byte order mark":  {"\ufeff{}", "byte order mark"},
		"UTF-16":           {"\xff\xfe{\x00}\x00", "invalid character '\\xff'"},
		"comment":          {`{"type":"x:y"/*c*/}`, "invalid character '/'"},
		"comma at the end": {`{"type":"x:y",}`, "invalid character ','"},
		"one more message": {`{"type":"x:y"} {}`, "text after the end of the object"},
		"NUL at the end":   {"{\"type\":\"x:y\"}\x00", "text after the end of the object"},
		"null":             {`null`, "must be a JSON object, not a JSON null (ENV-068)"},
		"list":             {`[{}]`, "must be a JSON object, not a JSON array (ENV-068)"},
		"string":           {`"{}"`, "must be a JSON object, not a JSON string (ENV-068)"},
		"number":           {`1`, "must be a JSON object, not a JSON number (ENV-068)"},
		"too deep": {`{"type":"x:y","a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
			"nests deeper than 64 levels (ENV-064)"},
		"no type":                 {`{}`, `member "type" is missing (ENV-067)`},
		"type in capitals":        {`{"Type":"x:y"}`, `"Type" does not count, names are case-sensitive (ENV-067)`},
		"type a number":           {`{"type":7}`, "/type: must be a non-empty string (ENV-011)"},
		"type null":               {`{"type":null}`, "/type: must be a non-empty string (ENV-011)"},
		"type empty":              {`{"type":""}`, "/type: must be a non-empty string (ENV-011)"},
		"bytes that are not text": {eventJSON("x:y", ",\"a\":\"\xff\""), "/a: invalid UTF-8 (ENV-064)"},
		"bytes in a name":         {eventJSON("x:y", ",\"a\xff\":1"), "invalid UTF-8 (ENV-064)"},
		"half a pair":             {eventJSON("x:y", `,"a":"\ud800"`), "(ENV-064)"},
		"second half of a pair":   {eventJSON("x:y", `,"a":"\udc00x"`), "(ENV-064)"},

		"no such message": {`{"type":"subscription.hello","subscriber_id":"s"}`, "invalid subscription.hello: /type: is the type of no message; there are " +
			"clarification.reply, confirmation.reply, subscription.accepted, subscription.close, subscription.rejected, " +
			"subscription.renegotiate, subscription.request, and that of an event has a colon, as aaep:agent.progress.updated (ENV-006)"},
		"no event id": {`{"type":"x:y"}`, `member "event_id" is missing (ENV-067)`},
		// ENV-004: the context must be there, in its form, and of our major version (VER-005).
		"no context": {strings.Replace(eventJSON("x:y", ""), "@context", "context", 1),
			`member "@context" is missing (ENV-067)`},
		"context": {strings.Replace(eventJSON("x:y", ""), "context/v1", "context/v2", 1),
			"/@context: must be"},
		"context object": {strings.Replace(eventJSON("x:y", ""), `"https://aaep-protocol.org/context/v1"`, `[{}]`,
			1), "(ENV-002)"},
		"event id": {strings.Replace(eventJSON("x:y", ""), "evt_1", "evt_1\\n", 1),
			`/event_id: must be "evt_" and 1 to 64 letters or digits (ENV-012)`},
		"session id": {strings.Replace(eventJSON("x:y", ""), "sess_1", "sess_"+strings.Repeat("a", 65), 1),
			"/session_id: must be"},
		"agent id": {strings.Replace(eventJSON("x:y", ""), "bills", "", 1),
			"/producer/agent_id: must be a non-empty string (ENV-024)"},
		"producer a text": {strings.Replace(eventJSON("x:y", ""), `{"agent_id":"bills"}`, `"bills"`, 1),
			"/producer: must be an object, and not a JSON string (ENV-067)"},
		"known null": {eventJSON("x:y", `,"urgency":null`),
			"/urgency: must not be null; leave the member out instead (ENV-067)"},
		"null inside": {eventJSON("x:y", `,"localization_hints":{"script":null}`),
			"/localization_hints/script: must not be null"},
		"null in a list": {eventJSON("aaep:agent.session.started", `,"tools_available":[null]`),
			"/tools_available/0: must not be null"},
		"extension null": {eventJSON("x:y", `,"extensions":{"med":null}`), "/extensions/med: must not be null"},
		"number as text": {eventJSON("x:y", `,"sequence_number":"1"`),
			"/sequence_number: must be an integer (ENV-067)"},
		"fraction": {eventJSON("x:y", `,"sequence_number":1.5`), "/sequence_number: must be an integer"},
		"huge":     {eventJSON("x:y", `,"sequence_number":1e300`), "/sequence_number: must be an integer"},
		"date": {strings.Replace(eventJSON("x:y", ""), "T09:30:00.000Z", "", 1),
			"/timestamp: must be an RFC 3339 date-time"},
		"another's flat": {eventJSON("aaep:agent.tool.completed", `,"status":"error","progress_percent":4`),
			`member "tool" is missing`},
		"no progress": {eventJSON("aaep:agent.progress.updated", `,"Progress_percent":4`),
			`member "progress" is missing`},
		"reply token": {eventJSON("aaep:agent.awaiting.clarification",
			`,"question":"q","reply_token":"SECRET-","timeout_seconds":1`), `/reply_token: must be "rpl_"`},
		"no default": {eventJSON("aaep:agent.awaiting.confirmation",
			`,"action":"a","consequence":"c","reply_token":"rpl_1","timeout_seconds":1,"Default_decision":"accept"`),
			`"Default_decision" does not count`},
		"member repeated": {eventJSON("x:y", `,"urgency":"normal","urgency":"critical"`),
			`duplicate object member name`},
		"unknown repeated": {eventJSON("x:y", `,"a":1,"a":2`), `duplicate object member name`},
		"repeated inside":  {eventJSON("x:y", `,"extensions":{"med":{"a":1,"a":2}}`), `duplicate object member name`},

		"decision twice": {`{` + reply + `,"decision":"reject","decision":"accept"}`,
			"duplicate object member name"},
		"decision twice, one escaped": {`{` + reply + `,"decision":"reject","decisi\u006fn":"accept"}`,
			"duplicate object member name"},
		"decision in capitals": {`{` + reply + `,"decision":"reject","Decision":"accept"}`,
			"/Decision: is not a member of this message; a reply has no others"},
		"decision with a long s": {`{` + reply + `,"decision":"reject","deciſion":"accept"}`, "(CONF-017)"},
		"decision padded": {`{` + reply + `,"decision":"reject","decision\u0000":"accept"}`,
			"/decision<U+0000>: is not a member"},
		"only Decision": {`{` + reply + `,"Decision":"accept"}`,
			`member "decision" is missing; "Decision" does not count`},
		"decision of its own": {`{` + reply + `,"decision":"Accept"}`,
			"/decision: must be one of accept, reject (CONF-013)"},
		"decision null": {`{` + reply + `,"decision":null}`, "/decision: must not be null"},
		"reason added": {`{` + reply + `,"decision":"reject","decision_reason":"r"}`,
			"/decision_reason: is not a member"},
		"subscription of its own": {`{` + strings.Replace(reply, "sub_1", "s 1", 1) + `,"decision":"reject"}`,
			"(CONF-014)"},
		"answer in a list": {strings.Replace(`{`+reply+`,"response":["a"]}`, "confirmation", "clarification",
			1), "/response: must be a non-empty string, a boolean or a number (CONF-041)"},
		"answer null": {strings.Replace(`{`+reply+`,"response":null}`, "confirmation", "clarification",
			1), "/response: must not be null"},
		"empty answer": {strings.Replace(`{`+reply+`,"response":""}`, "confirmation", "clarification", 1),
			"/response: must be 1 to 16384 characters long, is 0 (CONF-041)"},
		"an account rounded": {strings.Replace(`{`+reply+`,"response":9007199254740993}`, "confirmation",
			"clarification", 1), "/response: is a number that would be read as another one; it has too many digits (ENV-066)"},
		"request in capitals":      {`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"s","capabilities":{},"Capabilities":{}}`, `write "capabilities" (ENV-067)`},
		"rate 0":                   {`{"type":"subscription.renegotiate","subscription_id":"sub_1","capabilities":{"max_events_per_second":0}}`, "/capabilities/max_events_per_second: must be at least 1"},
		"language":                 {`{"type":"subscription.renegotiate","subscription_id":"sub_1","capabilities":{"languages":["en","e_n"]}}`, "/capabilities/languages/1: must be a language tag such as en-US (HS-017)"},
		"extension a text":         {`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"s","capabilities":{},"extensions":{"a/b":""}}`, "/extensions/a~1b: must be an object (HS-011)"},
		"accepted without version": {`{"type":"subscription.accepted","subscription_id":"s","aaep_version":"","producer":{"agent_id":"a"},"honored_capabilities":{}}`, "/aaep_version: must be 1 to 64 characters long, is 0 (HS-044)"},
		"closed with no id": {`{"type":"subscription.close","subscription_id":""}`,
			"/subscription_id: must be 1 to 256 characters long"},
	} {
		m, err := aaep.Decode([]byte(c.data))
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Violations) == 0 || m != nil {
			t.Errorf("%s: Decode = %v, %v; want an *InvalidError", name, m, err)
			continue
		}
		for _, v := range invalid.Violations {
			if v.Requirement == "" || v.Problem == "" {
				t.Errorf("%s: violation %+v says too little", name, v)
			}
		}
		if text := err.Error(); !strings.Contains(text, c.want) || !strings.HasPrefix(text, "aaep: invalid ") ||
			strings.Contains(text, "SECRET") {
			t.Errorf("%s: error %q, want part %q", name, text, c.want)
		}
	}
}

// CONF-041: a numeric answer is taken however it is written, as long as it is read as the number
// that was meant.
func TestDecodeNumericAnswers(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "9007199254740992": 1 << 53, "-9007199254740994": -(1<<53 + 2), "100000000000000000000": 1e20,
		"0.1": 0.1, "1e300": 1e300, "300.0": 300, "12345678901234567890.5": 12345678901234567890.5,
	} {
		m, err := aaep.Decode([]byte(strings.Replace(`{`+reply+`,"response":`+text+`}`, "confirmation",
			"clarification", 1)))
		if err != nil || m.(*aaep.ClarificationReply).Response != want {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
	for _, text := range []string{"9007199254740993", "-9007199254740993", "12345678901234567890",
		"1" + strings.Repeat("0", 400)} {
		if m, err := aaep.Decode([]byte(strings.Replace(`{`+reply+`,"response":`+text+`}`, "confirmation",
			"clarification", 1))); err == nil {
			t.Errorf("%s is read as %v", text, m.(*aaep.ClarificationReply).Response)
		}
	}
}

// D-04: the three spellings of every core type are one type.
func TestDecodeThreeSpellings(t *testing.T) {
	for _, p := range allPayloads() {
		data, err := aaep.Encode(newEvent(p))
		if err != nil {
			t.Fatal(err)
		}
		short := string(p.EventType())
		for _, base := range []string{"aaep:", "https://aaep-protocol.org/types/",
			"https://aaep-protocol.org/vocab/v1#"} {
			m, err := aaep.Decode([]byte(strings.Replace(string(data), short, base+short[len("aaep:"):], 1)))
			if err != nil {
				t.Errorf("%s%s: %v", base, short, err)
				continue
			}
			if e := m.(*aaep.Event); e.Type() != p.EventType() {
				t.Errorf("%s%s is read as %s", base, short, e.Type())
			}
		}
	}
}

// §3.9, §12.6, D-05, D-07, D-13: what we do not know is kept and nothing is lost for it.
func TestDecodeIsLiberal(t *testing.T) {
	read := func(data string) *aaep.Event {
		t.Helper()
		m, err := aaep.Decode([]byte(data))
		if err != nil {
			t.Fatalf("Decode(%s) = %v", data, err)
		}
		return m.(*aaep.Event)
	}
	for _, typ := range []string{"medai:vitals", "aaep:agent.purple.flamingo", "vitals", "https://example.org/vitals"} {
		e := read(eventJSON(typ, `,"summary_normal":"Pulse 60.","urgency":"critical","pulse": {"bpm": 60.0}`))
		if e.Type() != aaep.Type(typ) || !e.Critical() || e.Text(aaep.VerbosityTerse) != "Pulse 60." {
			t.Errorf("%s is read as %+v", typ, e)
		}
		if got, want := string(e.Unknown), `{"pulse":{"bpm": 60.0}}`; compactJSON(t, got) != compactJSON(t, want) {
			t.Errorf("%s: unknown members %s, want %s", typ, got, want)
		}
	}
	e := read(eventJSON("aaep:agent.tool.completed",
		`,"tool":"fs/read","status":"cancelled","urgency":"loud","verbosity":"epic","custom":null,"Status":"success"`))
	if p := e.Payload.(*aaep.ToolCompleted); p.Status != aaep.ToolError || p.Tool != "fs/read" ||
		e.Urgency != aaep.UrgencyNormal || e.Verbosity != aaep.VerbosityNormal {
		t.Errorf("unknown values are not mapped: %+v %+v", e, p)
	}
	if got := compactJSON(t, string(e.Unknown)); got != `{"custom":null,"Status":"success"}` {
		t.Errorf("unknown members %s", got)
	}
	if e := read(eventJSON("aaep:agent.session.errored", `,"error_category":"x"`)); !e.Critical() { // D-18
		t.Error("an error without urgency is not critical")
	}
	if e := read(" \t\r\n" + eventJSON("aaep:agent.progress.updated",
		`,"progress":{"percent":3e1,"step":2.0},"eta_ms":300.0`) + "\r\n"); // D-14
	*e.Payload.(*aaep.ProgressUpdated).ETAMS != 300 || e.Payload.(*aaep.ProgressUpdated).Progress.Step != 2 {
		t.Errorf("300.0 is read as %+v", e.Payload)
	}
	// VER-004, D-13: an unknown reason code is read as it is.
	m, err := aaep.Decode([]byte(`{"type":"subscription.rejected","reason_code":"quota","later":1}`))
	if err != nil || m.(*aaep.SubscriptionRejected).ReasonCode != "quota" {
		t.Errorf("a newer rejection: %v, %v", m, err)
	}
	for _, data := range []string{ // D-44: the id is another's
		`{"type":"subscription.renegotiate","subscription_id":"sub_quickstart-demo","capabilities":{}}`,
		`{"type":"subscription.close","subscription_id":"7"}`,
	} {
		if m, err := aaep.Decode([]byte(data)); err != nil || aaep.Validate(m) != nil &&
			strings.Contains(data, "renegotiate") {
			t.Errorf("Decode(%s) = %v", data, err)
		}
	}
}

// compactJSON returns a JSON text without blanks.
func compactJSON(t *testing.T, s string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return strings.NewReplacer(" ", "").Replace(s)
}

// D-09: up to 9 digits of fraction, both cases, any offset, leap seconds; and nothing that RFC 3339
// does not know.
func TestParseTimestamp(t *testing.T) {
	at := time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"2026-07-01T09:30:00Z":           at,
		"2026-07-01t09:30:00.0z":         at,
		"2026-07-01T11:30:00.12+02:00":   at.Add(120 * time.Millisecond),
		"2026-07-01T09:30:00.123456789Z": at.Add(123456789),
		"2026-07-01T09:30:00-00:00":      at,
		"2016-12-31T23:59:60Z":           time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
		"2016-12-31T23:59:60.5Z":         time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
		"2017-01-01T01:59:60+02:00":      time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
		"0000-01-01T00:00:00Z":           time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"9999-12-31T23:59:59.999Z":       time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		"2024-02-29T00:00:00Z":           time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
	} {
		if got, ok := aaep.ParseTimestamp(s); !ok || !got.Equal(want) {
			t.Errorf("ParseTimestamp(%q) = %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", "2026-07-01", "2026-07-01 09:30:00Z", "2026-07-01T09:30:00", "2026-07-01T9:30:00Z", "2026-07-01T09:30Z",
		"2026-07-01T09:30:00,5Z", "2026-07-01T09:30:00.Z", "2026-07-01T09:30:00.1234567891Z",
		"2026-07-01T09:30:00.1000000000Z", "2026-07-01T09:30:00." + strings.Repeat("0", 100_000) + "Z",
		"2026-07-01T09:30:00+2", "2026-07-01T09:30:00+24:00",
		"2026-07-01T09:30:00+02:60", "2026-07-01T24:00:00Z", "2026-07-01T09:30:61Z", "2026-13-01T09:30:00Z",
		"2026-02-29T09:30:00Z",
		"2026-07-01T09:30:00Z\n", " 2026-07-01T09:30:00Z", "+2026-07-01T09:30:00Z", "20260701T093000Z",
		"２026-07-01T09:30:00Z",
		"0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z",
	} {
		if got, ok := aaep.ParseTimestamp(s); ok {
			t.Errorf("ParseTimestamp(%q) = %v, want it refused", s, got)
		}
	}
	for want, at := range map[string]time.Time{
		"2026-07-01T09:30:00.000Z":    at.In(time.FixedZone("", 7200)),
		"2026-07-01T09:30:00.120Z":    at.Add(120 * time.Millisecond),
		"2026-07-01T09:30:00.000001Z": at.Add(1999 * time.Nanosecond),
		"2026-07-01T09:30:00.999Z":    at.Add(999000999),
	} {
		if got := aaep.FormatTimestamp(at); got != want {
			t.Errorf("FormatTimestamp(%v) = %s, want %s", at, got, want)
		}
	}
}

// D-04: what a subscriber wants to be told of is found, however it spells the types.
func TestDecodePatterns(t *testing.T) {
	const filters = `{"event_filters":{"include":["https://aaep-protocol.org/types/agent.tool.*","medai:*"],"exclude":["https://aaep-protocol.org/vocab/v1#agent.progress.updated","https://example.org/types/agent.x"]}}`
	for _, text := range []string{
		`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"reader","capabilities":` + filters +
			`}`,
		`{"type":"subscription.renegotiate","subscription_id":"sub_1","capabilities":` + filters + `}`,
	} {
		m, err := aaep.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var c aaep.Capabilities
		switch m := m.(type) {
		case *aaep.SubscriptionRequest:
			c = m.Capabilities
		case *aaep.SubscriptionRenegotiate:
			c = m.Capabilities
		}
		want := &aaep.EventFilters{Include: []string{"aaep:agent.tool.*", "medai:*"},
			Exclude: []string{"aaep:agent.progress.updated", "https://example.org/types/agent.x"}}
		if !reflect.DeepEqual(c.EventFilters, want) {
			t.Errorf("%s: %+v", m.MessageType(), c.EventFilters)
		}
	}
}
