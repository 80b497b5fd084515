package serve_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// sendRequest sends one raw request on a connection of its own; header lines are "Name: value".
func sendRequest(t testing.TB, method, addr, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	resp, text, err := trySend(method, addr, path, body, header...)
	check(t, err)
	return resp, text
}

// trySend is sendRequest that returns an error, for other goroutines than the test's.
func trySend(method, addr, path, body string, header ...string) (*http.Response, string, error) {
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

// rawClient is a subscription made of plain HTTP requests.
type rawClient struct {
	t        testing.TB
	addr, id string
	location string
	accepted string
}

// subscribeRaw subscribes with bare requests.
func subscribeRaw(t testing.TB, addr string, c aaep.Capabilities) *rawClient {
	t.Helper()
	resp, body := sendRequest(t, "POST", addr, "/aaep/v1/subscriptions", encodeMessage(t, &aaep.SubscriptionRequest{
		AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: c}))
	m, err := aaep.Decode([]byte(body))
	check(t, err)
	acc, isAccepted := m.(*aaep.SubscriptionAccepted)
	if resp.StatusCode != http.StatusCreated || !isAccepted {
		t.Fatalf("the answer to the request is %d %s", resp.StatusCode, body)
	}
	return &rawClient{t: t, addr: addr, id: acc.SubscriptionID, location: resp.Header.Get("Location"), accepted: body}
}

// postMessage POSTs a reply, renegotiation or close and returns the status and the body.
func (r *rawClient) postMessage(body string) (int, string) {
	r.t.Helper()
	resp, text := sendRequest(r.t, "POST", r.addr, "/aaep/v1/replies", body)
	return resp.StatusCode, text
}

// sendReply answers a question, and returns the body of the answer to that.
func (r *rawClient) sendReply(token aaep.ReplyToken, d aaep.Decision) string {
	return encodeMessage(r.t, &aaep.ConfirmationReply{ReplyToken: token, Decision: d, SubscriptionID: r.id,
		Timestamp: time.Now()})
}

// frame is one event of a stream, as a browser's EventSource would dispatch it.
type frame struct {
	name, id, data string
	last           string // the last event id, this event's own or an older one
}

// decodeEvent decodes the event that a frame carries.
func (f frame) decodeEvent(t testing.TB) *aaep.Event {
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

// openStream GETs the stream; last is the Last-Event-ID, or "".
func (r *rawClient) openStream(last string) *stream {
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
		st.err = parseStream(resp.Body, func(f frame) { st.frames <- f })
	}()
	r.t.Cleanup(func() { st.close(); <-done })
	return st
}

// close ends the stream from the subscriber's side.
func (st *stream) close() { st.cancel(); st.resp.Body.Close() }

// parseStream parses an event stream as the HTML standard says, and no more of that than our
// streams need.
func parseStream(r io.Reader, dispatch func(frame)) error {
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

// nextFrame waits for one event; false is the end of the stream.
func (st *stream) nextFrame() (frame, bool) {
	st.t.Helper()
	select {
	case f, more := <-st.frames:
		return f, more
	case <-time.After(patience):
		st.t.Fatal("no event came")
	}
	panic("unreachable")
}

// readUntil reads up to the first event that match accepts, and returns it with what came before.
func (st *stream) readUntil(match func(*aaep.Event) bool) (f frame, before []*aaep.Event) {
	st.t.Helper()
	for {
		f, more := st.nextFrame()
		if !more {
			st.t.Fatalf("the stream ended (%v) after %s", st.err, summarize(before))
		}
		ev := f.decodeEvent(st.t)
		if match(ev) {
			return f, before
		}
		before = append(before, ev)
	}
}

// findType is readUntil that decodes nothing in between, which takes its time.
func (st *stream) findType(typ aaep.Type) frame {
	st.t.Helper()
	for {
		f, more := st.nextFrame()
		if !more {
			st.t.Fatal("the stream ended: ", st.err)
		}
		if strings.Contains(f.data, `"type":"`+string(typ)+`"`) {
			return f
		}
	}
}

// findQuestion reads up to the next confirmation.
func (st *stream) findQuestion() (frame, *aaep.AwaitingConfirmation) {
	st.t.Helper()
	f, _ := st.readUntil(isA(aaep.TypeAwaitingConfirmation))
	return f, f.decodeEvent(st.t).Payload.(*aaep.AwaitingConfirmation)
}

// readToEnd reads the rest of a stream that the producer ends.
func (st *stream) readToEnd() (frames []frame) {
	st.t.Helper()
	for {
		f, more := st.nextFrame()
		if !more {
			return frames
		}
		frames = append(frames, f)
	}
}
