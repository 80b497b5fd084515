package jetstream_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/jetstream"
)

// The agent's process, and any other that serves its listeners.
func Example() {
	agent := func(ctx context.Context, cluster *jetstream.Cluster) (*producer.Producer, error) {
		kept, err := cluster.Open(ctx, "planner")
		if err != nil {
			return nil, err
		}
		return producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, Log: kept})
	}
	other := func(ctx context.Context, cluster *jetstream.Cluster) (*producer.Producer, error) {
		feed, err := cluster.Follow(ctx, "planner")
		if err != nil {
			return nil, err
		}
		return producer.New(producer.Config{Follow: feed})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	cluster, err := jetstream.Dial(ctx, "nats://127.0.0.1:1", jetstream.Options{}) // where no server is
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	fmt.Println(agent(ctx, cluster))
	fmt.Println(other(ctx, cluster))
	// Output: cannot reach NATS at nats://127.0.0.1:1: nothing answers there
}
