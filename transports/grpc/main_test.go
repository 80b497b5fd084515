package grpc_test

import (
	"io"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

const relayVariable = "AAEP_TEST_RELAY"

// relayStreams copies the standard streams to and from the socket at path: it is the child of
// relayCommand.
func relayStreams(path string) {
	up, err := net.Dial("unix", path)
	if err != nil {
		os.Exit(1)
	}
	go func() {
		io.Copy(up, os.Stdin)
		up.(*net.UnixConn).CloseWrite()
	}()
	io.Copy(os.Stdout, up)
}

func TestMain(m *testing.M) {
	if path := os.Getenv(relayVariable); path != "" {
		relayStreams(path)
		return
	}
	goleak.VerifyTestMain(m)
}
