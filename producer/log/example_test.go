package log_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
)

// A memoryStore is a store of one's own. This one keeps everything, and survives a restart of the
// producer alone.
type memoryStore struct {
	mu      sync.Mutex
	records [][]byte
	meta    []byte
}

func (s *memoryStore) Bounds() (start, end uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 0, uint64(len(s.records))
}

func (s *memoryStore) Append(records [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, records...)
	return nil
}

func (s *memoryStore) Read(cursor uint64, n int) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cursor >= uint64(len(s.records)) {
		return nil, log.ErrTrimmed
	}
	rest := s.records[cursor:]
	return rest[:min(n, len(rest))], nil
}

func (s *memoryStore) Meta() ([]byte, error) { s.mu.Lock(); defer s.mu.Unlock(); return s.meta, nil }

func (s *memoryStore) SetMeta(meta []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta = meta
	return nil
}

// What the agent says before and after a restart is one log.
func Example() {
	kept, ctx := &memoryStore{}, context.Background()
	for range 2 {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner", AgentName: "Planner"},
			Log: kept})
		if err != nil {
			fmt.Println(err)
			return
		}
		s, err := p.StartSession(ctx, aaep.Say("Planning your week."))
		if err != nil {
			fmt.Println(err)
			return
		}
		s.Complete(aaep.Say("Planned."))
		p.Shutdown(ctx)
		_, end := kept.Bounds()
		fmt.Println("records:", end)
	}
	// Output:
	// records: 3
	// records: 6
}
