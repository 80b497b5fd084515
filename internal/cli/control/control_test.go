//go:build unix

package control

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/transports/ipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer has a listener obey all that it is asked for, and returns what that was.
func startServer(t *testing.T) (s *Server, obeyed func() []Request) {
	t.Helper()
	s, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []Request
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Serve(ctx) })
	running.Go(func() {
		for {
			select {
			case c := <-s.Calls():
				mu.Lock()
				got = append(got, c.Request)
				mu.Unlock()
				c.Respond(Response{Done: true, Said: []string{"obeyed " + c.Text}})
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return s, func() []Request {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// useFolder has the sockets of this test in a folder of its own.
func useFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return filepath.Join(dir, "aaep")
}

// Each listener of a user is found, also where one before it was killed; the socket is its owner's
// alone.
func TestFind(t *testing.T) {
	folder := useFolder(t)
	if all := Find(t.Context(), nil); all != nil {
		t.Fatalf("found %d listeners, want none", len(all))
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aaep-answer-1.sock", "aaep-answer-1.sock.lock"} { // as a killed one leaves it
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := startServer(t) // the first slot is a file that is no socket, so that it cannot be had
	second, _ := startServer(t)
	first.Update(State{Agents: []string{"one"}})
	second.Update(State{Agents: []string{"two"}, Question: &Question{ID: "q"}})
	all := Find(t.Context(), nil)
	if len(all) != 2 || all[0].State.Agents[0] != "one" || all[1].State.Question.ID != "q" {
		t.Errorf("found %+v", all)
	}
	for _, l := range all {
		l.Close()
	}
	info, err := os.Stat(filepath.Join(folder, "aaep-answer-2.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if only := Find(t.Context(), func(slot int) bool { return slot == 1 }); len(only) != 1 {
		t.Errorf("found %d listeners, want the one that is not left out", len(only))
	} else {
		only[0].Close()
	}
}

// A ninth listener is told that it cannot be reached; the others can.
func TestListenFull(t *testing.T) {
	useFolder(t)
	for range slots {
		startServer(t)
	}
	if s, err := Listen(); err == nil {
		s.lock.Close()
		t.Error("a ninth listener has a slot")
	}
}

// A hundred a second, as of a key that is held down, do what one does; a no that follows counts.
func TestRepeated(t *testing.T) {
	useFolder(t)
	_, obeyed := startServer(t)
	all := Find(t.Context(), nil)
	defer all[0].Close()
	done := 0
	for range 100 {
		got, err := all[0].Call(t.Context(), Request{Name: AnswerName, Text: "y", Question: "q"})
		if err != nil {
			t.Fatal(err)
		}
		if got.Done {
			done++
		} else if !strings.HasPrefix(got.Said[0], "That came too soon") {
			t.Fatalf("said %q", got.Said)
		}
	}
	if done != 1 || len(obeyed()) != 1 {
		t.Errorf("%d were done, and %d obeyed; want one", done, len(obeyed()))
	}
	if got, err := all[0].Call(t.Context(), Request{Name: AnswerName, Text: "n", Question: "q"}); err != nil || !got.Done {
		t.Errorf("a no after a yes: %+v, %v", got, err)
	}
}

// What is a repetition, by the time of the keys and not by when they arrive.
func TestIsRepeated(t *testing.T) {
	answer := func(text string) Request { return Request{Name: AnswerName, Text: text, Question: "q"} }
	again := Request{Name: "again"}
	for _, steps := range []struct {
		name string
		at   []time.Duration
		keys []Request
		want string // r for each that is a repetition
	}{
		{"a key held down for long", []time.Duration{0, 500, 1000, 1500, 2000}, []Request{answer("y"), answer("y"), answer("y"), answer("y"), answer("y")}, ".rrrr"},
		{"a yes a second later", []time.Duration{0, 1000}, []Request{answer("y"), answer("y")}, ".."},
		{"a yes right after a no", []time.Duration{0, 900}, []Request{answer("n"), answer("y")}, ".r"},
		{"a no right after a yes", []time.Duration{0, 100}, []Request{answer("y"), answer("n")}, ".."},
		{"a no held down", []time.Duration{0, 100, 200}, []Request{answer("n"), answer("n"), answer("n")}, ".rr"},
		{"another choice too soon", []time.Duration{0, 500}, []Request{answer("1"), answer("2")}, ".r"},
		{"a yes after again", []time.Duration{0, 500}, []Request{again, answer("y")}, ".."},
		{"again held down", []time.Duration{0, 500, 900}, []Request{again, again, again}, ".rr"},
		{"a yes that arrives after a later one", []time.Duration{2000, 500}, []Request{answer("y"), answer("y")}, ".r"},
		{"keys that arrive in another order", []time.Duration{2000, 500, 1600}, []Request{answer("1"), answer("2"), answer("3")}, ".rr"},
		{"a key held down that arrives in another order", []time.Duration{2000, 500, 2600}, []Request{again, again, again}, ".rr"},
		{"a yes after one at another listener", []time.Duration{0, 500, 1000}, []Request{{Name: PressedName}, answer("y"), answer("n")}, ".r."},
		{"the same key for another question", []time.Duration{0, 500}, []Request{answer("n"), {Name: AnswerName, Text: "n", Question: "r"}}, ".r"},
	} {
		t.Run(steps.name, func(t *testing.T) {
			var p presses
			start := time.Now()
			got := ""
			for i, key := range steps.keys {
				if p.isRepeated(start.Add(steps.at[i]*time.Millisecond), key) {
					got += "r"
				} else {
					got += "."
				}
			}
			if got != steps.want {
				t.Errorf("%s, want %s", got, steps.want)
			}
		})
	}
}

// When a key was pressed is told by its age, whatever that claims to be.
func TestBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for age, want := range map[int64]time.Duration{0: 0, 250: 250 * time.Millisecond, -1 << 62: 0, 1 << 62: maxAge} {
			s := &Server{calls: make(chan *Call)}
			go s.call(t.Context(), Request{Name: "again", Age: age})
			c := <-s.Calls()
			if got := time.Since(c.Began); got != want {
				t.Errorf("age %d: %v ago, want %v", age, got, want)
			}
			c.Respond(Response{})
			synctest.Wait()
		}
	})
}

// What is no Request ends its own link, and too many links are turned away; others are served on.
func TestBadPeers(t *testing.T) {
	useFolder(t)
	_, obeyed := startServer(t)
	path, err := slotPath(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"{", `"answer"`, `{"name":"answer","text":"` + strings.Repeat("x", maxText+1) + `"}`} {
		conn, err := ipc.Dialer{Path: path}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := conn.Send(t.Context(), []byte(bad)); err != nil {
			t.Fatal(err)
		}
		if msg, err := conn.Receive(t.Context()); err == nil {
			t.Errorf("%.20s is answered: %s", bad, msg)
		}
		conn.Close()
	}
	var idle []*Link
	for range mostConns {
		idle = append(idle, Find(t.Context(), nil)...)
	}
	if len(idle) == 0 || len(idle) > mostConns {
		t.Fatalf("%d links, want at most %d", len(idle), mostConns)
	}
	if got, err := idle[0].Call(t.Context(), Request{Name: "again"}); err != nil || !got.Done || len(obeyed()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, l := range idle {
		l.Close()
	}
}

// A watcher has each state, of many at once the newest, and learns that the listener is gone.
func TestWatch(t *testing.T) {
	useFolder(t)
	s, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan struct{})
	go func() { defer close(served); s.Serve(ctx) }()
	l := Find(t.Context(), nil)[0]
	defer l.Close()
	states := make(chan State, 1000)
	go func() {
		defer close(states)
		l.Watch(t.Context(), func(s State) { states <- s })
	}()
	for i := range 500 {
		s.Update(State{Waiting: i})
		s.Update(State{Waiting: i}) // no change
	}
	last := -1
	for state := range states {
		if state.Waiting <= last {
			t.Fatalf("%d after %d", state.Waiting, last)
		}
		if last = state.Waiting; last == 499 {
			cancel()
		}
	}
	if <-served; last != 499 {
		t.Errorf("the last is %d", last)
	}
}

// The age of a process is as long as it has run, about.
func TestAge(t *testing.T) {
	first := Age()
	if first <= 0 || first > time.Hour {
		t.Errorf("%v", first)
	}
	if later := Age(); later < first {
		t.Errorf("%v, after %v", later, first)
	}
}

// An answer takes little longer from another process than from this one: BenchmarkCall is what the
// link costs.
func BenchmarkCall(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("XDG_RUNTIME_DIR", dir)
	if err := os.Chmod(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	s, err := Listen()
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go s.Serve(ctx)
	go func() {
		for {
			select {
			case c := <-s.Calls():
				c.Respond(Response{Done: true})
			case <-ctx.Done():
				return
			}
		}
	}()
	for n := 0; b.Loop(); n++ {
		l := Find(ctx, nil)[0]
		if _, err := l.Call(ctx, Request{Name: fmt.Sprint(n)}); err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}
