// Package bench measures what it costs to tell many listeners the same thing: by our server, and by
// two that know only frames that are encoded already. Each server is a process of its own, so that
// its processor time and memory are its own; those that are compared take turns, so that what else
// the machine does meets them alike.
//
// What is measured is in bench.go, with the other agents of one program in several.go. The servers
// are in server.go, the many listeners in listeners.go, one listener's reading in reader.go, and
// listeners of an address that is given in url.go.
package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
	// Report is called with each result, as it comes.
	Report func(Result)
}

// The loads that Compare measures.
const (
	Single          = "one event at a time"
	Bursts          = "bursts of 32 events"
	OneShape        = "bursts of 32 events in one shape"
	SixteenShapes   = "bursts of 32 events in 16 shapes"
	Idle            = "idle"
	CriticalIdle    = "critical events to one listener, the others idle"
	CriticalFlooded = "critical events to one listener, the others flooded"
	Throttled       = "50 agents at 100 tokens a second, listeners of one each at three events a second"
	LiveAlone       = "events of a log in a file to one listener, the others away"
	LiveBesidePast  = "events of a log in a file to one listener, the others catching up"
)

// A Result is one measurement. What was not measured, or cannot be known here, is zero.
type Result struct {
	Wire      string `json:"wire"`
	Load      string `json:"load"`
	Server    string `json:"server"`
	Listeners int    `json:"listeners"`
	// CPU is the server's processor time for one delivery, in nanoseconds, and Ratio what that is
	// of other servers'.
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
	// Cores is how many processors the server kept busy, Held how many events waited for each
	// listener, halfway and at the end.
	Cores float64   `json:"cores,omitzero"`
	Held  []float64 `json:"held,omitzero"`
	// Returned is how often the others have come back and caught up.
	Returned int64 `json:"returned,omitzero"`
}

// Compare measures this module's server, a plain handler and a raw loop over each of o.Wires under
// each load, and reports each result to o.Report. The first error ends it.
func Compare(ctx context.Context, o Options) error {
	for _, w := range o.Wires {
		for _, measure := range []func() error{
			func() error {
				return o.compareBursts(ctx, w, 1, contender{raw, alike, Single}, contender{plain, alike, Single},
					contender{ours, alike, Single})
			},
			func() error {
				return o.compareBursts(ctx, w, 32, contender{raw, alike, Bursts}, contender{plain, alike, Bursts},
					contender{ours, alike, Bursts})
			},
			func() error {
				return o.compareBursts(ctx, w, 32, contender{ours, alike, OneShape},
					contender{ours, shapes, SixteenShapes})
			},
			func() error { return o.measureIdle(w, plain) },
			func() error { return o.measureIdle(w, ours) },
			func() error { return o.measureCritical(ctx, w) },
			func() error { return o.measureThrottled(w) },
			func() error { return o.measureCatchUp(ctx, w) },
		} {
			if err := measure(); err != nil {
				return err
			}
		}
	}
	return nil
}

// An contender is a server, what its listeners ask for, and what the result is called.
type contender struct{ kind, asks, load string }

// rounds are how often the servers that are compared take turns.
const rounds = 5

// compareBursts lets the servers of entries send bursts of events in turn, each as soon as all its
// listeners have the one before, and reports the processor time of each, and its ratios to those
// before it.
func (o Options) compareBursts(ctx context.Context, wire string, burst int, entries ...contender) error {
	var servers []*harness
	defer func() {
		for _, s := range servers {
			s.stopServer()
		}
	}()
	for _, e := range entries {
		s, err := o.openHarness(wire, e.kind)
		if err != nil {
			return err
		}
		servers = append(servers, s)
		if err := s.addListeners(e.asks, o.Listeners); err != nil {
			return err
		}
		for range 3 {
			if err := s.sendBurst(ctx, burst); err != nil {
				return err
			}
		}
		s.delays.resetCounts()
	}
	costs, spent := make([][]float64, len(servers)), make([]time.Duration, len(servers))
	for range rounds {
		for i, s := range servers {
			before, began, countBefore := s.sendCommand("cpu"), time.Now(), s.delays.n.Load()
			for time.Since(began) < o.Length/rounds {
				if err := s.sendBurst(ctx, burst); err != nil {
					return err
				}
			}
			spent[i] += time.Since(began)
			costs[i] = append(costs[i], float64(s.sendCommand("cpu")-before)/float64(s.delays.n.Load()-countBefore))
		}
	}
	ratio := map[string]float64{}
	for i, s := range servers {
		slices.Sort(costs[i])
		r := s.makeResult(entries[i].load)
		r.CPU, r.PerSecond, r.Ratio = costs[i][rounds/2], float64(r.Deliveries)/spent[i].Seconds(), map[string]float64{}
		for name, of := range ratio {
			if r.CPU > 0 {
				r.Ratio[name] = r.CPU / of
			}
		}
		ratio[s.kind] = r.CPU
		o.Report(r)
	}
	return nil
}

// measureIdle measures and reports the memory that listeners of a server take that hear nothing,
// five times as many as elsewhere.
func (o Options) measureIdle(wire, kind string) error {
	o.Listeners *= 5
	s, err := o.openHarness(wire, kind)
	if err != nil {
		return err
	}
	defer s.stopServer()
	before := s.sendCommand("rest")
	if err := s.addListeners(alike, o.Listeners); err != nil {
		return err
	}
	r := s.makeResult(Idle)
	r.Idle = float64(s.sendCommand("rest")-before) / float64(o.Listeners)
	o.Report(r)
	return s.err
}

// measureCritical measures how late what is critical comes to one listener, in turn while all
// others are idle and while they are flooded: with bursts of 32 events, four times a second. The
// others are a process of their own, in whose turn the one need not wait.
func (o Options) measureCritical(ctx context.Context, wire string) error {
	s, err := o.openHarness(wire, ours)
	if err != nil {
		return err
	}
	defer s.stopServer()
	others, err := o.openHarness(wire, crowd)
	if err != nil {
		return err
	}
	defer others.stopServer()
	if s.others = int(others.sendCommand("follow " + s.addr)); others.err != nil {
		return others.err
	}
	if err := s.addListeners(critical, 1); err != nil {
		return err
	}
	var idle, flooded delays
	for range rounds {
		for _, d := range []*delays{&idle, &flooded} {
			time.Sleep(o.Length / 2) // for what the turn before has left
			for began, next := time.Now(), time.Now(); time.Since(began) < 2*o.Length; {
				if d == &flooded && time.Now().After(next) {
					s.sendCommand("emit", 32)
					next = next.Add(250 * time.Millisecond)
				}
				time.Sleep(37 * time.Millisecond) // at any moment between two bursts
				s.awaited.Store(s.delays.n.Load() + 1)
				s.sendCommand("alarm")
				if err := s.waitForCount(ctx, s.awaited.Load()); err != nil {
					return err
				}
			}
			d.mergeFrom(&s.delays)
		}
	}
	s.delays.mergeFrom(&idle)
	o.Report(s.makeResult(CriticalIdle))
	s.delays.resetCounts()
	s.delays.mergeFrom(&flooded)
	o.Report(s.makeResult(CriticalFlooded))
	others.sendCommand("returned") // which fails where a link has ended
	return errors.Join(s.err, others.err)
}

// measureThrottled measures five times as many listeners, of 50 agents that say 100 tokens a second
// each. Each follows one of them, and wants three events a second, in sentences.
func (o Options) measureThrottled(wire string) error {
	o.Listeners *= 5
	s, err := o.openHarness(wire, many)
	if err != nil {
		return err
	}
	defer s.stopServer()
	s.kind = ours
	if err := s.addListeners(throttled, o.Listeners); err != nil {
		return err
	}
	before, began := s.sendCommand("cpu"), time.Now()
	var held []float64
	for range 2 {
		s.sendCommand("stream", 100, int(2*o.Length/time.Millisecond))
		held = append(held, float64(s.sendCommand("held"))/float64(o.Listeners))
	}
	r := s.makeResult(Throttled)
	r.Cores, r.Held = float64(s.sendCommand("cpu")-before)/float64(time.Since(began)), held
	r.P50, r.P99, r.P999 = 0, 0, 0
	o.Report(r)
	return s.err
}

// measureCatchUp measures how late an event comes to one listener of an agent with a log in a file,
// while the others are away and while a tenth as many as elsewhere come back, read 10,000 events
// from there and leave again, all the time.
func (o Options) measureCatchUp(ctx context.Context, wire string) error {
	s, err := o.openHarness(wire, kept)
	if err != nil {
		return err
	}
	defer s.stopServer()
	o.Listeners = max(o.Listeners/10, 1)
	others, err := o.openHarness(wire, returning)
	if err != nil {
		return err
	}
	defer others.stopServer()
	others.sendCommand("join " + s.addr)
	s.sendCommand("emit", 1)
	if others.sendCommand("first"); others.err != nil {
		return others.err
	}
	if err := s.addListeners(alike, 1); err != nil {
		return err
	}
	for range historySize / 100 {
		if err := s.sendBurst(ctx, 100); err != nil {
			return err
		}
	}
	for _, load := range []string{LiveAlone, LiveBesidePast} {
		if load == LiveBesidePast {
			others.sendCommand("return")
		}
		s.delays.resetCounts()
		events := int64(0)
		for began, next := time.Now(), time.Now(); time.Since(began) < 2*o.Length; next = next.Add(
			20 * time.Millisecond) {
			time.Sleep(time.Until(next))
			s.sendCommand("emit", perStep)
			events += perStep
		}
		s.awaited.Store(events)
		if err := s.waitForCount(ctx, events); err != nil {
			return err
		}
		r := s.makeResult(load)
		if load == LiveBesidePast {
			r.Listeners, r.Returned = r.Listeners+o.Listeners, others.sendCommand("returned")
		}
		o.Report(r)
	}
	return errors.Join(s.err, others.err)
}

// perStep is how many events an agent emits at once while the others catch up.
const perStep = 10

// historySize is how many events those have missed who come back.
const historySize = 10_000

// A harness is a server process and the listeners that this process has of it.
type harness struct {
	kind, wire, addr string
	cmd              *exec.Cmd
	in               io.WriteCloser
	answers          *bufio.Scanner
	links            []*link
	others           int // listeners elsewhere
	delays           delays
	woken            chan struct{} // holds one value when as many have come as are waited for
	awaited          atomic.Int64
	closing          atomic.Bool
	ended            chan error // holds why a link has ended that was to stay
	err              error      // why the server cannot be asked any more
}

// openHarness starts a server process of a kind, for listeners over wire. The caller stops it with
// stopServer.
func (o Options) openHarness(wire, kind string) (*harness, error) {
	s := &harness{kind: kind, wire: wire, cmd: o.Server(kind, wire, strconv.Itoa(o.Listeners)),
		woken: make(chan struct{}, 1), ended: make(chan error, 1)}
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
	s.answers = bufio.NewScanner(out)
	if !s.answers.Scan() {
		s.stopServer()
		return nil, fmt.Errorf("the server %q over %s did not start", kind, wire)
	}
	s.addr = s.answers.Text()
	return s, nil
}

// stopServer ends the listeners and the server process, and returns when that has exited.
func (s *harness) stopServer() {
	s.closing.Store(true)
	for _, l := range s.links {
		l.close()
	}
	s.in.Close()
	s.cmd.Wait()
}

// linkEnded sets s.err where a listener has lost its link, for what is measured then is not what
// was asked for.
func (s *harness) linkEnded() {
	select {
	case err := <-s.ended:
		if s.err == nil {
			s.err = err
		}
	default:
	}
}

// sendCommand sends the server a command, a word and numbers on one line, and returns its answer. A
// failure sets s.err; from then on it sends nothing and returns 0.
func (s *harness) sendCommand(word string, numbers ...int) (answer int64) {
	if s.linkEnded(); s.err != nil {
		return 0
	}
	line := word
	for _, n := range numbers {
		line += " " + strconv.Itoa(n)
	}
	if _, s.err = fmt.Fprintln(s.in, line); s.err != nil {
		return 0
	}
	if !s.answers.Scan() {
		s.err = fmt.Errorf("the server %q over %s ended when it was told %q", s.kind, s.wire, line)
		return 0
	}
	answer, s.err = strconv.ParseInt(strings.TrimSpace(s.answers.Text()), 10, 64)
	return answer
}

// addListeners connects n more listeners with terms of a kind, and returns when the server has
// them.
func (s *harness) addListeners(terms string, n int) error {
	found := func(d time.Duration) {
		s.delays.addDelay(d)
		if s.delays.n.Load() == s.awaited.Load() {
			select {
			case s.woken <- struct{}{}:
			default:
			}
		}
	}
	before, addrs := len(s.links), strings.Fields(s.addr)
	for i := range n {
		l, err := dialListener(s.wire, s.kind, addrs[i%len(addrs)], requestOf(terms, i))
		if err != nil {
			return fmt.Errorf("listener %d of the server %q over %s: %w", before+i+1, s.kind, s.wire, err)
		}
		s.links = append(s.links, l)
		go func() {
			if err := l.readEvents(found); !s.closing.Load() {
				select {
				case s.ended <- fmt.Errorf("the link of listener %d of the server %q over %s has ended: %w", before+i+1,
					s.kind, s.wire, err):
				default:
				}
			}
		}()
	}
	for deadline := time.Now().Add(deliveryTimeout); s.sendCommand("here") != int64(len(s.links)+
		s.others); time.Sleep(5 * time.Millisecond) {
		if s.err != nil {
			return s.err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server %q over %s has not all of %d listeners", s.kind, s.wire, len(s.links))
		}
	}
	return nil
}

// deliveryTimeout is how long a server has to deliver.
const deliveryTimeout = time.Minute

// sendBurst has the server emit a burst and waits until every listener has it.
func (s *harness) sendBurst(ctx context.Context, burst int) error {
	all := s.delays.n.Load() + int64(burst*len(s.links))
	s.awaited.Store(all)
	s.sendCommand("emit", burst)
	return s.waitForCount(ctx, all)
}

// waitForCount waits until the listeners have received n events in all.
func (s *harness) waitForCount(ctx context.Context, n int64) error {
	timeout := time.NewTimer(deliveryTimeout)
	defer timeout.Stop()
	for s.err == nil && s.delays.n.Load() < n {
		select {
		case <-s.woken:
		case s.err = <-s.ended:
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return fmt.Errorf("the server %q over %s has delivered %d of %d events", s.kind, s.wire,
				s.delays.n.Load(), n)
		}
	}
	return s.err
}

// makeResult says how long what was delivered took.
func (s *harness) makeResult(load string) Result {
	return Result{Wire: s.wire, Load: load, Server: s.kind, Listeners: len(s.links) + s.others,
		Deliveries: s.delays.n.Load(), P50: microseconds(s.delays.quantile(.5)),
		P99: microseconds(s.delays.quantile(.99)), P999: microseconds(s.delays.quantile(.999))}
}
