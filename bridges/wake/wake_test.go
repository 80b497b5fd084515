package wake_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/wake"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

const (
	sub = "WAKE_SUB:1"
	key = "0123456789abcdef"
)

var keys = map[string][]string{sub: {key}}

// envelope is a wake with a place in the swarm's log, from now.
func envelope(kind string, log int, payload string) string {
	return fmt.Sprintf(`{"schemaVersion":"1.0","eventType":"wake/%s","eventId":"ev-%d","logId":%d,"agentIdentity":"@ada","subscriptionId":%q,"payload":%s,"emittedAt":%q}`,
		kind, log, log, sub, payload, time.Now().UTC().Format(time.RFC3339Nano))
}

func message(id int, subject string) string {
	return fmt.Sprintf(`{"messageId":"MESSAGE:%d","from":"@bob","subject":%q,"priority":"normal"}`, id, subject)
}

func task(id, state string) string {
	return fmt.Sprintf(`{"taskId":%q,"previousState":"Working","newState":%q,"assignee":"@bob"}`, id, state)
}

// request is a wake as the swarm's webhook delivery posts it.
func request(body, subscription, event, key string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	r.Header.Set("X-Neo-Wake-Signature", hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-Neo-Wake-Subscription-Id", subscription)
	r.Header.Set("X-Neo-Wake-Event-Id", event)
	return r
}

func post(b http.Handler, r *http.Request) int {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w.Code
}

func newBridge(t *testing.T, p *producer.Producer, cfg wake.Config) *wake.Bridge {
	t.Helper()
	if cfg.Keys == nil {
		cfg.Keys = keys
	}
	b, err := wake.New(p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ended closes a bridge and returns all that was heard of it.
func ended(t *testing.T, b *wake.Bridge, l *bridgetest.Listener) string {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	heard, ok := strings.CutSuffix(l.AwaitEnd(t, 1), "\nThese wakes end here.")
	if !ok {
		t.Errorf("heard no end: %q", heard)
	}
	return heard
}

// What is forged, changed, too long, repeated or of another is refused, and tells nothing.
func TestForgedWakes(t *testing.T) {
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	b := newBridge(t, p, wake.Config{Identity: "@ada", Seen: filepath.Join(t.TempDir(), "seen")})
	good := envelope("sent_to_me", 1, message(1, "Hello"))
	for _, test := range []struct {
		name string
		r    *http.Request
		want int
	}{
		{"a wrong key", request(good, sub, "ev-1", "fedcba9876543210"), 401},
		{"another subscription", request(good, "WAKE_SUB:2", "ev-1", key), 401},
		{"a changed event id", request(good, sub, "ev-2", key), 409},
		{"too long", request(strings.Repeat("x", 300<<10), sub, "ev-1", key), 413},
		{"no JSON", request("{", sub, "ev-1", key), 400},
		{"a member twice", request(strings.Replace(good, `"logId":1`, `"logId":1,"logId":2`, 1), sub, "ev-1", key),
			400},
		{"another protocol", request(strings.Replace(good, "wake/", "sleep/", 1), sub, "ev-1", key), 400},
		{"another version", request(strings.Replace(good, `"1.0"`, `"2.0"`, 1), sub, "ev-1", key), 400},
		{"another identity", request(strings.Replace(good, "@ada", "@eve", 1), sub, "ev-1", key), 409},
		{"good", request(good, sub, "ev-1", key), 202},
		{"repeated", request(good, sub, "ev-1", key), 200},
		{"replayed under a new id", request(strings.Replace(good, "ev-1", "ev-9", 1), sub, "ev-9", key), 200},
	} {
		if got := post(b, test.r); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
	flipped := request(good, sub, "ev-1", key)
	flipped.Body = io.NopCloser(strings.NewReader(strings.Replace(good, "Hello", "Hallo", 1)))
	unsigned := request(good, sub, "ev-1", key)
	unsigned.Header.Del("X-Neo-Wake-Signature")
	for _, r := range []*http.Request{flipped, unsigned} {
		if got := post(b, r); got != 401 {
			t.Errorf("a changed body or a missing signature: %d", got)
		}
	}
	if heard := ended(t, b, l); heard != "Wakes for @ada.\nMessage from @bob: Hello." {
		t.Errorf("heard %q", heard)
	}
}

// A captured request tells nothing after a restart, nor when its id is forgotten a day later.
func TestReplayedWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "seen")
		p := bridgetest.NewProducer(t)
		captured := envelope("sent_to_me", 1, message(1, "Hello"))
		for day, want := range []int{202, 200, 200, 200} {
			b := newBridge(t, p, wake.Config{Seen: file})
			if got := post(b, request(captured, sub, "ev-1", key)); got != want {
				t.Errorf("on day %d: %d, want %d", day, got, want)
			}
			b.Close()
			time.Sleep(time.Duration(day) * 24 * time.Hour)
		}
	})
}

// Each kind of wake is told in words; of a digest what it really counts; and what counts nothing is
// nothing.
func TestWords(t *testing.T) {
	for _, test := range []struct{ kind, payload, heard string }{
		{"sent_to_me", message(1, "Hello"), "Message from @bob: Hello."},
		{"sent_to_me", `{"messageId":"m","from":"@bob","subject":"All","isBroadcast":true,"priority":"high"}`,
			"Important. Message to all from @bob: All."},
		{"sent_to_me", `{"messageId":"m","isReplyTo":"x"}`, "Reply from a sender without a name: no subject."},
		{"sent_to_me", `{"messageId":"m","from":"@b\u001b[2J","subject":"a\u202eb\nYou: yes"}`,
			"Message from @b<U+001B>[2J: a<U+202E>b You: yes."},
		{"task_state_changed", task("t7", "Completed"), "Task t7 of @bob: completed, it was working."},
		{"permission_granted", `{"scope":"CAN_READ_INBOX_OF","grantedBy":"@bob"}`,
			"Permission from @bob: read their inbox."},
		{"dream", `{}`, "A wake of a kind that is not known here, dream."},
		{"heartbeat_pulse", `{"targetIdentity":"@ada"}`, ""},
		{"digest", `{"totalEvents":3,"breakdown":{"sent_to_me":{"count":2,"latest":` + message(2, "Newest") +
			`},"task_state_changed":{"count":1,"latest":` + task("t", "Failed") +
			`},"permission_granted":{"count":0,"latest":null}}}`,
			"3 wakes. 1 task change, the newest: Task t of @bob: failed, it was working. 2 messages, the newest: Message from @bob: Newest."},
		{"digest", `{"totalEvents":1,"breakdown":{"sent_to_me":{"count":1,"latest":` + message(2, "Alone") + `}}}`,
			"Message from @bob: Alone."},
		{"digest", `{"totalEvents":1,"breakdown":{"sent_to_me":{"count":0,"latest":null},"task_state_changed":{"count":0},"permission_granted":{"count":0}}}`, ""},
		{"digest", `{"totalEvents":7,"breakdown":{"sent_to_me":{"count":-7},"task_state_changed":{"count":0.5},"permission_granted":{"count":1e300}}}`, ""},
		{"digest", `{"totalEvents":5,"breakdown":{"sent_to_me":{"count":5}}}`, "5 wakes. 5 messages."},
		{"digest", `{}`, ""},
		{"digest", `{"totalEvents":1,"breakdown":{"task_state_changed":{"count":1,"latest":` +
			task("t", "AuthRequired") + `}}}`,
			"Task t of @bob: auth required, it was working. It waits for a person, and cannot be answered here."},
	} {
		p := bridgetest.NewProducer(t)
		l := bridgetest.Listen(t, p, nil)
		b := newBridge(t, p, wake.Config{})
		if got := post(b, request(envelope(test.kind, 1, test.payload), sub, "ev-1", key)); got != 202 {
			t.Errorf("%s %s: answered with %d", test.kind, test.payload, got)
		}
		if test.heard == "" {
			if n := p.Stats().Produced; n != 0 {
				t.Errorf("%s %s: %d events", test.kind, test.payload, n)
			}
			continue
		}
		if heard := ended(t, b, l); heard != "Wakes for @ada.\n"+test.heard {
			t.Errorf("%s %s: heard %q", test.kind, test.payload, heard)
		}
	}
}

// The first of a burst is told at once and the rest as one digest; three at most are told one by
// one; what a person is waited for is told at once; and the newest is that with the highest place
// in the log, in whichever order they come.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bridgetest.NewProducer(t)
		l := bridgetest.Listen(t, p, nil)
		b := newBridge(t, p, wake.Config{Window: 30 * time.Second})
		began := time.Now()
		n := 0
		send := func(kind string, log int, payload string) {
			n++
			if fresh, err := b.Take([]byte(envelope(kind, log, payload))); err != nil || !fresh {
				t.Fatalf("%s %d: %v, %v", kind, log, fresh, err)
			}
		}
		send("sent_to_me", 1, message(1, "First"))
		l.AwaitHeard(t, "First.")
		l.AwaitState(t, "Waiting for the next wake.")
		if took := time.Since(began); took != 0 {
			t.Errorf("the first was told after %v", took)
		}
		send("sent_to_me", 9, message(9, "Newest"))
		for log := 2; log < 9; log++ { // late, so that their order runs backwards
			send("sent_to_me", log, message(log, "Older"))
		}
		l.AwaitHeard(t, "8 wakes. 8 messages, the newest: Message from @bob: Newest.")
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("the digest was told after %v", took)
		}
		began = time.Now()
		send("sent_to_me", 10, message(10, "Before"))
		send("task_state_changed", 11, task("t", "InputRequired"))
		l.AwaitHeard(t, "It waits for a person, and cannot be answered here.")
		if took := time.Since(began); took > time.Second {
			t.Errorf("that somebody is waited for was told after %v", took)
		}
		l.AwaitState(t, "Waiting for the next wake.")
		heard := ended(t, b, l)
		if want := "Task t of @bob: input required, it was working. It waits for a person, and cannot be answered here."; strings.Count(heard, want) != 1 || !strings.Contains(heard, "Message from @bob: Before.") {
			t.Errorf("heard %q", heard)
		}
	})
}

// A swarm of 50 agents, each woken 20 times in a minute, has one voice: a sentence at once and one
// at the end of each window. What waits for a person is told at once all the same, by its name.
func TestSwarmOfFifty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bridgetest.NewProducer(t)
		l := bridgetest.Listen(t, p, nil)
		b := newBridge(t, p, wake.Config{Window: 30 * time.Second})
		as := func(agent int, wake string) {
			if _, err := b.Take([]byte(strings.Replace(wake, "@ada", fmt.Sprintf("@agent%d", agent), 1))); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for round := range 20 {
			for agent := range 50 {
				n++
				as(agent, envelope("sent_to_me", n, message(n, fmt.Sprint("News ", n))))
			}
			if round == 11 {
				began := time.Now()
				n++
				as(7, envelope("task_state_changed", n, task("t", "InputRequired")))
				l.AwaitHeard(t, "Task t of @bob: input required")
				if took := time.Since(began); took > time.Second {
					t.Errorf("what waits for a person was told after %v", took)
				}
			}
			time.Sleep(2900 * time.Millisecond)
		}
		time.Sleep(30 * time.Second)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		var heard []string
		for line := range strings.Lines(l.AwaitEnd(t, 3)) {
			if line = strings.TrimSpace(line); line != "These wakes end here." {
				heard = append(heard, line)
			}
		}
		want := []string{"Wakes for @agent0.", "Message from @bob: News 1.",
			"Wakes for the swarm.", "549 wakes for 50 agents. 549 messages, the newest: Message from @bob: News 550.",
			"Wakes for @agent7.", "Message from @bob: News 558.",
			"Task t of @bob: input required, it was working. It waits for a person, and cannot be answered here.",
			"449 wakes for 50 agents. 449 messages, the newest: Message from @bob: News 1001."}
		if !slices.Equal(heard, want) {
			t.Errorf("heard\n%s\nwant\n%s", strings.Join(heard, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Ten thousand wakes in a minute, from many connections at once, are heard as a handful of
// sentences, and each is counted once.
func TestFlood(t *testing.T) {
	const flood = 10_000
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	b := newBridge(t, p, wake.Config{Window: 5 * time.Minute, Logger: slog.New(slog.DiscardHandler)})
	bodies := make([]string, flood)
	for i := range bodies {
		bodies[i] = envelope("sent_to_me", i+1, message(i+1, "Again"))
	}
	began := time.Now()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := w; i < flood; i += 8 {
				if got := post(b, request(bodies[i], sub, fmt.Sprint("ev-", i+1), key)); got != 202 {
					t.Errorf("wake %d: %d", i, got)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d signed wakes were taken in %v", flood, time.Since(began).Round(time.Millisecond))
	heard := ended(t, b, l)
	if want := "9,999 wakes. 9,999 messages, the newest: Message from @bob: Again."; !strings.HasSuffix(heard, want) ||
		strings.Count(heard, "\n") != 2 {
		t.Errorf("heard %q", heard)
	}
}

// Of the kinds that are not wanted nothing is told, also where a digest counts them.
func TestOnly(t *testing.T) {
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	b := newBridge(t, p, wake.Config{Only: []string{"task_state_changed"}})
	for i, body := range []string{envelope("sent_to_me", 1, message(1, "No")), envelope("task_state_changed", 2,
		task("t", "Completed")),
		envelope("digest", 3, `{"breakdown":{"sent_to_me":{"count":4},"task_state_changed":{"count":2}}}`)} {
		if got := post(b, request(body, sub, fmt.Sprint("ev-", i+1), key)); got != 202 {
			t.Errorf("wake %d: %d", i, got)
		}
	}
	if heard := ended(t, b, l); heard != "Wakes for @ada.\nTask t of @bob: completed, it was working.\n2 wakes. 2 task changes." {
		t.Errorf("heard %q", heard)
	}
}

func TestReadKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	read := func(text string) (map[string][]string, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return wake.ReadKeys(file)
	}
	const two = "# keys\n\nWAKE_SUB:1 0123456789abcdef\nWAKE_SUB:1 fedcba9876543210\n"
	if got, err := read(two); err != nil || len(got[sub]) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "WAKE_SUB:1", "WAKE_SUB:1 short", "WAKE_SUB:1 0123456789abcdef more"} {
		if _, err := read(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	os.Chmod(file, 0o644)
	if _, err := read(two); runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), "chmod 600")) {
		t.Errorf("keys that others may read are taken: %v", err)
	}
}

// Neo's own code, as it is published on npm, wakes a listener in both ways in which it sends.
func TestNeo(t *testing.T) {
	dir := npmtest.Install(t, "testdata/neo")
	t.Run("webhook", func(t *testing.T) { testNeoSender(t, dir) })
	t.Run("notifications", func(t *testing.T) { testNeoNotifications(t, dir) })
}

// neoSender runs the sender of Neo's swarm as it is published on npm; only its store and its log
// are replaced.
func neoSender(t *testing.T, dir string) func(what, url string, events ...string) {
	node := bridgetest.Start(t, dir, "node", "sender.mjs")
	if got := node.Line(t); got != "ready" {
		t.Fatal(got)
	}
	return func(what, url string, events ...string) {
		subscription, _ := json.Marshal(map[string]any{"id": sub, "agentIdentity": "@ada",
			"harnessTarget":         "a2a-webhook",
			"harnessTargetMetadata": map[string]any{"url": url, "signingKey": key, "coalesceWindow": 30}})
		fmt.Fprintf(node.In, "[%q,%s,%s]\n", what, subscription, strings.Join(events, ","))
		if got := node.Line(t); got != "done" {
			t.Fatal(got)
		}
	}
}

// What Neo's own sender posts is taken: its signature, its retries of one event, its digest, and
// the digest of a heartbeat, which counts nothing.
func testNeoSender(t *testing.T, dir string) {
	send := neoSender(t, dir)
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	b := newBridge(t, p, wake.Config{})
	var mu sync.Mutex
	refuse := 2
	ids := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		ids[r.Header.Get("X-Neo-Wake-Event-Id")]++
		refused := refuse > 0
		refuse--
		mu.Unlock()
		if refused {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b.ServeHTTP(w, r)
	}))
	defer server.Close()
	send("deliver", server.URL, envelope("sent_to_me", 1, message(1, "Retried")))
	mu.Lock()
	if ids["ev-1"] != 3 {
		t.Errorf("the ids of the events were %v", ids)
	}
	mu.Unlock()
	send("enqueue", server.URL, envelope("sent_to_me", 2, message(2, "Two")), envelope("sent_to_me", 3,
		message(3, "Three")), envelope("task_state_changed", 4, task("t", "Completed")))
	send("enqueue", server.URL, envelope("heartbeat_pulse", 5, `{"targetIdentity":"@ada"}`))
	const want = "Wakes for @ada.\nMessage from @bob: Retried.\n3 wakes. 1 task change, the newest: Task t of @bob: completed, it was working. 2 messages, the newest: Message from @bob: Three."
	if heard := ended(t, b, l); heard != want {
		t.Errorf("heard %q", heard)
	}
}

// BenchmarkWake is how long it takes from a signed wake's arrival until a listener has it.
func BenchmarkWake(b *testing.B) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "swarm"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	theirs, ours := transports.Pipe()
	go p.ServeConn(ours)
	follows, err := subscriber.Dial(b.Context(), only{theirs}, subscriber.Config{ID: "listener", NoReconnect: true,
		Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1000}})
	if err != nil {
		b.Fatal(err)
	}
	defer follows.Close()
	heard := make(chan time.Time, 1)
	go func() {
		for ev, err := range follows.Events(context.Background()) {
			if err != nil {
				return
			}
			if out, ok := ev.Payload.(*aaep.OutputStreaming); ok && strings.Contains(out.Chunk, "Hello") {
				heard <- time.Now()
			}
		}
	}()
	bridge, err := wake.New(p, wake.Config{Keys: keys})
	if err != nil {
		b.Fatal(err)
	}
	defer bridge.Close()
	times := make([]time.Duration, 0, b.N)
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for i := range b.N {
		r := request(envelope("sent_to_me", i+1, message(i+1, "Hello")), sub, fmt.Sprint("ev-", i+1), key)
		<-pace.C
		began := time.Now()
		if got := post(bridge, r); got != 202 {
			b.Fatal(got)
		}
		times = append(times, (<-heard).Sub(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}

type only struct{ conn transports.Conn }

func (o only) Dial(context.Context) (transports.Conn, error) { return o.conn, nil }

func Example() {
	ctx := context.Background()
	p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "swarm"}, Languages: []string{"en"}})
	defer p.Shutdown(ctx)
	b, err := wake.New(p, wake.Config{Keys: map[string][]string{"WAKE_SUB:1": {"0123456789abcdef"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	// Who follows p hears what is posted to b.
	fmt.Println(post(b, request(envelope("sent_to_me", 1, message(1, "Hello")), "WAKE_SUB:1", "ev-1",
		"0123456789abcdef")))
	// Output: 202
}
