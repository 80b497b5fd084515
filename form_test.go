package aaep_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// isValid reports whether an event with this edit passes Validate.
func isValid(edit func(*aaep.Event)) bool { return aaep.Validate(startedEvent(edit)) == nil }

// RFC 3986: ASCII, a scheme and something after it.
func TestURI(t *testing.T) {
	for s, want := range map[string]bool{
		"https://example.org/a?b=c&d#e/f?g": true, "http://127.0.0.1:8080": true, "http://[::1]:8080/x": true,
		"https://u:p@h/": true,
		"urn:example:a":  true, "mailto:a@b.example": true, "file:///a": true, "data:,x": true, "a+b-c.d:e": true,
		"https://example.org/%C3%A9": true,
		"x:/":                        true, "tag:a,2026:b": true,

		"":  true, // absent
		":": false, "a": false, "a:": false, "https:": false, "https://": false, "https://?q": false,
		"https://#f": false, "/a/b": false,
		"//host/a": false, "1a:b": false, "a b:c": false, "https://example.org/a b": false,
		"https://example.org/é": false,
		"https://exämple.org/":  false, "https://example.org/\n": false, "https://example.org/<": false,
		"https://example.org/%":   false,
		"https://example.org/%zz": false, "https://example.org/%4": false, "https://example.org/#a#b": false,
		"https://example.org/[a]": false,
		"urn:[a]":                 false, "http://[::1/": false, "http://h:port/": false, "x:?q": false, "x:#f": false,
		"https://example.org/\\": false, "a:\"": false,
	} {
		if got := isValid(func(e *aaep.Event) { e.Producer.ManifestURI = s }); got != want {
			t.Errorf("URI %q passes: %v, want %v", s, got, want)
		}
	}
}

// VER-001: a version is three numbers with full stops between, and a word of its own after a
// hyphen.
func TestVersionForm(t *testing.T) {
	for s, want := range map[string]bool{
		"1.0.0": true, "10.20.30": true, "1.0.0-rc.1": true, "1.0.0-a-b": true, "": true, // absent
		"1": false, "1.0": false, "1.0.0.0": false, "1..0": false, ".1.0": false, "1.0.": false, "v1.0.0": false,
		"1.0.0-": false, "1.0.0-rc_1": false,
		"1.0.0+b": false, "1.0.0\n": false, "１.0.0": false,
	} {
		if got := isValid(func(e *aaep.Event) { e.AAEPVersion = s }); got != want {
			t.Errorf("version %q passes: %v, want %v", s, got, want)
		}
	}
}

// A script is four letters as ISO 15924 writes them, or nothing.
func TestScriptForm(t *testing.T) {
	for s, want := range map[string]bool{"Latn": true, "Hant": true, "": true, "latn": false, "LATN": false,
		"Lat": false, "Latin": false, "Lat1": false, "Éatn": false} {
		if got := isValid(func(e *aaep.Event) { e.LocalizationHints = &aaep.LocalizationHints{Script: s} }); got != want {
			t.Errorf("script %q passes: %v, want %v", s, got, want)
		}
	}
}

// A list may have 256 entries, and none of them twice.
func TestRepeatsInLongLists(t *testing.T) {
	var tools []string
	for i := range 256 {
		tools = append(tools, strings.Repeat("t", i+1))
	}
	if err := aaep.Validate(newEvent(&aaep.SessionStarted{ToolsAvailable: tools})); err != nil {
		t.Error(err)
	}
	for _, list := range [][]string{append(tools, "more"), append(tools[:255:255], "t"), {"t", "t"}} {
		if aaep.Validate(newEvent(&aaep.SessionStarted{ToolsAvailable: list})) == nil {
			t.Errorf("%d tools with a repeat, or too many, pass", len(list))
		}
	}
}

// INV-33: names that a lax reader would take for a known one.
func TestNameThatDiffersInCase(t *testing.T) {
	for _, c := range []struct{ message, member string }{
		{`"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"s","capabilities":{}`, `Extensions`},
		{`"type":"subscription.accepted","subscription_id":"s","aaep_version":"1.0.0","producer":{"agent_id":"a"},"honored_capabilities":{}`, `signed_manifeſt`},
		{`"type":"subscription.rejected","reason_code":"rate_limit"`, `retry_after_seconds\u0000`},
		{`"type":"subscription.renegotiate","subscription_id":"s","capabilities":{}`, ` capabilities`},
		{`"type":"subscription.close","subscription_id":"s"`, `REASON_CODE\t`},
	} {
		_, err := aaep.Decode([]byte("{" + c.message + `,"` + c.member + `":1}`))
		if err == nil || !strings.Contains(err.Error(), "names are case-sensitive") {
			t.Errorf("%s: %v", c.member, err)
		}
		if _, err := aaep.Decode([]byte("{" + c.message + `,"` + strings.Repeat("x", 1000) +
			`":1,"later":2}`)); err != nil {
			t.Errorf("unknown members: %v", err)
		}
	}
}

// INV-33: within capabilities too. A rate that is asked for in capitals would be none, and
// everything would come at once.
func TestNameThatDiffersInCaseInCapabilities(t *testing.T) {
	const request, accepted = `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"s","capabilities":%s}`,
		`{"type":"subscription.accepted","subscription_id":"s","aaep_version":"1.0.0","producer":%s,"honored_capabilities":%s}`
	for _, c := range []struct{ data, at string }{
		{fmt.Sprintf(request, `{"Max_Events_Per_Second":2}`), "/capabilities/Max_Events_Per_Second"},
		{fmt.Sprintf(request, `{"max_events_per_second":2,"ſupports_confirmation_reply":true}`),
			"/capabilities/ſupports_confirmation_reply"},
		{fmt.Sprintf(request, `{"event_filters":{"Include":["aaep:agent.session.*"]}}`),
			"/capabilities/event_filters/Include"},
		{`{"type":"subscription.renegotiate","subscription_id":"s","capabilities":{"LANGUAGES":{}}}`,
			"/capabilities/LANGUAGES"},
		{fmt.Sprintf(accepted, `{"agent_id":"a","Agent_Id":"b"}`, `{}`), "/producer/Agent_Id"},
		{fmt.Sprintf(accepted, `{"agent_id":"a"}`, `{" pace_wpm":100}`), "/honored_capabilities/ pace_wpm"},
	} {
		_, err := aaep.Decode([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(),
			c.at+": is not a member of this message; names are case-sensitive") {
			t.Errorf("%s: %v", c.data, err)
		}
	}
	for _, data := range []string{ // what is under the prefix of an extension is the extension's affair
		fmt.Sprintf(request, `{"medai":{"Languages":1,"producer":{"Agent_Id":1}},"producer":{"Model":1}}`),
		fmt.Sprintf(request, `{"event_filters":{"later":1}}`),
	} {
		if _, err := aaep.Decode([]byte(data)); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
}

type foreign struct{ *aaep.SessionStarted }

// MessageType names another type than that of the payload inside.
func (foreign) MessageType() string { return "subscription.close" }

// Interfaces can be had by embedding; what Encode writes cannot.
func TestForeignTypes(t *testing.T) {
	var invalid *aaep.InvalidError
	if _, err := aaep.Encode(foreign{}); !errors.As(err, &invalid) {
		t.Errorf("a message of another package: %v", err)
	}
	e := newEvent(foreign{&aaep.SessionStarted{}})
	if _, err := aaep.Encode(e); !errors.As(err, &invalid) {
		t.Errorf("a payload of another package: %v", err)
	}
	if _, err := e.MarshalJSON(); err == nil {
		t.Error("a payload of another package is written")
	}
	if _, err := (&aaep.Event{Context: []string{"\xff"},
		Payload: &aaep.ExtensionPayload{Type: "x:y"}}).MarshalJSON(); err == nil {
		t.Error("bytes that are not text are written")
	}
	if err := json.Unmarshal([]byte(`{"type":"x:y"}`), new(aaep.Event)); !errors.As(err, &invalid) {
		t.Errorf("json.Unmarshal of half an event: %v", err)
	}
}
