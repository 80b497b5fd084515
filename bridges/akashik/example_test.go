package akashik_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/producer"
)

func Example() {
	field := newField()
	field.level = 1 // it is asked, and does not push
	server := httptest.NewServer(field)
	defer server.Close()

	p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "lab"}, Languages: []string{"en"}})
	defer p.Shutdown(context.Background())
	bridge, err := akashik.New(p, akashik.Config{URL: server.URL, Events: []string{"memory.recorded"},
		Poll: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bridge.Close()
	ctx, cancel := context.WithCancel(context.Background())
	field.mu.Lock()
	asked := field.attuned
	field.mu.Unlock()
	go func() { <-asked; cancel() }()
	// Who follows p hears what is recorded.
	fmt.Println(bridge.Follow(ctx))
	// Output: context canceled
}
