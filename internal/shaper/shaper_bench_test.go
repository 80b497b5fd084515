package shaper

import (
	"strconv"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

func benchID(pos uint64, offset int, form uint32) string {
	return "evt_" + strconv.FormatUint(pos, 10) + "x" + strconv.Itoa(offset)
}

// BenchmarkShaper pushes and pops: one operation is one event of the log, but where its name says
// otherwise.
func BenchmarkShaper(b *testing.B) {
	tokens := []string{"The ", "report ", "is ", "ready", ". ", "It ", "has ", "12 ", "pages", ".\n\n"}
	drain := func(s *Shaper, now time.Time) {
		for {
			if out, _ := s.Pop(now); out.Event == nil {
				return
			}
		}
	}
	stream := func(rate int64, cut aaep.Boundary) func(*testing.B) {
		return func(b *testing.B) {
			w, log := newWriter(), []*aaep.Event{}
			for i := range 1000 {
				log = append(log, w.say(tokens[i%len(tokens)]))
			}
			s, now := New(paced(rate, cut), benchID), harnessStart
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(20 * time.Millisecond) // 50 tokens a second
				s.Push(now, Entry{Pos: uint64(i + 1), Event: log[i%len(log)]})
				drain(s, now)
			}
		}
	}
	b.Run("word", stream(0, word))
	b.Run("sentence", stream(0, sentence))
	b.Run("sentence, 1 per second", stream(1, sentence))
	b.Run("word, 1 per second", stream(1, word))
	b.Run("a whole answer, a character at a time", func(b *testing.B) {
		const letters = 16_000
		w, log := newWriter(), []*aaep.Event{}
		for range letters - 1 {
			log = append(log, w.say("a"))
		}
		log = append(log, w.close("."))
		for b.Loop() {
			s := New(paced(0, aaep.BoundaryCompletion), benchID)
			for pos, ev := range log {
				s.Push(harnessStart, Entry{Pos: uint64(pos + 1), Event: ev})
			}
			drain(s, harnessStart)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/letters, "ns/character")
	})
	b.Run("64 tools", func(b *testing.B) {
		s, now, ev := New(paced(1000, sentence), benchID), harnessStart, tool("search")
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.Push(now, Entry{Pos: uint64(i + 1), Event: ev})
			if i%64 == 63 {
				drain(s, now)
				now = now.Add(100 * time.Millisecond)
			}
		}
	})
	b.Run("64 tools, 1024 waiting", func(b *testing.B) {
		s, now, ev := New(paced(640, sentence), benchID), harnessStart, tool("search")
		for i := range 1024 + 640 {
			s.Push(now, Entry{Pos: uint64(i + 1), Event: ev})
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.Push(now, Entry{Pos: uint64(i + 2000), Event: ev})
			if i%64 == 63 {
				drain(s, now)
				now = now.Add(100 * time.Millisecond)
			}
		}
	})
}

// BenchmarkThousandListeners says what share of one core a stream of 100 tokens a second costs for
// 1,000 listeners at three events a second. One operation is one token for all of them.
func BenchmarkThousandListeners(b *testing.B) {
	tokens := []string{"The ", "report ", "is ", "ready", ". ", "It ", "has ", "12 ", "pages", ".\n\n"}
	var listeners [1000]*Shaper
	for i := range listeners {
		listeners[i] = New(paced(3, sentence), benchID)
	}
	w, now := newWriter(), harnessStart
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(10 * time.Millisecond)
		ev := w.say(tokens[i%len(tokens)])
		for _, s := range listeners {
			s.Push(now, Entry{Pos: uint64(i + 1), Event: ev})
			for out, _ := s.Pop(now); out.Event != nil; out, _ = s.Pop(now) {
			}
		}
	}
	const tokensPerSecond = 100
	b.ReportMetric(100*tokensPerSecond*b.Elapsed().Seconds()/float64(b.N), "%core")
}

// BenchmarkIdleListener says how many bytes a listener takes that waits in the middle of a session.
func BenchmarkIdleListener(b *testing.B) {
	ev := tool("search")
	b.ReportAllocs()
	for b.Loop() {
		s := New(paced(3, sentence), benchID)
		s.Push(harnessStart, Entry{Pos: 1, Event: ev})
		s.Pop(harnessStart)
	}
}
