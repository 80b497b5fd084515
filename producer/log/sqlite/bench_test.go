package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/log"
)

const writers = 64

// text makes an event of about 600 bytes.
var text = strings.Repeat("The agent says what it does. ", 7)

// BenchmarkAppend is how many events a second 64 writers can have kept, each of which waits for its own: by the log with
// what the store survives, and by SQLite alone with the same rows, in the same transactions of 64. Compare the ratios of
// one run.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range []struct {
		name, sync string
		opts       Options
	}{{"power-cut", "FULL", Options{}}, {"crash", "NORMAL", Options{SurvivesCrash: true}}} {
		b.Run(mode.name+"/log", func(b *testing.B) {
			s, err := Open(b.TempDir(), &mode.opts)
			must(b, err)
			defer s.Close()
			l, err := log.Open(s, 4096)
			must(b, err)
			defer l.Close()
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						l.Wait(l.Append(&aaep.Event{AAEPVersion: aaep.Version, SessionID: "sess_0123456789abcdef0123456789abcdef", Verbosity: aaep.VerbosityNormal,
							Producer: aaep.Producer{AgentID: "planner", AgentName: "Planner"}, Urgency: aaep.UrgencyNormal, Summary: aaep.Say(text),
							Payload: &aaep.OutputStreaming{Chunk: text[:100], OutputID: "out_0123456789abcdef0123456789abcdef"}}))
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
		b.Run(mode.name+"/sqlite", func(b *testing.B) {
			db, err := connect(filepath.Join(b.TempDir(), "bare.db"))
			must(b, err)
			defer db.Close()
			ctx := context.Background()
			conn, err := db.Conn(ctx)
			must(b, err)
			defer conn.Close()
			for _, statement := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + mode.sync,
				"CREATE TABLE events (pos INTEGER PRIMARY KEY, at INTEGER NOT NULL, data BLOB NOT NULL)"} {
				_, err := conn.ExecContext(ctx, statement)
				must(b, err)
			}
			add, err := conn.PrepareContext(ctx, "INSERT INTO events VALUES (?, ?, ?)")
			must(b, err)
			defer add.Close()
			record := []byte(strings.Repeat("x", 600))
			b.ResetTimer()
			for done := 0; done < b.N; {
				_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
				must(b, err)
				for range min(writers, b.N-done) {
					done++
					_, err := add.ExecContext(ctx, done, 1, record)
					must(b, err)
				}
				_, err = conn.ExecContext(ctx, "COMMIT")
				must(b, err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkRead is 64 events after a cursor.
func BenchmarkRead(b *testing.B) {
	s := opened(b, b.TempDir())
	for range 200 {
		var records [][]byte
		for range 64 {
			records = append(records, []byte(strings.Repeat("x", 600)))
		}
		must(b, s.Append(records))
	}
	cursor := uint64(0)
	for b.Loop() {
		if records, err := s.Read(cursor, 64); err != nil || len(records) != 64 {
			b.Fatal(len(records), err)
		}
		cursor = (cursor + 64) % 12000
	}
}
