package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aaep-go/aaep/producer/log"
)

const (
	maxDropped = 500     // records that are dropped at once, while those to be added wait
	maxRead    = 1 << 20 // bytes that are read at once, more or less
)

// Bounds returns the bounds of what is committed, as log.Store demands.
func (s *Store) Bounds() (start, end uint64) { return s.start.Load(), s.end.Load() }

// Append adds records and drops those beyond the limits in one transaction, as log.Store demands.
// Without records it also gives room of the file back. The error is of no use to try again if the
// file was removed or moved away.
func (s *Store) Append(records [][]byte) error {
	if current, err := os.Stat(filepath.Join(s.dir, fileName)); err != nil || !os.SameFile(current, s.file) {
		return fmt.Errorf("the log in %s was removed or moved away while it was in use; restart to begin a new one",
			s.dir)
	}
	ctx := context.Background()
	cut, err := s.excessCursor(ctx, records)
	start, end, count := s.start.Load(), s.end.Load(), uint64(len(records))
	if err != nil || count == 0 && cut == start {
		return err
	}
	if err := s.execAll(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := s.writeRecords(ctx, records, start, end, cut); err != nil {
		_ = s.execAll(ctx, "ROLLBACK") // where SQLite has not done it
		s.start.Store(start)
		return err
	}
	s.end.Store(end + count)
	if cut == start {
		if s.oldest == 0 {
			s.oldest = s.logTime()
		}
		return nil
	}
	if count == 0 { // in a quiet moment; otherwise what is added takes the room
		if err := s.execAll(ctx, "PRAGMA incremental_vacuum(500)"); err != nil {
			return err
		}
	}
	return s.findOldest(ctx)
}

// writeRecords inserts records after end, drops those up to cut, and commits. The caller has begun
// the transaction, and takes it back after an error.
func (s *Store) writeRecords(ctx context.Context, records [][]byte, start, end, cut uint64) error {
	now := s.logTime()
	for i, r := range records {
		if _, err := s.add.ExecContext(ctx, int64(end+1)+int64(i), now, r); err != nil {
			return s.explainError(err)
		}
	}
	if cut > start {
		s.start.Store(cut) // before a reader can miss them
		if _, err := s.drop.ExecContext(ctx, int64(cut)); err != nil {
			return s.explainError(err)
		}
		if _, err := s.out.ExecContext(ctx, "UPDATE state SET start = ?", int64(cut)); err != nil {
			return s.explainError(err)
		}
	}
	return s.execAll(ctx, "COMMIT")
}

// excessCursor returns the cursor up to which records must be dropped, so that the limits hold once
// records are added; the start if none. It asks for no more than maxDropped at once.
func (s *Store) excessCursor(ctx context.Context, records [][]byte) (cut uint64, err error) {
	start, end := s.start.Load(), s.end.Load()
	cut = start
	if total, limit := end-start+uint64(len(records)), uint64(s.limits.Events); total > limit {
		cut += total - limit
	}
	if s.oldest > 0 && s.logTime()-s.oldest > s.limits.Age.Milliseconds() {
		var newestExpired uint64
		err := s.out.QueryRowContext(ctx, "SELECT ifnull(max(pos), 0) FROM events WHERE pos <= ? AND at < ?",
			int64(start+maxDropped), s.logTime()-s.limits.Age.Milliseconds()).Scan(&newestExpired)
		if err != nil {
			return 0, s.explainError(err)
		}
		cut = max(cut, newestExpired)
	}
	for _, r := range records {
		s.added += int64(len(r))
	}
	if s.added > s.limits.Bytes/64 || s.used > s.limits.Bytes || len(records) == 0 {
		s.added = 0
		err := s.out.QueryRowContext(ctx,
			"SELECT (SELECT * FROM pragma_page_size) * ((SELECT * FROM pragma_page_count) - (SELECT * FROM "+
				"pragma_freelist_count))").Scan(&s.used)
		if err != nil {
			return 0, s.explainError(err)
		}
	}
	if s.used > s.limits.Bytes {
		// A part of the records is dropped at a time: how many bytes each one frees is not known.
		cut = max(cut, start+(end-start)/16+1)
	}
	return min(cut, start+maxDropped, end), nil
}

// findOldest notes when the oldest record came, or zero if there is none.
func (s *Store) findOldest(ctx context.Context) error {
	err := s.out.QueryRowContext(ctx, "SELECT ifnull((SELECT at FROM events ORDER BY pos LIMIT 1), 0)").Scan(&s.oldest)
	if err != nil {
		return s.explainError(err)
	}
	return nil
}

// Read returns records after the cursor, as log.Store demands: at most n, and about maxRead bytes.
// log.ErrTrimmed says that the record behind the cursor is no longer kept.
func (s *Store) Read(cursor uint64, n int) ([][]byte, error) {
	end := s.end.Load() // what is committed is seen a moment before Bounds says so
	rows, err := s.db.Query("SELECT pos, data FROM events WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?",
		int64(cursor), int64(end), n)
	if err != nil {
		return nil, s.explainError(err)
	}
	defer rows.Close()
	var records [][]byte
	for size := 0; size < maxRead && rows.Next(); {
		var pos uint64
		var data []byte
		if err := rows.Scan(&pos, &data); err != nil {
			return nil, s.explainError(err)
		}
		if pos != cursor+1+uint64(len(records)) {
			return nil, log.ErrTrimmed
		}
		size += len(data)
		records = append(records, data)
	}
	switch err := rows.Err(); {
	case err != nil:
		return nil, s.explainError(err)
	case records == nil:
		return nil, log.ErrTrimmed
	}
	return records, nil
}

// Meta returns what SetMeta kept last, or nil.
func (s *Store) Meta() (data []byte, err error) {
	if err := s.db.QueryRow("SELECT meta FROM state").Scan(&data); err != nil {
		return nil, s.explainError(err)
	}
	return data, nil
}

// SetMeta keeps data as log.Store demands: it is on the disk when SetMeta returns, whatever
// Options.SurvivesCrash says.
func (s *Store) SetMeta(data []byte) (err error) {
	ctx := context.Background()
	if s.late {
		if err := s.execAll(ctx, "PRAGMA synchronous = FULL"); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				err = s.execAll(ctx, "PRAGMA synchronous = NORMAL")
			}
		}()
	}
	if _, err := s.out.ExecContext(ctx, "UPDATE state SET meta = ?", data); err != nil {
		return s.explainError(err)
	}
	return nil
}
