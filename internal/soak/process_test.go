package soak_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A process is this test program itself, told by these variables what to be.
const (
	agentVariable = "SOAK_TEST_AGENT"
	groupVariable = "SOAK_TEST_GROUP"
)

func TestMain(m *testing.M) {
	become(agentVariable, agent)
	become(groupVariable, group)
	os.Exit(m.Run())
}

func become[T any](variable string, what func(T)) {
	if text := os.Getenv(variable); text != "" {
		var plan T
		die(json.Unmarshal([]byte(text), &plan))
		what(plan)
		os.Exit(0)
	}
}

// A process is a child that can be talked with.
type process struct {
	cmd  *exec.Cmd
	in   io.Writer
	said chan string // all but gauges
	mu   sync.Mutex
	now  gauge
	all  []gauge
}

func spawn(t *testing.T, variable string, plan any) *process {
	t.Helper()
	text, err := json.Marshal(plan)
	check(t, err)
	p := &process{cmd: exec.Command(os.Args[0]), said: make(chan string, 64)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), variable+"="+string(text)), os.Stderr
	p.in, err = p.cmd.StdinPipe()
	check(t, err)
	out, err := p.cmd.StdoutPipe()
	check(t, err)
	check(t, p.cmd.Start())
	go func() {
		defer close(p.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			text, isGauge := strings.CutPrefix(lines.Text(), "gauge ")
			if !isGauge {
				p.said <- lines.Text()
				continue
			}
			var g gauge
			if json.Unmarshal([]byte(text), &g) == nil {
				p.mu.Lock()
				p.now, p.all = g, append(p.all, g)
				p.mu.Unlock()
			}
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// hear waits for a line that begins with a word.
func (p *process) hear(t *testing.T, word string, within time.Duration) (g gauge) {
	t.Helper()
	late := time.After(within)
	for {
		select {
		case line, more := <-p.said:
			switch text, is := strings.CutPrefix(line, word+" "); {
			case is:
				check(t, json.Unmarshal([]byte(text), &g))
				return g
			case !more || strings.HasPrefix(line, "failed"):
				p.mu.Lock()
				defer p.mu.Unlock()
				t.Fatalf("waiting for %q, a process says %q and no more; before that it said %+v", word, line, p.now)
			}
		case <-late:
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Fatalf("a process does not say %q within %v; it said last %+v", word, within, p.now)
		}
	}
}

func (p *process) say(t *testing.T, word string) {
	t.Helper()
	_, err := fmt.Fprintln(p.in, word)
	check(t, err)
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	for range p.said {
	}
	p.cmd.Wait()
}

// flat looks at what the last life of the agent had at its beginning, once everybody had been
// served for a while, and at its end.
func (p *process) flat(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all[len(p.all)/4:]
	if len(all) < 30 {
		t.Logf("%d seconds are too few to see growth", len(all))
		return
	}
	quarter := len(all) / 4
	for _, of := range []struct {
		what  string
		value func(gauge) int
		more  int
	}{
		{"bytes of memory", func(g gauge) int { return g.RSS }, 8 << 20},
		{"goroutines", func(g gauge) int { return g.Goroutines }, 50},
		{"files", func(g gauge) int { return g.Files }, 50},
	} {
		median := func(some []gauge) int {
			var values []int
			for _, g := range some {
				values = append(values, of.value(g))
			}
			slices.Sort(values)
			return values[len(values)/2]
		}
		first, last := median(all[:quarter]), median(all[len(all)-quarter:])
		t.Logf("%s: %d at first, %d at last, over %d seconds", of.what, first, last, len(all))
		if last > first+first/8+of.more {
			t.Errorf("%s grow: %d at first, %d at last", of.what, first, last)
		}
	}
}
