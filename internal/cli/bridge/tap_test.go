package bridge

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Only programs of this machine get through a tap: no page, whatever name it has given this
// machine.
func TestTapRefusesPages(t *testing.T) {
	ln, err := listenForPrograms(t.Context(), "--at", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	ctx, end := context.WithCancel(t.Context())
	go func() {
		over <- servePrograms(ctx, ln, http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(204)
		}), nil)
	}()
	for _, tt := range []struct {
		host, origin string
		status       int
		says         string
	}{
		{"", "", 204, ""}, {"localhost:" + portOf(ln), "", 204, ""}, {"host.docker.internal:" + portOf(ln), "", 204, ""},
		{"evil.example:" + portOf(ln), "", 403, "its names are 127.0.0.1, localhost, "}, {"evil.example", "http://evil.example", 403, "its names are"},
		{"", "https://evil.example", 403, "no web page is allowed here, and no option changes that"}, {"", "null", 403, "no web page"},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+ln.Addr().String()+"/v1/chat/completions",
			strings.NewReader("{}"))
		if r.Host = tt.host; tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.says) || strings.Contains(string(body), "--") {
			t.Errorf("host %q, origin %q: %d %s, want %d and %q", tt.host, tt.origin, resp.StatusCode, body, tt.status, tt.says)
		}
	}
	end()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func portOf(ln net.Listener) string { return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port) }
