//go:build unix

package answer

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/cli/control"
)

// startListener has a listener that puts a question and takes every answer, and returns it with how
// many it took.
func startListener(t *testing.T, q *control.Question) (s *control.Server, taken func() []string) {
	t.Helper()
	s, err := control.Listen()
	if err != nil {
		t.Fatal(err)
	}
	s.Update(control.State{Question: q})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var mu sync.Mutex
	var texts []string
	running.Go(func() { s.Serve(ctx) })
	running.Go(func() {
		for {
			select {
			case c := <-s.Calls():
				mu.Lock()
				texts = append(texts, c.Text)
				mu.Unlock()
				c.Respond(control.Response{Done: true})
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return texts
	}
}

// press answers as a key does that was pressed so long ago.
func press(t *testing.T, text string, age time.Duration) (said string, err error) {
	t.Helper()
	links := control.Find(t.Context(), nil)
	defer func() {
		for _, l := range links {
			l.Close()
		}
	}()
	var out bytes.Buffer
	err = sendAnswer(t.Context(), &out, links, text, "", age)
	return out.String(), err
}

// useFolder has the sockets of this test in a folder of its own.
func useFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
}

// A key that is held down answers at one listener, and accepts nothing at the others, whatever they
// put meanwhile: neither after it answered the question of one nor after two questions were put, of
// which it answered none. EVT-078
func TestHeldKeyAtTwoListeners(t *testing.T) {
	pay := &control.Question{ID: "a", Kind: "confirmation", Text: "Pay.", Decided: true}
	send := &control.Question{ID: "b", Kind: "confirmation", Text: "Send.", Decided: true}
	for _, name := range []string{"one question", "two questions"} {
		t.Run(name, func(t *testing.T) {
			useFolder(t)
			first, byFirst := startListener(t, pay)
			second, bySecond := startListener(t, nil)
			want := 1
			if name == "two questions" {
				second.Update(control.State{Question: send})
				want = 0
			}
			if _, err := press(t, "accept", 0); (err == nil) != (want == 1) {
				t.Fatalf("the first press: %v", err)
			}
			first.Update(control.State{})
			second.Update(control.State{Question: send})
			said, err := press(t, "accept", time.Hour) // as if it came at the same time
			if err == nil || !strings.Contains(said, "too soon") || len(bySecond()) != 0 || len(byFirst()) != want {
				t.Errorf("the key goes on, and %q is said, %v; taken: %q and %q", said, err, byFirst(), bySecond())
			}
		})
	}
}

// The keys for yes and no send nothing where a text, a number or a choice is asked for; what is
// typed does.
func TestDecisionToText(t *testing.T) {
	useFolder(t)
	_, taken := startListener(t, &control.Question{ID: "a", Kind: "clarification", Text: "Which branch?"})
	if _, err := press(t, "main", 0); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"accept", "reject"} {
		if _, err := press(t, text, 0); err == nil || !strings.Contains(err.Error(), "do not answer this question") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := taken(); len(got) != 1 || got[0] != "main" {
		t.Errorf("taken: %q", got)
	}
}
