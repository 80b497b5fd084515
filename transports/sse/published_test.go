package sse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/sse"
)

const here = "http://localhost"

// requireNoError ends the test if err is not nil.
func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A reader hears what one kind of published client would: it splits at two line feeds, wants a
// space after the colon, gives up after 30 s in which nothing comes, and knows no handshake. An
// onmessage listener hears no event that has a name.
type reader struct {
	t     *testing.T
	last  string // what the browser sends again
	body  io.ReadCloser
	heard chan map[string]any
	err   chan error // holds one
	stop  context.CancelFunc
}

// openPublished opens the stream as a published client does. header has names and values in turn.
func openPublished(t *testing.T, client *http.Client, header ...string) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, here+"/events", nil)
	requireNoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	requireNoError(t, err)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("GET /events: %s %s %s", resp.Status, resp.Header.Get("Content-Type"), b)
	}
	r := &reader{t: t, body: resp.Body, heard: make(chan map[string]any, 256), err: make(chan error, 1), stop: cancel}
	go r.read()
	t.Cleanup(func() { cancel(); resp.Body.Close() })
	return r
}

// read is the goroutine that reads the stream as a published client does, until it ends.
func (r *reader) read() {
	defer close(r.heard)
	late := time.AfterFunc(30*time.Second, r.stop)
	defer late.Stop()
	var lines []string
	in := bufio.NewReader(r.body)
	for {
		line, err := in.ReadString('\n')
		late.Reset(30 * time.Second)
		if err != nil {
			r.err <- err
			return
		}
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			lines = append(lines, line)
			continue
		}
		named, data := false, ""
		for _, l := range lines {
			named = named || strings.HasPrefix(l, "event:")
			if id, ok := strings.CutPrefix(l, "id: "); ok {
				r.last = id
			}
			if part, ok := strings.CutPrefix(l, "data: "); ok {
				data += part
			}
		}
		lines = nil
		if data == "" || named {
			continue
		}
		var ev map[string]any
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			r.t.Errorf("data is not JSON: %q", data)
		}
		r.heard <- ev
	}
}

// nextOfType returns the next event of a type, whatever comes before it.
func (r *reader) nextOfType(typ aaep.Type) map[string]any {
	r.t.Helper()
	for {
		ev, ok := <-r.heard
		if !ok {
			r.t.Fatalf("the stream ended before %s: %v", typ, <-r.err)
		}
		if ev["type"] == string(typ) {
			return ev
		}
	}
}

// postMessage sends what a published client sends; they differ in how they write the time.
func postMessage(t *testing.T, client *http.Client, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, here+"/messages", strings.NewReader(body))
	requireNoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	requireNoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	requireNoError(t, err)
	return resp.StatusCode, string(b)
}

// postDecision answers the question ev as a published client does, with the time in this layout.
func postDecision(t *testing.T, client *http.Client, ev map[string]any, decision, layout string) {
	t.Helper()
	body := `{"type":"confirmation.reply","reply_token":"` + ev["reply_token"].(string) + `","timestamp":"` +
		time.Now().UTC().Format(layout) + `","decision":"` + decision + `"}`
	if status, answer := postMessage(t, client, body); status != 200 || answer != `{"status":"received"}` {
		t.Errorf("a reply got %d %s", status, answer)
	}
}

const (
	pythons = "2006-01-02T15:04:05.000000+00:00"
	pages   = "2006-01-02T15:04:05.000Z"
)

// answering are terms on which those who listen are asked.
var answering = aaep.Capabilities{SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}

// serveAgent serves a producer on the root layout.
func serveAgent(t *testing.T, terms aaep.Capabilities, cfg producer.Config) (*producer.Producer, *http.Client) {
	t.Helper()
	cfg.Agent, cfg.ShortTimeouts = aaep.Agent{AgentID: "agent"}, true
	p, err := producer.New(cfg)
	requireNoError(t, err)
	rs, err := sse.NewRootServer(sse.RootOptions{Capabilities: terms})
	requireNoError(t, err)
	client := sse.Bubble(t, rs)
	served := make(chan error, 1)
	go func() { served <- p.Serve(context.Background(), rs) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.Shutdown(ctx)
		<-served
	})
	return p, client
}

var pay = producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Action: aaep.Say("Pay $5."),
	Consequence: aaep.Say("The money is gone.")}

// startSession starts a session of p.
func startSession(t *testing.T, p *producer.Producer) *producer.Session {
	t.Helper()
	s, err := p.StartSession(context.Background(), aaep.Say("Paying."))
	requireNoError(t, err)
	return s
}

// runPayment starts a tool; the channel has its error and how often it ran.
func runPayment(s *producer.Session) <-chan result {
	done := make(chan result, 1)
	go func() {
		runs := 0
		_, err := s.Tool(context.Background(), pay, func(context.Context) (string, error) {
			runs++
			return "paid", nil
		})
		done <- result{runs, err}
	}()
	return done
}

type result struct {
	runs int
	err  error
}

// A published client hears a session, is asked, answers without naming a subscription, and hears
// the outcome. D-36, D-37, D-43, D-63, D-64, TR-014
func TestPublishedClient(t *testing.T) {
	for _, decision := range []string{"accept", "reject"} {
		synctest.Test(t, func(t *testing.T) {
			p, client := serveAgent(t, answering, producer.Config{})
			python, page := openPublished(t, client), openPublished(t, client, "Accept-Language", "fr-FR, de;q=0.5")
			s := startSession(t, p)
			python.nextOfType(aaep.TypeSessionStarted)
			page.nextOfType(aaep.TypeSessionStarted)
			done := runPayment(s)
			q := python.nextOfType(aaep.TypeAwaitingConfirmation)
			if other := page.nextOfType(aaep.TypeAwaitingConfirmation); other["reply_token"] != q["reply_token"] {
				t.Error("two listeners were asked two questions")
			}
			postDecision(t, client, q, decision, pythons)
			postDecision(t, client, q, "reject", pages) // too late
			postDecision(t, client, q, "accept", pages)
			got := <-done
			if (got.runs == 1) != (decision == "accept") || (got.err == nil) != (got.runs == 1) {
				t.Errorf("%s: the tool ran %d times, %v", decision, got.runs, got.err)
			}
			requireNoError(t, s.Complete(aaep.Say("Done.")))
			python.nextOfType(aaep.TypeSessionCompleted)
			page.nextOfType(aaep.TypeSessionCompleted)
		})
	}
}

// Without the operator's leave no client there is asked: the terms are the protocol's defaults.
// D-43, D-34, HS-002
func TestPublishedClientMayNotReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, client := serveAgent(t, aaep.Capabilities{}, producer.Config{})
		r := openPublished(t, client)
		s := startSession(t, p)
		if got := <-runPayment(s); got.runs != 0 || got.err == nil {
			t.Errorf("the tool ran %d times, %v", got.runs, got.err)
		}
		requireNoError(t, s.Complete(aaep.Say("Done.")))
		for ev := range r.heard {
			if ev["type"] == string(aaep.TypeAwaitingConfirmation) {
				t.Error("it was asked")
			}
			if ev["type"] == string(aaep.TypeSessionCompleted) {
				break
			}
		}
	})
}

// A reader that gives up after 30 s stays for as long as there is nothing to hear. SSE-018, D-65
func TestPublishedClientIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, client := serveAgent(t, answering, producer.Config{})
		r := openPublished(t, client)
		time.Sleep(10 * time.Minute) // virtual
		startSession(t, p)
		r.nextOfType(aaep.TypeSessionStarted)
	})
}

// An EventSource whose line was cut goes on after the last event it heard, also when its
// subscription is gone; one that comes without an id, or with an unknown one, is told how things
// stand first. SSE-013, SSE-014, SSE-017, D-65
func TestPublishedPageComesBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		away   time.Duration
		header string // none: the last event's
		missed bool
	}{
		{"at once", time.Second, "", true},
		{"too late", time.Minute, "", true},
		{"with another's id", time.Minute, "evt_1", false},
		{"without an id", time.Second, "-", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, client := serveAgent(t, answering, producer.Config{})
				r := openPublished(t, client)
				s := startSession(t, p)
				r.nextOfType(aaep.TypeSessionStarted)
				r.stop()
				for range r.heard { // to the end
				}
				for step := range int64(3) {
					requireNoError(t, s.Progress(aaep.Say("Working."), aaep.Progress{Step: step + 1}, 0))
				}
				time.Sleep(tt.away)
				var header []string
				switch tt.header {
				case "":
					header = []string{"Last-Event-ID", r.last}
				case "-":
				default:
					header = []string{"Last-Event-ID", tt.header}
				}
				again := openPublished(t, client, header...)
				requireNoError(t, s.Complete(aaep.Say("Done.")))
				var heard []string
				for ev := range again.heard {
					if heard = append(heard,
						strings.TrimPrefix(ev["type"].(string),
							"aaep:agent.")); heard[len(heard)-1] == "session.completed" {
						break
					}
				}
				if got := slices.Contains(heard, "progress.updated"); got != tt.missed || !tt.missed &&
					heard[0] != "state.changed" {
					t.Errorf("heard %v", heard)
				}
			})
		})
	}
}

// The producer's end is the end of the stream; no message follows that such a client could not
// place, and who comes after that is refused. D-55
func TestPublishedClientProducerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, client := serveAgent(t, answering, producer.Config{})
		r := openPublished(t, client)
		startSession(t, p)
		r.nextOfType(aaep.TypeSessionStarted)
		requireNoError(t, p.Shutdown(t.Context()))
		for ev := range r.heard {
			if !strings.HasPrefix(ev["type"].(string), "aaep:") {
				t.Errorf("heard %v", ev["type"])
			}
		}
		if err := <-r.err; !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v", err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, here+"/events", nil)
		requireNoError(t, err)
		resp, err := client.Do(req)
		requireNoError(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("GET /events: %s, want 503", resp.Status)
		}
	})
}
