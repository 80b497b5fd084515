package wake_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/wake"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
)

// countHandoffs returns how often a person was called.
func countHandoffs(kinds []aaep.Type) (n int) {
	for _, kind := range kinds {
		if kind == aaep.TypeHandoffRequested {
			n++
		}
	}
	return n
}

// Of several tasks that wait for a person and are learned of at once, as after a cut, none is lost:
// up to five are named, and the newest of more.
func TestTasksThatWaitAtOnce(t *testing.T) {
	for n, want := range map[int]string{
		3: "3 tasks wait for a person, and cannot be answered here: Task t1 of @bob: input required, it was working. " +
			"Task t2 of @bob: input required, it was working. Task t3 of @bob: input required, it was working.",
		200: "200 tasks wait for a person, and cannot be answered here, the newest: Task t196 of @bob:",
	} {
		m := newMemoryServer(t)
		seen := filepath.Join(t.TempDir(), "seen")
		follow := func(during func(l *bridgetest.Listener)) {
			p := bridgetest.NewProducer(t)
			l := bridgetest.Listen(t, p, nil)
			b := newBridge(t, p, wake.Config{Seen: seen, Window: 30 * time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- b.Follow(ctx, wake.Server{URL: m.URL, Subscriptions: []string{sub}, Poll: 5 * time.Millisecond})
			}()
			during(l)
			cancel()
			<-done
			b.Close()
		}
		follow(func(*bridgetest.Listener) { <-m.polled; <-m.polled })
		for i := 1; i <= n; i++ {
			m.append(envelope("task_state_changed", i, task(fmt.Sprint("t", i), "InputRequired")))
		}
		follow(func(l *bridgetest.Listener) { l.AwaitHeard(t, want) })
	}
}

// Ten thousand tasks that wait for a person within a minute call that person at once, then every
// five seconds with how many there are, and never for each.
func TestFloodOfTasksThatWait(t *testing.T) {
	for _, identities := range []int{1, 50} {
		synctest.Test(t, func(t *testing.T) {
			p := bridgetest.NewProducer(t)
			l := bridgetest.Listen(t, p, nil)
			b := newBridge(t, p, wake.Config{Window: 30 * time.Second})
			const flood = 10_000
			for i := 1; i <= flood; i++ {
				text := envelope("task_state_changed", i, task(fmt.Sprint("t", i), "InputRequired"))
				text = strings.Replace(text, "@ada", fmt.Sprint("@agent", i%identities), 1)
				if fresh, err := b.Take([]byte(text)); err != nil || !fresh {
					t.Fatal(i, fresh, err)
				}
				time.Sleep(time.Minute / flood)
			}
			time.Sleep(6 * time.Second)
			synctest.Wait()
			heard := l.Await(t, func(heard string, _ []aaep.Type) bool {
				return strings.Contains(heard,
					"Task t10000 of")
			})
			l.Await(t, func(_ string, kinds []aaep.Type) bool {
				if n := countHandoffs(kinds); n < 20 || n > 30 {
					t.Errorf("a person was called %d times", n)
				}
				return true
			})
			for i := range 16 {
				if want := fmt.Sprintf("Task t%d of @bob: input required, it was working. It waits for a person",
					i+1); !strings.Contains(heard, want) {
					t.Errorf("%q was not heard", want)
				}
			}
			if !strings.Contains(heard, "tasks wait for a person, and cannot be answered here, the newest: Task t") {
				t.Errorf("heard:\n%s", heard)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A notification that comes before what was missed has been asked for does not hide what lies
// between.
func TestNotificationOvertakes(t *testing.T) {
	m := newMemoryServer(t)
	cut, away := make(chan struct{}), make(chan struct{})
	first := true
	m.stream = func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			<-cut
			return
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":%s}}\n\n",
			envelope("sent_to_me", 3, message(3, "Notified")))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	b := newBridge(t, p, wake.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	began := make(chan struct{}, 9)
	m.beforeResync = func() {
		select {
		case <-away:
			l.AwaitHeard(t, ": Notified.")
		default:
			began <- struct{}{}
		}
	}
	m.append(envelope("sent_to_me", 1, message(1, "Past")))
	// The other subscription is asked for first, and its answer waits for the notification.
	go func() { done <- b.Follow(ctx, wake.Server{URL: m.URL, Subscriptions: []string{"WAKE_SUB:0", sub}}) }()
	<-began
	<-began
	m.append(envelope("sent_to_me", 2, message(2, "Missed")), envelope("sent_to_me", 3, message(3, "Notified")))
	close(away)
	close(cut)
	heard := l.AwaitHeard(t, ": Missed.")
	if strings.Count(heard, ": Notified.") != 1 {
		t.Errorf("heard:\n%s", heard)
	}
	cancel()
	<-done
	b.Close()
}

// What one identity is woken of by two subscriptions, such as one by webhook and one by
// notifications, is heard once.
func TestTwoSubscriptions(t *testing.T) {
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	b := newBridge(t, p, wake.Config{Keys: map[string][]string{sub: {key}, "WAKE_SUB:2": {key}}})
	for kind, payload := range map[string]string{"sent_to_me": message(1, "Hello"), "task_state_changed": task("t",
		"Completed"),
		"permission_granted": `{"scope":"CAN_REPLY_TO","grantedBy":"@bob"}`} {
		one := envelope(kind, 1, payload)
		other := strings.Replace(strings.Replace(one, sub, "WAKE_SUB:2", 1), "ev-1", "other-"+kind, 1)
		one = strings.Replace(one, "ev-1", "one-"+kind, 1)
		if got := post(b, request(one, sub, "one-"+kind, key)); got != 202 {
			t.Errorf("%s: %d", kind, got)
		}
		if got := post(b, request(other, "WAKE_SUB:2", "other-"+kind, key)); got != 200 {
			t.Errorf("%s again: %d", kind, got)
		}
	}
	if heard := ended(t, b, l); strings.Count(heard, "\n") != 3 {
		t.Errorf("heard %q", heard)
	}
}

// A wake that is dated more than a day ahead is refused: it could be sent again once it is
// forgotten.
func TestWakesOfTomorrow(t *testing.T) {
	p := bridgetest.NewProducer(t)
	b := newBridge(t, p, wake.Config{})
	for ahead, want := range map[time.Duration]int{time.Hour: 202, 25 * time.Hour: 400} {
		body := envelope("sent_to_me", 1, message(int(ahead.Hours()), "Hello"))
		now := body[strings.Index(body, `"emittedAt":"`):]
		body = strings.Replace(body, now, fmt.Sprintf(`"emittedAt":%q}`,
			time.Now().Add(ahead).UTC().Format(time.RFC3339)), 1)
		id := fmt.Sprint("ev-", ahead)
		body = strings.Replace(body, "ev-1", id, 1)
		if got := post(b, request(body, sub, id, key)); got != want {
			t.Errorf("%v ahead: %d, want %d", ahead, got, want)
		}
	}
	b.Close()
}
