package delivery

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/internal/shield"
)

// shapes are n terms under which one event has n different forms.
func shapes(tb testing.TB, n int) (all []negotiation.Terms) {
	offer := negotiation.Offer{Languages: []string{"en", "es", "yo"}, Extensions: extensions.All()}
	for i := range n {
		caps := aaep.Capabilities{
			Languages:          []string{offer.Languages[i%3]},
			PreferredVerbosity: []aaep.Verbosity{aaep.VerbosityTerse, aaep.VerbosityNormal, aaep.VerbosityDetailed}[i/3%3],
		}
		if i >= 9 {
			if err := caps.AddExtension(extensions.HapticVocabulary, extensions.Haptic{PatternsSupported: []string{fmt.Sprint("pattern", i/9)}}); err != nil {
				tb.Fatal(err)
			}
		}
		terms, err := negotiation.Negotiate(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "x", Capabilities: caps}, offer)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, terms)
	}
	return all
}

// utterance returns the i-th event to encode.
func utterance(d *Dispatcher, i int) *aaep.Event {
	text := func(s string) aaep.Text {
		return aaep.Text{Terse: s, Normal: s + " is on.", Detailed: s + " is on, and on."}
	}
	ev := &aaep.Event{AAEPVersion: aaep.Version, SessionID: "sess_1", Timestamp: time.Unix(int64(i), 0).UTC(), Producer: aaep.Agent{AgentID: "bench", AgentName: "Bench"},
		Verbosity: aaep.VerbosityNormal, Urgency: aaep.UrgencyCritical, LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en", TextDirection: negotiation.Direction("en", "")}, Summary: text("The work"),
		Payload: &aaep.HandoffRequested{Reason: "Work.", TargetKind: aaep.TargetHuman}}
	for _, tag := range []string{"es", "yo"} {
		ev.Translations = append(ev.Translations, aaep.Translation{LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: tag, TextDirection: negotiation.Direction(tag, "")}, Summary: text(tag)})
	}
	d.Log.Append(ev)
	return ev
}

// quietDispatcher returns a Dispatcher without subscriptions, of an agent that is asked nothing.
func quietDispatcher() *Dispatcher {
	logger := slog.New(slog.DiscardHandler)
	return New(Config{Log: eventlog.New(10_000), Logger: logger, Shield: shield.New(logger), Serving: context.Background(),
		Receivers: new(sync.WaitGroup), Groups: new(sync.WaitGroup)})
}

// HS-086: what is encoded once for several is what each would have got alone.
func TestEncodedOnceIsTheSame(t *testing.T) {
	d := quietDispatcher()
	terms := shapes(t, 30)
	distinct := map[string]bool{}
	for round := range 2 { // the second time all is there already
		for i, tt := range terms {
			s := shaper.New(tt, d.eventID)
			ev := utterance(d, 1)
			ev.EventID = "evt_1"
			s.Push(time.Now(), shaper.Entry{Pos: 1, Event: ev})
			out, _ := s.Pop(time.Now())
			want, err := out.Event.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.encodeShaped(out)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("round %d, terms %d: %s, %v\nwant %s", round, i, got, err, want)
			}
			distinct[string(got)] = true
		}
	}
	if len(distinct) != len(terms) {
		t.Errorf("%d terms have %d shapes", len(terms), len(distinct))
	}
}

// P10: what is kept does not grow.
func TestEncodedIsBounded(t *testing.T) {
	d := quietDispatcher()
	s := shaper.New(shapes(t, 1)[0], d.eventID)
	for i := range 20000 {
		s.Push(time.Now(), shaper.Entry{Pos: uint64(i + 1), Event: utterance(d, i)})
		out, _ := s.Pop(time.Now())
		if _, err := d.encodeShaped(out); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for i := range d.encoded {
		for _, msg := range d.encoded[i].messages {
			total += len(msg)
		}
	}
	if most := len(d.encoded) * maxEncoded; total > most || total == 0 {
		t.Errorf("%d bytes are kept, want at most %d", total, most)
	}
}

// BenchmarkTailor measures one event for all subscriptions, from the log to encoded messages, in as
// many distinct shapes as there are; broadcast is the same event, encoded once and copied for each.
func BenchmarkTailor(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		for _, k := range []int{1, 3, 30} {
			if k > n {
				continue
			}
			b.Run(fmt.Sprintf("subscriptions=%d/shapes=%d", n, k), func(b *testing.B) {
				d := quietDispatcher()
				none := d.served.Swap(new(make([]*Subscription, n))) // encodeShaped looks at the number
				defer d.served.Store(none)
				terms := shapes(b, k)
				var shapers []*shaper.Shaper
				for i := range n {
					shapers = append(shapers, shaper.New(terms[i%k], d.eventID))
				}
				var sink bytes.Buffer
				now, pos := time.Now(), uint64(0)
				b.ReportAllocs()
				for b.Loop() {
					pos++
					ev := utterance(d, int(pos))
					for _, s := range shapers {
						s.Push(now, shaper.Entry{Pos: pos, Event: ev})
						out, _ := s.Pop(now)
						msg, err := d.encodeShaped(out)
						if err != nil {
							b.Fatal(err)
						}
						sink.Reset()
						sink.Write(msg)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delivery")
			})
		}
		b.Run(fmt.Sprintf("subscriptions=%d/broadcast", n), func(b *testing.B) {
			d := quietDispatcher()
			var sink bytes.Buffer
			pos := 0
			b.ReportAllocs()
			for b.Loop() {
				pos++
				msg, err := utterance(d, pos).MarshalJSON()
				if err != nil {
					b.Fatal(err)
				}
				for range n {
					sink.Reset()
					sink.Write(msg)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delivery")
		})
	}
}
