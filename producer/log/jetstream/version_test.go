package jetstream_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/producer/log/jetstream"
)

// A server that is too old is named as that, at once; without the error an agent says that it
// serves, and no listener gets in.
func TestOldServer(t *testing.T) {
	for version, old := range map[string]bool{"2.10.22": true, "2.9.0": true, "1.4.1": true, "2.12.0": false, "3.0.0": false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() { // it greets, answers pings, and has no streams
			defer close(served)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "INFO {\"server_id\":\"old\",\"version\":%q,\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n", version)
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				switch verb, _, _ := strings.Cut(lines.Text(), " "); verb {
				case "PING":
					fmt.Fprint(conn, "PONG\r\n")
				case "PUB", "HPUB": // the first request: the server was not refused
					cancel()
					return
				}
			}
		}()
		cluster, err := jetstream.Dial(ctx, "nats://"+l.Addr().String(), jetstream.Options{})
		cancel()
		l.Close()
		<-served
		if err == nil {
			cluster.Close()
		}
		want := "the NATS server is version " + version + "; 2.12 or later is needed"
		if refused := err != nil && err.Error() == want; refused != old {
			t.Errorf("version %s: %v", version, err)
		}
	}
}
