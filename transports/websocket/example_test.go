package websocket_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	"github.com/aaep-go/aaep/transports/websocket"
)

// Both ends of one connection. Packages producer and subscriber do all this; a transport only
// carries it.
func Example() {
	ctx := context.Background()
	server := websocket.NewServer(websocket.ServerOptions{}) // for this machine only: no credentials are asked for
	host := httptest.NewServer(server)
	defer host.Close()

	go func() { // the producer
		conn, err := server.Accept(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		request, err := conn.Receive(ctx)
		fmt.Printf("the producer got %s, %v\n", request, err)
		conn.Send(ctx, []byte(`{"type":"subscription.close","subscription_id":"sub_1"}`))
		conn.Close()
	}()

	conn, err := websocket.Dialer{URL: "ws" + strings.TrimPrefix(host.URL, "http")}.Dial(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	conn.Send(ctx, []byte(`{"type":"subscription.request"}`))
	msg, err := conn.Receive(ctx)
	fmt.Printf("the subscriber got %s, %v\n", msg, err)
	_, err = conn.Receive(ctx)
	fmt.Println(err == io.EOF)
	// Output:
	// the producer got {"type":"subscription.request"}, <nil>
	// the subscriber got {"type":"subscription.close","subscription_id":"sub_1"}, <nil>
	// true
}
