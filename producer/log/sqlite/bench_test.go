package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

const writers = 64

// text makes an event of about 600 bytes.
var text = strings.Repeat("The agent says what it does. ", 4)

// turn is how many events each of the two has kept before it is the other's turn.
const turn = 16 * writers

// BenchmarkAppend is how many events a second 64 writers can have kept, each of which waits for its
// own: by the log with what the store survives, and by SQLite alone with the same rows, in
// transactions of 64. The two take turns, one each for an op, so that what else the machine does
// meets them alike; × sqlite is the median of what the log does of SQLite's.
func BenchmarkAppend(b *testing.B) {
	all := log.Limits{Events: -1, Bytes: -1}
	for _, mode := range []struct {
		name, sync string
		opts       Options
	}{{"power-cut", "FULL", Options{Limits: all}}, {"crash", "NORMAL", Options{Limits: all, SurvivesCrash: true}}} {
		b.Run(mode.name, func(b *testing.B) {
			s, err := Open(b.TempDir(), mode.opts)
			requireNoError(b, err)
			defer s.Close()
			l, err := eventlog.Open(s, 4096, "")
			requireNoError(b, err)
			defer l.Close()
			ours := func() { appendAll(l) }
			ours()
			rows, err := s.Read(0, writers)
			requireNoError(b, err)
			bare := bareWriter(b, mode.sync, rows)
			bare()
			var ratios []float64
			var took [2]time.Duration
			for b.Loop() {
				began := time.Now()
				ours()
				between := time.Now()
				bare()
				a, c := between.Sub(began), time.Since(between)
				took[0], took[1] = took[0]+a, took[1]+c
				ratios = append(ratios, float64(c)/float64(a))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "×sqlite")
			b.ReportMetric(float64(turn*len(ratios))/took[0].Seconds(), "events/s")
			b.ReportMetric(float64(turn*len(ratios))/took[1].Seconds(), "sqlite-events/s")
		})
	}
}

// appendAll appends one event after the other from each of the writers, each when the one before
// can be read.
func appendAll(l *eventlog.Log) {
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range turn / writers {
				l.Wait(
					l.Append(&aaep.Event{AAEPVersion: aaep.Version, SessionID: "sess_0123456789abcdef0123456789abcdef",
						Verbosity: aaep.VerbosityNormal,
						Producer:  aaep.Agent{AgentID: "planner", AgentName: "Planner"}, Urgency: aaep.UrgencyNormal,
						Summary: aaep.Say(text),
						Payload: &aaep.OutputStreaming{Chunk: text[:50],
							OutputID: "out_0123456789abcdef0123456789abcdef"}}))
			}
		})
	}
	all.Wait()
}

// bareWriter returns what does the same to a file of its own, without a log to tell.
func bareWriter(b *testing.B, sync string, rows [][]byte) func() {
	db, err := openDB(filepath.Join(b.TempDir(), "bare.db"), "")
	requireNoError(b, err)
	b.Cleanup(func() { db.Close() })
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	requireNoError(b, err)
	b.Cleanup(func() { conn.Close() })
	for _, statement := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + sync,
		"CREATE TABLE events (pos INTEGER PRIMARY KEY, at INTEGER NOT NULL, data BLOB NOT NULL)"} {
		_, err := conn.ExecContext(ctx, statement)
		requireNoError(b, err)
	}
	add, err := conn.PrepareContext(ctx, "INSERT INTO events VALUES (?, ?, ?)")
	requireNoError(b, err)
	b.Cleanup(func() { add.Close() })
	pos := 0
	return func() {
		for range turn / len(rows) {
			_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
			requireNoError(b, err)
			for _, row := range rows {
				pos++
				_, err := add.ExecContext(ctx, pos, 1, row)
				requireNoError(b, err)
			}
			_, err = conn.ExecContext(ctx, "COMMIT")
			requireNoError(b, err)
		}
	}
}

// BenchmarkRead is 64 events after a cursor.
func BenchmarkRead(b *testing.B) {
	s := openStore(b, b.TempDir())
	for range 200 {
		var records [][]byte
		for range 64 {
			records = append(records, []byte(strings.Repeat("x", 600)))
		}
		requireNoError(b, s.Append(records))
	}
	cursor := uint64(0)
	for b.Loop() {
		if records, err := s.Read(cursor, 64); err != nil || len(records) != 64 {
			b.Fatal(len(records), err)
		}
		cursor = (cursor + 64) % 12000
	}
}
