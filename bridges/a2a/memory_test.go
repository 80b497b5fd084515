package a2a_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/producer"
)

// resumed follows what a file remembers, with an Agent and a Producer as a restart makes them, and
// returns what is heard until all of them have ended.
func resumed(t *testing.T, transport http.RoundTripper, seen string, tasks int, reply func(*bridgetest.Listener,
	*aaep.Event)) string {
	t.Helper()
	agent, err := a2a.DialOver(t.Context(), "http://archive.example", a2a.Config{Seen: seen}, transport)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "archive"}, ShortTimeouts: true,
		FromStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	l := bridgetest.Listen(t, p, reply)
	defer l.Sub.Close()
	all, err := agent.Resume(t.Context(), p)
	if err != nil || len(all) != tasks {
		t.Fatalf("%d tasks are followed again, want %d: %v", len(all), tasks, err)
	}
	for _, task := range all {
		if err := task.Wait(); err != nil {
			t.Error(err)
		}
	}
	return l.AwaitEnd(t, tasks)
}

// A bridge that was killed follows its tasks again and tells what came meanwhile and nothing twice;
// what was being told when it was killed is told once more, and what was asked is asked again.
// Whatever of its file was written, nothing is left out. A task that is over is forgotten.
func TestResume(t *testing.T) {
	const report = `,"artifacts":[{"artifactId":"r","name":"report","parts":[{"text":"One."}]},{"artifactId":"x","name":"more","parts":[{"text":"Half"}]}]`
	whole := strings.Replace(report, "Half", "Half a word.", 1)
	seen := filepath.Join(t.TempDir(), "seen")
	var killed []byte
	s := &scripted{task: func() string { return bare("WORKING", "Reading.", report) }}
	inTime(t, s, func(t *testing.T, transport http.RoundTripper) {
		over := make(chan struct{})
		defer close(over)
		s.streams = func(method string, params map[string]any, send func(string)) {
			switch m, _ := json.Marshal(params); {
			case method == "SubscribeToTask":
				send(taskOf("WORKING", "Reading.", whole))
				send(updateOf("INPUT_REQUIRED", "Which month?"))
				<-over
			case bytes.Contains(m, []byte("May")):
				send(updateOf("COMPLETED", "Done."))
			default:
				send(taskOf("WORKING", "Reading.", ""))
				send(chunkOf("r", "One.", false, true))
				send(chunkOf("x", "Half", false, false))
				<-over
			}
		}
		agent, err := a2a.DialOver(t.Context(), "http://archive.example", a2a.Config{Seen: seen}, transport)
		if err != nil {
			t.Fatal(err)
		}
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "archive"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(context.Background())
		ctx, cancel := context.WithCancel(t.Context())
		task, err := agent.Send(ctx, p, "go")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		killed, err = os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		task.Wait()
		agent.Close()
		lines := bytes.SplitAfter(killed, []byte("\n"))
		for n, want := range map[int]string{
			2: "report: One.\nmore: Half\nReading.\n a word.\n",
			3: "report: One.\nmore: Half a word.\n",
			4: "more: Half a word.\n",
		} {
			left := append(bytes.Join(lines[:n], nil), `{"task":"to`...) // which was cut as it was written
			if err := os.WriteFile(seen, left, 0o600); err != nil {
				t.Fatal(err)
			}
			heard := resumed(t, transport, seen, 1, func(l *bridgetest.Listener, ev *aaep.Event) {
				l.Sub.Question(ev).AnswerText(context.Background(), "May")
			})
			if want = "Following the task t1.\n" + want + "Archive asks: Which month?\nDone."; heard != want {
				t.Errorf("after %s heard\n%q, want\n%q", left, heard, want)
			}
			resumed(t, transport, seen, 0, nil)
		}
	})
	if n := bytes.Count(killed, []byte("\n")); n != 4 {
		t.Errorf("remembered was %s", killed)
	}
}

// A file of another agent, one that is none, and one that another bridge has open are refused.
func TestSeenIsRefused(t *testing.T) {
	inTime(t, &scripted{}, func(t *testing.T, transport http.RoundTripper) {
		name := filepath.Join(t.TempDir(), "seen")
		refused := func(cfg a2a.Config, want string) {
			t.Helper()
			if _, err := a2a.DialOver(t.Context(), "http://archive.example", cfg, transport); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%v, want it to say %q", err, want)
			}
		}
		agent, err := a2a.DialOver(t.Context(), "http://archive.example", a2a.Config{Seen: name}, transport)
		if err != nil {
			t.Fatal(err)
		}
		refused(a2a.Config{Seen: name}, "the file is in use")
		agent.Close()
		refused(a2a.Config{Seen: name, Endpoint: "http://other.example/rpc"},
			"it is of the agent at http://archive.example/rpc")
		os.WriteFile(name, []byte("Dear diary\n"), 0o600)
		refused(a2a.Config{Seen: name}, "it is no file of followed tasks")
		if text, _ := os.ReadFile(name); string(text) != "Dear diary\n" {
			t.Errorf("it was overwritten with %q", text)
		}
	})
}

// A file does not grow with what is over.
func TestSeenStaysSmall(t *testing.T) {
	name := filepath.Join(t.TempDir(), "seen")
	if lines := a2a.RecordTasks(t, name, 50_000); lines > 1<<16+1000 {
		t.Errorf("it has %d lines", lines)
	}
}
