package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"

	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
)

// A subscription over HTTP: the request, one event, and the end. Packages producer and subscriber
// do all this; a transport only carries it.
func Example() {
	ctx := context.Background()
	server := sse.NewServer(sse.ServerOptions{}) // for this machine only: no credentials are asked for
	host := httptest.NewServer(server)
	defer host.Close()

	go func() { // the producer
		conn, err := server.Accept(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer conn.Close()
		if _, err := conn.Receive(ctx); err != nil { // the subscription.request
			fmt.Println(err)
		}
		if err := conn.Send(ctx,
			[]byte(
				`{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0",`+
					`"producer":{"agent_id":"helper"},"honored_capabilities":{}}`)); err != nil {
			fmt.Println(err)
		}
		stream, err := conn.(transports.Resumable).NextStream(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := stream.SendEvents(ctx,
			[]transports.Event{{Message: []byte(`{"type":"aaep:agent.state.changed"}`), ID: "evt_1"}}); err != nil {
			fmt.Println(err)
		}
		if err := conn.Send(ctx, []byte(`{"type":"subscription.close","subscription_id":"sub_1"}`)); err != nil {
			fmt.Println(err)
		}
	}()

	conn, err := sse.Dialer{URL: host.URL}.Dial(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	if err := conn.Send(ctx,
		[]byte(
			`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"reader","capabilities":{}}`)); err != nil {
		fmt.Println(err)
	}
	for {
		msg, err := conn.Receive(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%.40s\n", msg)
	}
	// Output:
	// {"type":"subscription.accepted","subscri
	// {"type":"aaep:agent.state.changed"}
	// {"type":"subscription.close","subscripti
}
