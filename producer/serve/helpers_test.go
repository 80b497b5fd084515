package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		child(what)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen. It is no measure of anything.
const patience = 30 * time.Second

// stage is one producer on a port of its own.
type stage struct {
	t     testing.TB
	p     *producer.Producer
	addr  string
	ended chan error // gets what serve.Serve returned
	once  sync.Once
}

func start(t testing.TB, cfg producer.Config) *stage {
	t.Helper()
	return startAt(t, cfg, "127.0.0.1:0")
}

func startAt(t testing.TB, cfg producer.Config, addr string) *stage {
	t.Helper()
	cfg.Agent = aaep.Producer{AgentID: "tester", AgentName: "Tester"}
	cfg.ShortTimeouts = true
	p, err := producer.New(cfg)
	check(t, err)
	ln, err := net.Listen("tcp", addr)
	check(t, err)
	st := &stage{t: t, p: p, addr: ln.Addr().String(), ended: make(chan error, 1)}
	go func() { st.ended <- serve.Serve(context.Background(), ln, p) }()
	t.Cleanup(func() { st.shutdown(time.Second) })
	return st
}

// shutdown ends the producer and waits for the server.
func (st *stage) shutdown(within time.Duration) {
	st.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		st.p.Shutdown(ctx)
		if err := <-st.ended; err != nil {
			st.t.Errorf("Serve = %v after Shutdown, want nil", err)
		}
	})
}

func (st *stage) session(about string) *producer.Session {
	st.t.Helper()
	s, err := st.p.StartSession(context.Background(), aaep.Say(about))
	check(st.t, err)
	return s
}

// pay is a tool that must ask, look one that need not.
var (
	pay = producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
		Action: aaep.Say("Pay $5."), Consequence: aaep.Say("The money is gone.")}
	look = producer.Tool{Name: "look", Action: aaep.Say("Looking.")}
)

func ok(context.Context) (string, error) { return "done", nil }

// terms are what a listener asks for who may be asked; a zero rate is no limit.
func terms(rate int64, boundaries ...aaep.Boundary) aaep.Capabilities {
	return aaep.Capabilities{MaxEventsPerSecond: rate, CoalesceBoundaries: boundaries, Languages: []string{"en-US"},
		SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}
}

var everything = terms(0, aaep.BoundaryNone)

// mute takes away the right to be asked.
func mute(c aaep.Capabilities) aaep.Capabilities {
	c.SupportsConfirmationReply, c.SupportsClarificationReply = new(false), new(false)
	return c
}

// call sends one raw request on a connection of its own; header lines are "Name: value".
func call(t testing.TB, method, addr, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	resp, text, err := try(method, addr, path, body, header...)
	check(t, err)
	return resp, text
}

func try(method, addr, path, body string, header ...string) (*http.Response, string, error) {
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, r)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// raw is a subscription made of plain HTTP requests.
type raw struct {
	t        testing.TB
	addr, id string
	location string
	accepted string
}

func subscribe(t testing.TB, addr string, c aaep.Capabilities) *raw {
	t.Helper()
	resp, body := call(t, "POST", addr, "/aaep/v1/subscriptions", encode(t, &aaep.SubscriptionRequest{
		AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: c}))
	m, err := aaep.Decode([]byte(body))
	check(t, err)
	acc, isAccepted := m.(*aaep.SubscriptionAccepted)
	if resp.StatusCode != http.StatusCreated || !isAccepted {
		t.Fatalf("the answer to the request is %d %s", resp.StatusCode, body)
	}
	return &raw{t: t, addr: addr, id: acc.SubscriptionID, location: resp.Header.Get("Location"), accepted: body}
}

// post POSTs a reply, renegotiation or close and returns the status and the body.
func (r *raw) post(body string) (int, string) {
	r.t.Helper()
	resp, text := call(r.t, "POST", r.addr, "/aaep/v1/replies", body)
	return resp.StatusCode, text
}

func (r *raw) reply(token aaep.ReplyToken, d aaep.Decision) string {
	return encode(r.t, &aaep.ConfirmationReply{ReplyToken: token, Decision: d, SubscriptionID: r.id, Timestamp: time.Now()})
}

// frame is one event of a stream, as a browser's EventSource would dispatch it.
type frame struct {
	name, id, data string
	last           string // the last event id, this event's own or an older one
}

func (f frame) event(t testing.TB) *aaep.Event {
	t.Helper()
	m, err := aaep.Decode([]byte(f.data))
	check(t, err)
	ev, isEvent := m.(*aaep.Event)
	if !isEvent {
		t.Fatalf("%s is no event", f.data)
	}
	return ev
}

// stream is one GET of the events.
type stream struct {
	t      testing.TB
	resp   *http.Response
	cancel context.CancelFunc
	frames chan frame
	err    error // once frames is closed: how the stream ended
}

// open GETs the stream; last is the Last-Event-ID, or "".
func (r *raw) open(last string) *stream {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+r.addr+r.location, nil)
	check(r.t, err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	check(r.t, err)
	st := &stream{t: r.t, resp: resp, cancel: cancel, frames: make(chan frame, 4096)}
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("GET %s: %s", r.location, resp.Status)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(st.frames)
		st.err = parse(resp.Body, func(f frame) { st.frames <- f })
	}()
	r.t.Cleanup(func() { st.close(); <-done })
	return st
}

func (st *stream) close() { st.cancel(); st.resp.Body.Close() }

// parse is what the HTML standard says of an event stream, and no more than our streams need.
func parse(r io.Reader, dispatch func(frame)) error {
	lines := bufio.NewReader(r)
	var f frame
	found := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err // an event that is not whole is none
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if found {
				dispatch(f)
			}
			f, found = frame{last: f.last}, false
		case name == "event":
			f.name = value
		case name == "id":
			f.id, f.last = value, value
		case name == "data":
			if found {
				value = f.data + "\n" + value
			}
			f.data, found = value, true
		}
	}
}

// next waits for one event.
func (st *stream) next() (frame, bool) {
	st.t.Helper()
	select {
	case f, more := <-st.frames:
		return f, more
	case <-time.After(patience):
		st.t.Fatal("no event came")
	}
	panic("unreachable")
}

// until reads up to the first event that match accepts, and returns it with what came before.
func (st *stream) until(match func(*aaep.Event) bool) (f frame, before []*aaep.Event) {
	st.t.Helper()
	for {
		f, more := st.next()
		if !more {
			st.t.Fatalf("the stream ended (%v) after %s", st.err, story(before))
		}
		ev := f.event(st.t)
		if match(ev) {
			return f, before
		}
		before = append(before, ev)
	}
}

// find is until without a look at what is in between, which takes its time.
func (st *stream) find(typ aaep.Type) frame {
	st.t.Helper()
	for {
		f, more := st.next()
		if !more {
			st.t.Fatal("the stream ended: ", st.err)
		}
		if strings.Contains(f.data, `"type":"`+string(typ)+`"`) {
			return f
		}
	}
}

// question reads up to the next confirmation.
func (st *stream) question() (frame, *aaep.AwaitingConfirmation) {
	st.t.Helper()
	f, _ := st.until(isA(aaep.TypeAwaitingConfirmation))
	return f, f.event(st.t).Payload.(*aaep.AwaitingConfirmation)
}

// end reads the rest of a stream that the producer ends.
func (st *stream) end() (frames []frame) {
	st.t.Helper()
	for {
		f, more := st.next()
		if !more {
			return frames
		}
		frames = append(frames, f)
	}
}

func isA(typ aaep.Type) func(*aaep.Event) bool {
	return func(ev *aaep.Event) bool { return ev.Type() == typ }
}

func says(text string) func(*aaep.Event) bool {
	return func(ev *aaep.Event) bool { return ev.Text(aaep.VerbosityNormal) == text }
}

func isOver(ev *aaep.Event) bool { return ev.Type().Terminal() }

// story writes events in few words, to compare and to read.
func story(evs []*aaep.Event) string {
	var b strings.Builder
	for i, ev := range evs {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			fmt.Fprintf(&b, "%s>%s", p.FromState, p.ToState)
		case *aaep.ToolInvoked:
			b.WriteString(p.Tool)
		case *aaep.ToolCompleted:
			fmt.Fprintf(&b, "%s:%s", p.Tool, p.Status)
		case *aaep.OutputStreaming:
			fmt.Fprintf(&b, "%q", p.Chunk)
			if p.Complete {
				b.WriteByte('!')
			}
		default:
			b.WriteString(strings.TrimPrefix(string(ev.Type()), "aaep:agent."))
		}
	}
	return b.String()
}

// checkText: the chunks of every output are its text, each piece once, in order, with one end (INV-28).
func checkText(evs []*aaep.Event, want ...string) error {
	got := map[string]*strings.Builder{}
	ended := map[string]int{}
	var order []string
	for _, ev := range evs {
		p, isText := ev.Payload.(*aaep.OutputStreaming)
		if !isText {
			continue
		}
		b := got[p.OutputID]
		if b == nil {
			b = new(strings.Builder)
			got[p.OutputID], order = b, append(order, p.OutputID)
		}
		if at := int64(utf8.RuneCountInString(b.String())); p.Position != at {
			return fmt.Errorf("the chunk %q is at %d, want %d", p.Chunk, p.Position, at)
		}
		b.WriteString(p.Chunk)
		if p.Complete {
			ended[p.OutputID]++
		}
	}
	var texts []string
	for _, id := range order {
		texts = append(texts, got[id].String())
		if ended[id] != 1 {
			return fmt.Errorf("the output %q has %d ends", got[id], ended[id])
		}
	}
	slices.Sort(texts)
	slices.Sort(want)
	if !slices.Equal(texts, want) {
		return fmt.Errorf("the texts are %q, want %q", texts, want)
	}
	return nil
}

// checkOnce: no event id came twice (INV-23).
func checkOnce(evs []*aaep.Event) error {
	seen := map[string]bool{}
	for _, ev := range evs {
		if seen[ev.EventID] {
			return fmt.Errorf("%s %s came twice", ev.Type(), ev.EventID)
		}
		seen[ev.EventID] = true
	}
	return nil
}

func count(evs []*aaep.Event, typ aaep.Type) (n int) {
	for _, ev := range evs {
		if ev.Type() == typ {
			n++
		}
	}
	return n
}

// follow dials with the real subscriber.
func follow(t testing.TB, addr string, c aaep.Capabilities) *subscriber.Subscription {
	t.Helper()
	sub, err := dial(addr, c)
	check(t, err)
	t.Cleanup(func() { sub.Close() })
	return sub
}

// followThrough is follow with a proxy in between.
func followThrough(t testing.TB, px *proxy, c aaep.Capabilities) *subscriber.Subscription {
	t.Helper()
	sub, err := dialThrough(px, c)
	check(t, err)
	t.Cleanup(func() { sub.Close() })
	return sub
}

func dial(addr string, c aaep.Capabilities) (*subscriber.Subscription, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return subscriber.Dial(ctx, sse.Dialer{URL: "http://" + addr}, subscriber.Config{ID: "real", Capabilities: c})
}

// dialThrough is dial with a proxy in between, which the producer must not notice from the Host.
func dialThrough(px *proxy, c aaep.Capabilities) (*subscriber.Subscription, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, px.ln.Addr().String())
	}}}
	return subscriber.Dial(ctx, sse.Dialer{URL: "http://" + px.target, Client: client}, subscriber.Config{ID: "real", Capabilities: c})
}

// collect reads events until one matches, which is the last.
func collect(sub *subscriber.Subscription, match func(*aaep.Event) bool) (evs []*aaep.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return evs, err
		}
		evs = append(evs, ev)
		if match(ev) {
			return evs, nil
		}
	}
	return evs, errors.New("the subscription ended")
}

func mustCollect(t testing.TB, sub *subscriber.Subscription, match func(*aaep.Event) bool) []*aaep.Event {
	t.Helper()
	evs, err := collect(sub, match)
	if err != nil {
		t.Fatalf("%v after %s", err, story(evs))
	}
	return evs
}

// await waits until a status is as it should be.
func await(t testing.TB, sub *subscriber.Subscription, what string, good func(subscriber.Status) bool) {
	t.Helper()
	late := time.After(patience)
	for {
		st, changed := sub.Status()
		if good(st) {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("never %s: %+v", what, st)
		}
	}
}

func connected(st subscriber.Status) bool { return st.Connected }
func broken(st subscriber.Status) bool    { return !st.Connected }

// eventually waits for a condition that tells nobody when it comes true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("never: %s", what)
		}
	}
}

// result is what a call that waits came to.
type result[T any] struct {
	value T
	err   error
	took  time.Duration
}

func later[T any](f func() (T, error)) <-chan result[T] {
	c := make(chan result[T], 1)
	begin := time.Now()
	go func() {
		v, err := f()
		c <- result[T]{v, err, time.Since(begin)}
	}()
	return c
}

func wait[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	panic("unreachable")
}

func encode(t testing.TB, m aaep.Message) string {
	t.Helper()
	data, err := aaep.Encode(m)
	check(t, err)
	return string(data)
}

// spoil changes or, with a nil value, removes a member of a JSON object.
func spoil(t testing.TB, object, member string, value any) string {
	t.Helper()
	var m map[string]any
	check(t, json.Unmarshal([]byte(object), &m))
	if m[member] = value; value == nil {
		delete(m, member)
	}
	data, err := json.Marshal(m)
	check(t, err)
	return string(data)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// proxy stands between a subscriber and a producer and hurts the event streams as it was told. What it does to
// a stream is decided when the GET comes by.
type proxy struct {
	ln     net.Listener
	target string
	all    sync.WaitGroup

	mu     sync.Mutex
	faults []fault // for the streams to come, one each; then none
	closed bool    // to new connections
	conns  map[net.Conn]bool
	gets   []string // the Last-Event-ID of each stream
}

// fault is what happens to one stream.
type fault struct {
	after   int    // cut after so many bytes of the response, if above zero
	text    string // or right after the event that holds this text
	reset   bool   // the subscriber's connection is reset, not closed
	keep    bool   // the producer's connection stays open and is read: it learns nothing
	onlyOne bool   // close the proxy to what comes, until let
}

func newProxy(t testing.TB, target string, faults ...fault) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &proxy{ln: ln, target: target, faults: faults, conns: map[net.Conn]bool{}}
	p.all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		p.cut(true)
		p.all.Wait()
	})
	return p
}

// cut ends every connection; and, if shut, those to come.
func (p *proxy) cut(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = shut
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) let() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
}

func (p *proxy) resumedAfter() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gets)
}

func (p *proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *proxy) serve(down net.Conn) {
	defer down.Close()
	if !p.track(down) {
		return
	}
	up, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer up.Close()
	if !p.track(up) {
		return
	}
	var mu sync.Mutex
	var f fault
	counting := false
	p.all.Go(func() { // requests; each comes in one piece
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			if !f.keep {
				up.Close()
			}
		}()
		buf := make([]byte, 64<<10)
		for {
			n, err := down.Read(buf)
			if n > 0 {
				if bytes.HasPrefix(buf[:n], []byte("GET ")) {
					mu.Lock()
					f, counting = p.fault(string(buf[:n])), true
					mu.Unlock()
				}
				if _, err := up.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	buf := make([]byte, 4<<10)
	sent := 0
	var tail []byte
	for {
		n, err := up.Read(buf)
		mu.Lock()
		plan, count := f, counting
		mu.Unlock()
		data, ends := buf[:n], false
		if count && plan.after > 0 && sent+n >= plan.after {
			data, ends = buf[:plan.after-sent], true
		}
		if count && plan.text != "" {
			tail = append(tail, data...)
			if i := bytes.Index(tail, []byte(plan.text)); i >= 0 {
				if j := bytes.Index(tail[i:], []byte("\n\n")); j >= 0 {
					over := len(tail) - (i + j + 2)
					// The end of the chunk belongs to it.
					data, ends = data[:min(len(data), len(data)-over+2)], true
				}
			}
		}
		if count {
			sent += len(data)
		}
		if _, werr := down.Write(data); werr != nil || err != nil {
			return
		}
		if ends {
			if plan.onlyOne {
				p.mu.Lock()
				p.closed = true
				p.mu.Unlock()
			}
			if tcp, isTCP := down.(*net.TCPConn); isTCP && plan.reset {
				tcp.SetLinger(0)
			}
			down.Close()
			if plan.keep {
				io.Copy(io.Discard, up) // until the producer, or the end of the test, closes it
			}
			return
		}
	}
}

// fault returns what is to happen to the next stream.
func (p *proxy) fault(request string) (f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := ""
	for line := range strings.Lines(request) {
		if v, found := strings.CutPrefix(line, "Last-Event-Id: "); found {
			last = strings.TrimSpace(v)
		}
	}
	p.gets = append(p.gets, last)
	if len(p.faults) > 0 {
		f, p.faults = p.faults[0], p.faults[1:]
	}
	return f
}
