package grpc_test

import (
	"io"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

const relayVariable = "AAEP_TEST_RELAY"

// carry is what the child of relay does.
func carry(path string) {
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
		carry(path)
		return
	}
	goleak.VerifyTestMain(m)
}
