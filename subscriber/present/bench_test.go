package present_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// endless is a voice that speaks until it is cut, and tells when a critical utterance reached it.
type endless struct{ critical chan time.Time }

func (e endless) Present(ctx context.Context, u announce.Utterance) error {
	if u.Critical {
		e.critical <- time.Now()
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}
func (endless) Speaks(string) bool { return true }
func (endless) Close() error       { return nil }

// BenchmarkCritical measures how long it takes from a critical event's arrival until the voice that
// was speaking is asked to say it, while twenty agents talk.
func BenchmarkCritical(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	voice := endless{make(chan time.Time, 1)}
	p := present.New(announce.Preferences{})
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, voice) }()
	talk := func(agent int) {
		p.Add(fmt.Sprint("agent ", agent), &aaep.Event{SessionID: fmt.Sprint("sess_", agent), Payload: &aaep.OutputStreaming{Chunk: "One more sentence of a long answer. ", OutputID: "o",
			CoalesceHint: aaep.BoundarySentence}})
	}
	var delays []time.Duration
	for i := 0; b.Loop(); i++ {
		for agent := range 20 {
			talk(agent)
		}
		at := time.Now()
		p.Add("agent 7", &aaep.Event{SessionID: "sess_7", Payload: &aaep.HandoffRequested{Reason: "Help."}, Summary: aaep.Say("Help.")})
		for range 2 { // "Handover." and the reason
			delays = append(delays, (<-voice.critical).Sub(at))
			at = time.Now()
		}
	}
	cancel()
	<-done
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds()), "p99-µs")
}
