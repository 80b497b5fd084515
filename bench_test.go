package aaep_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// outputEvent returns an event of an output with some text, for benchmarks.
func outputEvent() *aaep.Event {
	return &aaep.Event{
		AAEPVersion: aaep.Version,
		EventID:     "evt_0123456789abcdef0123456789abcdef", SessionID: "sess_0123456789abcdef0123456789abcdef",
		Timestamp: time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC),
		Producer: aaep.Agent{AgentID: "retirement-planner", AgentVersion: "1.4.2",
			AgentName: "Retirement Planning Assistant"},
		Verbosity: aaep.VerbosityNormal, Urgency: aaep.UrgencyNormal,
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en-US", TextDirection: aaep.DirectionLTR},
		Payload: &aaep.OutputStreaming{
			Chunk: "Your balance is enough to retire in nine years. ", Position: 120,
			CoalesceHint: aaep.BoundarySentence,
			OutputID:     "out_0123456789abcdef0123456789abcdef", ContentType: "text/plain", Language: "en-US",
		},
	}
}

func BenchmarkValidate(b *testing.B) {
	e := outputEvent()
	b.ReportAllocs()
	for b.Loop() {
		if err := aaep.Validate(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	e := outputEvent()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := aaep.Encode(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := aaep.Encode(outputEvent())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := aaep.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlain is what the standard library takes for the same bytes, without looking at what
// they say.
func BenchmarkPlain(b *testing.B) {
	data, err := aaep.Encode(outputEvent())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode into a map", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var v map[string]any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode a map", func(b *testing.B) {
		var v map[string]any
		if err := json.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
