//go:build unix

package ipc_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aaep-go/aaep/transports/ipc"
)

// A producer and a subscriber of the same user meet at a socket. ipc.Path says where an agent's is.
func Example() {
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	listener, err := ipc.Listen(filepath.Join(dir, "aaep", "planner.sock"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	go func() { // the subscriber
		conn, err := ipc.Dialer{Path: listener.Addr()}.Dial(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		conn.Send(ctx, []byte(`{"type":"subscription.request"}`))
		conn.Close()
	}()
	conn, err := listener.Accept(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	msg, err := conn.Receive(ctx)
	fmt.Printf("%s %v\n", msg, err)
	_, err = conn.Receive(ctx)
	fmt.Println(err)
	// Output:
	// {"type":"subscription.request"} <nil>
	// EOF
}
