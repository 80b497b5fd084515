// Package bench measures what it costs to tell many listeners the same thing: by our server, and by two that know only frames
// that are encoded already. Each server is a process of its own, so that its processor time and memory are its own; those that
// are compared take turns, so that what else the machine does meets them alike.
package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Wires are all that are measured.
var Wires = []string{SSE, WebSocket, Unix}

// Options say how much is measured.
type Options struct {
	Wires     []string
	Listeners int
	// Length is how long each measurement takes.
	Length time.Duration
	// Server makes the process that calls Serve with its arguments.
	Server func(kind, wire, listeners string) *exec.Cmd
	// Tell is called with each result, as it comes.
	Tell func(Result)
}

// A Result is one measurement. What was not measured, or nobody can say here, is zero.
type Result struct {
	Wire      string `json:"wire"`
	Load      string `json:"load"`
	Server    string `json:"server"`
	Listeners int    `json:"listeners"`
	// CPU is the server's processor time for one delivery, in nanoseconds, and Ratio what that is of other servers'.
	CPU        float64            `json:"cpu_ns,omitzero"`
	Ratio      map[string]float64 `json:"ratio,omitzero"`
	Deliveries int64              `json:"deliveries,omitzero"`
	PerSecond  float64            `json:"deliveries_per_second,omitzero"`
	// The shares of deliveries that did not take longer, in microseconds.
	P50  float64 `json:"p50_us,omitzero"`
	P99  float64 `json:"p99_us,omitzero"`
	P999 float64 `json:"p999_us,omitzero"`
	// Idle is the memory for each listener that hears nothing, in bytes.
	Idle float64 `json:"idle_bytes,omitzero"`
	// Cores is how many processors the server kept busy, Held how many events waited for each listener, halfway and at the end.
	Cores float64   `json:"cores,omitzero"`
	Held  []float64 `json:"held,omitzero"`
}

// Compare measures our server beside the others.
func Compare(ctx context.Context, o Options) error {
	for _, w := range o.Wires {
		for _, load := range []struct {
			name  string
			burst int
		}{{"one event at a time", 1}, {"bursts of 32 events", 32}} {
			if err := o.race(ctx, w, load.name, load.burst, entry{raw, alike}, entry{plain, alike}, entry{ours, alike}); err != nil {
				return err
			}
		}
		if err := o.race(ctx, w, "bursts of 32 events in one shape", 32, entry{ours, alike}, entry{ours, shapes}); err != nil {
			return err
		}
		for _, kind := range []string{plain, ours} {
			if err := o.idle(w, kind); err != nil {
				return err
			}
		}
		if err := o.critical(ctx, w); err != nil {
			return err
		}
		if err := o.throttled(w); err != nil {
			return err
		}
	}
	return nil
}

// An entry is a server and what its listeners ask for.
type entry struct{ kind, asks string }

// turns are how often the servers that are compared take turns.
const turns = 5

// race lets servers send bursts in turn, each as soon as everybody has the one before.
func (o Options) race(ctx context.Context, wire, load string, burst int, entries ...entry) error {
	var stages []*stage
	defer func() {
		for _, s := range stages {
			s.close()
		}
	}()
	for _, e := range entries {
		s, err := o.open(wire, e.kind)
		if err != nil {
			return err
		}
		stages = append(stages, s)
		if err := s.join(e.asks, o.Listeners); err != nil {
			return err
		}
		for range 3 {
			if err := s.round(ctx, burst); err != nil {
				return err
			}
		}
		s.delays.reset()
	}
	costs, spent := make([][]float64, len(stages)), make([]time.Duration, len(stages))
	for range turns {
		for i, s := range stages {
			before, began, had := s.ask("cpu"), time.Now(), s.delays.n.Load()
			for time.Since(began) < o.Length/turns {
				if err := s.round(ctx, burst); err != nil {
					return err
				}
			}
			spent[i] += time.Since(began)
			costs[i] = append(costs[i], float64(s.ask("cpu")-before)/float64(s.delays.n.Load()-had))
		}
	}
	ratio := map[string]float64{}
	for i, s := range stages {
		slices.Sort(costs[i])
		r := s.result(load)
		r.CPU, r.PerSecond, r.Ratio = costs[i][turns/2], float64(r.Deliveries)/spent[i].Seconds(), map[string]float64{}
		for name, of := range ratio {
			if r.CPU > 0 {
				r.Ratio[name] = r.CPU / of
			}
		}
		if entries[i].asks == shapes {
			r.Load = strings.Replace(load, "one shape", "16 shapes", 1)
		}
		ratio[s.kind] = r.CPU
		o.Tell(r)
	}
	return nil
}

// idle measures what listeners take that hear nothing, five times as many as elsewhere.
func (o Options) idle(wire, kind string) error {
	o.Listeners *= 5
	s, err := o.open(wire, kind)
	if err != nil {
		return err
	}
	defer s.close()
	before := s.ask("rest")
	if err := s.join(alike, o.Listeners); err != nil {
		return err
	}
	r := s.result("idle")
	r.Idle = float64(s.ask("rest")-before) / float64(o.Listeners)
	o.Tell(r)
	return s.err
}

// critical measures how late what is critical comes to one listener, in turn while all others are idle and while they are flooded:
// with bursts of 32 events, four times a second. The others are a process of their own, in whose turn the one need not wait.
func (o Options) critical(ctx context.Context, wire string) error {
	s, err := o.open(wire, ours)
	if err != nil {
		return err
	}
	defer s.close()
	others, err := o.open(wire, crowd)
	if err != nil {
		return err
	}
	defer others.close()
	if s.others = int(others.ask(s.addr)); others.err != nil {
		return others.err
	}
	if err := s.join(critical, 1); err != nil {
		return err
	}
	var idle, flooded delays
	for range turns {
		for _, d := range []*delays{&idle, &flooded} {
			time.Sleep(o.Length / 2) // for what the turn before has left
			for began, next := time.Now(), time.Now(); time.Since(began) < 2*o.Length; {
				if d == &flooded && time.Now().After(next) {
					s.ask("emit", 32)
					next = next.Add(250 * time.Millisecond)
				}
				time.Sleep(37 * time.Millisecond) // at any moment between two bursts
				s.awaited.Store(s.delays.n.Load() + 1)
				s.ask("alarm")
				if err := s.wait(ctx, s.awaited.Load()); err != nil {
					return err
				}
			}
			d.take(&s.delays)
		}
	}
	s.delays.take(&idle)
	o.Tell(s.result("critical events to one listener, the others idle"))
	s.delays.reset()
	s.delays.take(&flooded)
	o.Tell(s.result("critical events to one listener, the others flooded"))
	return s.err
}

// throttled measures five times as many listeners, of 50 agents that say 100 tokens a second each. Each follows one of them, and
// wants three events a second, in sentences.
func (o Options) throttled(wire string) error {
	o.Listeners *= 5
	s, err := o.open(wire, many)
	if err != nil {
		return err
	}
	defer s.close()
	s.kind = ours
	if err := s.join(throttled, o.Listeners); err != nil {
		return err
	}
	before, began := s.ask("cpu"), time.Now()
	var held []float64
	for range 2 {
		s.ask("stream", 100, int(2*o.Length/time.Millisecond))
		held = append(held, float64(s.ask("held"))/float64(o.Listeners))
	}
	r := s.result("50 agents at 100 tokens a second, listeners of one each at three events a second")
	r.Cores, r.Held = float64(s.ask("cpu")-before)/float64(time.Since(began)), held
	r.P50, r.P99, r.P999 = 0, 0, 0
	o.Tell(r)
	return s.err
}

// A stage is a server with its listeners.
type stage struct {
	kind, wire, addr string
	cmd              *exec.Cmd
	in               io.WriteCloser
	says             *bufio.Scanner
	conns            []net.Conn
	others           int // listeners elsewhere
	delays           delays
	woken            chan struct{} // holds one value when as many have come as are waited for
	awaited          atomic.Int64
	err              error // why the server cannot be asked any more
}

func (o Options) open(wire, kind string) (*stage, error) {
	s := &stage{kind: kind, wire: wire, cmd: o.Server(kind, wire, strconv.Itoa(o.Listeners)), woken: make(chan struct{}, 1)}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.says = bufio.NewScanner(out)
	if !s.says.Scan() {
		s.close()
		return nil, fmt.Errorf("the server %q over %s did not start", kind, wire)
	}
	s.addr = s.says.Text()
	return s, nil
}

func (s *stage) close() {
	for _, c := range s.conns {
		c.Close()
	}
	s.in.Close()
	s.cmd.Wait()
}

// ask tells the server something and returns its answer.
func (s *stage) ask(word string, numbers ...int) (answer int64) {
	if s.err != nil {
		return 0
	}
	line := word
	for _, n := range numbers {
		line += " " + strconv.Itoa(n)
	}
	if _, s.err = fmt.Fprintln(s.in, line); s.err != nil {
		return 0
	}
	if !s.says.Scan() {
		s.err = fmt.Errorf("the server %q over %s ended when it was told %q", s.kind, s.wire, line)
		return 0
	}
	answer, s.err = strconv.ParseInt(strings.TrimSpace(s.says.Text()), 10, 64)
	return answer
}

// join adds listeners, and returns when the server has them.
func (s *stage) join(asks string, n int) error {
	found := func(d time.Duration) {
		s.delays.add(d)
		if s.delays.n.Load() == s.awaited.Load() {
			select {
			case s.woken <- struct{}{}:
			default:
			}
		}
	}
	before, addrs := len(s.conns), strings.Fields(s.addr)
	for i := range n {
		conn, err := listen(s.wire, s.kind, addrs[i%len(addrs)], request(asks, i), found)
		if err != nil {
			return fmt.Errorf("listener %d of the server %q over %s: %w", before+i+1, s.kind, s.wire, err)
		}
		s.conns = append(s.conns, conn)
	}
	for late := time.Now().Add(patience); s.ask("here") != int64(len(s.conns)+s.others); time.Sleep(5 * time.Millisecond) {
		if s.err != nil {
			return s.err
		}
		if time.Now().After(late) {
			return fmt.Errorf("the server %q over %s has not all of %d listeners", s.kind, s.wire, len(s.conns))
		}
	}
	return nil
}

// patience is how long a server has to deliver.
const patience = time.Minute

// round sends a burst and waits until everybody has it.
func (s *stage) round(ctx context.Context, burst int) error {
	all := s.delays.n.Load() + int64(burst*len(s.conns))
	s.awaited.Store(all)
	s.ask("emit", burst)
	return s.wait(ctx, all)
}

// wait waits until so many have come.
func (s *stage) wait(ctx context.Context, n int64) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for s.err == nil && s.delays.n.Load() < n {
		select {
		case <-s.woken:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("the server %q over %s has delivered %d of %d events", s.kind, s.wire, s.delays.n.Load(), n)
		}
	}
	return s.err
}

// result says how long what was delivered took.
func (s *stage) result(load string) Result {
	return Result{Wire: s.wire, Load: load, Server: s.kind, Listeners: len(s.conns) + s.others, Deliveries: s.delays.n.Load(), P50: us(s.delays.at(.5)), P99: us(s.delays.at(.99)), P999: us(s.delays.at(.999))}
}
