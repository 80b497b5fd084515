package serving

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/metrics"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/websocket"
)

// A file of tokens that was changed for a wrong one is in the log within ten seconds, though no
// client comes.
func TestChangedFilesAreLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "tokens")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("ada 0123456789abcdef0123456789abcdef\n")
		var talk bytes.Buffer
		s := &Flags{tokens: file, Seen: metrics.NewRequestCounts()}
		if _, err := s.newServer(t.Context(), &talk); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.watchFiles(ctx); close(done) }()
		write("ada short\n")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		stop()
		<-done
		if got := talk.String(); strings.Count(got, "a changed file is not used") != 1 || !strings.Contains(got, "line 1") {
			t.Errorf("the log has %q", got)
		}
		for _, refused := range s.Seen.Refused() {
			if refused != 0 {
				t.Errorf("a look counts as a request: %v", s.Seen.Refused())
			}
		}
	})
}

// Replies that are none, and those to a subscription that is not here, are in the log and counted,
// also where no credentials are asked for; a 400 says what is wrong.
func TestRefusedRepliesAreSeen(t *testing.T) {
	p, _ := clitest.AgentOf(t, producer.Config{})
	defer p.Shutdown(t.Context())
	var talk clitest.Buffer
	s := &Flags{Addrs: []string{"127.0.0.1:0"}, Seen: metrics.NewRequestCounts()}
	at, served, err := s.ServeEverywhere(t.Context(), func() (*producer.Producer, error) { return p, nil }, &talk)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]int{
		`{"type":"confirmation.reply"}`: 400,
		`{"type":"confirmation.reply","reply_token":"rpl_1","decision":"accept","subscription_id":"sub_1","timestamp":"2026-01-02T03:04:05Z"}`: 204,
	} {
		resp, err := http.Post(at[0].at+"/aaep/v1/replies", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == 400 && !strings.Contains(string(text), "decision") {
			t.Errorf("%s: %d %s", body, resp.StatusCode, text)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-served
	for _, reason := range []string{"malformed", "unknown_subscription"} {
		if s.Seen.Refused()[reason] != 1 {
			t.Errorf("counted: %v", s.Seen.Refused())
		}
	}
	for _, line := range []string{"a message cannot be read, and does not count", "a reply came for a subscription that is not here"} {
		if strings.Count(talk.String(), line) != 1 || strings.Count(talk.String(), "peer=127.0.0.1:") != 2 {
			t.Errorf("the log has %q", talk.String())
		}
	}
}

// TestRefusedRequestsAreSeen checks that requests which the producer never sees are counted by
// their reason, and in the log with the peer and, where it is known, the subscriber.
func TestRefusedRequestsAreSeen(t *testing.T) {
	s := &Flags{Addrs: []string{"127.0.0.1:0"}, Seen: metrics.NewRequestCounts()}
	p, _ := clitest.AgentOf(t, producer.Config{Observer: s.Seen})
	defer p.Shutdown(t.Context())
	var talk clitest.Buffer
	at, served, err := s.ServeEverywhere(t.Context(), func() (*producer.Producer, error) { return p, nil }, &talk)
	if err != nil {
		t.Fatal(err)
	}
	counted := func(reason string) int {
		return s.Seen.Refused()[reason]
	}
	for _, c := range []struct {
		method, path, body, header, value string
		status                            int
		reason, logged                    string
	}{
		{"POST", "/aaep/v1/subscriptions", `{"type":`, "", "", 400, "malformed", ""},
		{"POST", "/aaep/v1/subscriptions", `{"type":"subscription.request","subscriber_id":"orca"}`, "", "", 400, "malformed", "subscriber_id=orca"},
		{"POST", "/aaep/v1/subscriptions", strings.Repeat(" ", 1<<20+1), "", "", 413, "too_large", ""},
		{"POST", "/aaep/v1/replies", strings.Repeat(" ", 1<<20+1), "", "", 413, "too_large", ""},
		{"GET", "/aaep/v1/events?subscription_id=sub_0", "", "", "", 404, "unknown_stream", ""},
		{"POST", "/aaep/v1/subscriptions", `{}`, "Origin", "https://elsewhere.example", 403, "forbidden", "elsewhere.example"},
		{"GET", "/aaep/v1/ws", "", "Host", "elsewhere.example", 403, "forbidden", "elsewhere.example"},
		{"GET", "/.well-known/aaep-manifest.json", "", "Host", "elsewhere.example", 403, "forbidden", "elsewhere.example"},
	} {
		before, logged := counted(c.reason), talk.String()
		r, err := http.NewRequestWithContext(t.Context(), c.method, at[0].at+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		switch c.header {
		case "Host":
			r.Host = c.value
		case "Origin":
			r.Header.Set(c.header, c.value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		line := strings.TrimPrefix(talk.String(), logged)
		if resp.StatusCode != c.status || counted(c.reason) != before+1 || strings.Count(line, "\n") != 1 ||
			!strings.Contains(line, "request refused") || !strings.Contains(line, "peer=127.0.0.1:") ||
			!strings.Contains(line, "reason="+c.reason) || !strings.Contains(line, c.logged) {
			t.Errorf("%s %s: %d, counted %d, logged %q", c.method, c.path, resp.StatusCode, counted(c.reason)-before, line)
		}
	}
	for _, first := range []string{`{"type":`, `{"type":"subscription.close","subscription_id":"sub_0","reason_code":"unknown"}`} {
		before := counted("malformed")
		link, err := websocket.Dialer{URL: "ws" + strings.TrimPrefix(at[0].at, "http") + websocket.DefaultPath}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := link.Send(t.Context(), []byte(first)); err != nil {
			t.Fatal(err)
		}
		defer link.Close()
		if answer, err := link.Receive(t.Context()); err != nil || !strings.Contains(string(answer), `"unknown"`) {
			t.Errorf("%s is answered %s, %v", first, answer, err)
		}
		if n := counted("malformed") - before; n != 1 || counted("unknown") != 0 {
			t.Errorf("%s is counted: %v", first, s.Seen.Refused())
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-served
}
