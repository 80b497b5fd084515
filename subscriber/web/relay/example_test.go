package relay_test

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web/relay"
	"github.com/aaep-go/aaep/transports/sse"
)

// A page on this machine for an agent elsewhere. A real one has Credentials or TLS in its Dialer,
// which the page never sees.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := relay.New(sse.Dialer{URL: "https://agent.example"}, subscriber.Config{ID: "my-page"})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, ln) }()

	resp, err := http.Get("http://" + ln.Addr().String() + r.Path()) // what its user opens
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	cancel()
	fmt.Println(<-ended)
	// Output:
	// 200 OK text/html; charset=utf-8
	// <nil>
}
