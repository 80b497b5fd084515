package sqlite_test

import (
	"context"
	"fmt"
	"os"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// An agent runs twice with one log: the second time it has not forgotten what it said the first
// time.
func Example() {
	dir, err := os.MkdirTemp("", "log")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for range 2 {
		kept, err := sqlite.Open(dir, sqlite.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		_, end := kept.Bounds()
		fmt.Println(end, "events so far")
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, Log: kept})
		if err != nil {
			fmt.Println(err)
			return
		}
		s, err := p.StartSession(context.Background(), aaep.Say("Planning."))
		if err == nil {
			err = s.Complete(aaep.Say("Done."))
		}
		fmt.Println(err, p.Shutdown(context.Background()), kept.Close())
	}
	// Output:
	// 0 events so far
	// <nil> <nil> <nil>
	// 3 events so far
	// <nil> <nil> <nil>
}
