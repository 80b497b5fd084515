package aaep_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/aaep-go/aaep"
	"pgregory.net/rapid"
)

// INV-34: decode(encode(m)) = m, and what Encode writes is one line.
func TestRoundTrip(t *testing.T) {
	for _, m := range everyMessage() {
		checkRoundTrip(t, m)
	}
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, genEvent(t)) })
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, genMessage(t)) })
}

// checkRoundTrip checks that m, written and read back, is m again, and is written as the same
// bytes.
func checkRoundTrip(t rapid.TB, m aaep.Message) {
	t.Helper()
	data, err := aaep.Encode(m)
	if err != nil {
		t.Fatalf("Encode(%s) = %v", m.MessageType(), err)
	}
	if bytes.ContainsAny(data, "\r\n") || len(data) > 65536 {
		t.Fatalf("Encode wrote %d bytes, or more than one line: %s", len(data), data)
	}
	got, err := aaep.Decode(data)
	if err != nil {
		t.Fatalf("Decode(%s) = %v", data, err)
	}
	if !reflect.DeepEqual(got, m) {
		t.Fatalf("%s\nread back as\n%#v\nwant\n%#v", data, got, m)
	}
	again, err := aaep.Encode(got)
	if err != nil || !bytes.Equal(again, data) {
		t.Fatalf("written again: %s, %v\nwant %s", again, err, data)
	}
}

// Encode keeps no part of a message and Decode no part of its input, and json.Marshal finds its way
// too.
func TestEventInEncodingJSON(t *testing.T) {
	want := newEvent(allPayloads()[9])
	data, err := json.Marshal(map[string]any{"event": want})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Event *aaep.Event }
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Event, want) {
		t.Errorf("got %v, want %v", got.Event, want)
	}
	if err := json.Unmarshal([]byte(`{"type":"subscription.close","subscription_id":"sub_1"}`), got.Event); err == nil {
		t.Error("a subscription.close is not an event")
	}
}

// A message shares nothing with the bytes that it was read from.
func TestDecodeKeepsNothing(t *testing.T) {
	for _, m := range everyMessage() {
		data, err := aaep.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := aaep.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			data[i] = 'x'
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("%s changed with the input: %#v", m.MessageType(), got)
		}
	}
}
