package sse

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// A message cut in the middle is not delivered; the stream is taken up after the last whole one
// that Receive returned. SSE-012, SSE-013, TR-011
func TestResume(t *testing.T) {
	var n atomic.Int32
	ids := make(chan string, 9)
	p := producer{events: func(w http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("Last-Event-ID")
		if n.Add(1) == 1 {
			beginStream(w,
				"id: e1\ndata: {\"n\":1}\n\nid: e2\ndata: {\"n\":2}\n\ndata: {\"n\":3}\n\nid: e4\ndata: {\"n\":4")
			panic(http.ErrAbortHandler)
		}
		beginStream(w, "id: e4\ndata: {\"n\":4}\n\n")
		<-r.Context().Done()
	}}
	c, _ := p.dialAccepted(t, nil)
	for i := range 3 {
		wantMessage(t, c, fmt.Sprintf(`{"n":%d}`, i+1))
	}
	for range 2 {
		if msg, err := c.Receive(t.Context()); !errors.Is(err, transports.ErrInterrupted) {
			t.Fatalf("Receive = %q, %v; want ErrInterrupted", msg, err)
		}
	}
	requireNoError(t, c.Reopen(t.Context()))
	wantMessage(t, c, `{"n":4}`)
	requireNoError(t, c.Reopen(t.Context())) // also while the stream runs
	wantMessage(t, c, `{"n":4}`)
	if got := []string{<-ids, <-ids, <-ids}; got[0] != "" || got[1] != "e2" || got[2] != "e4" {
		t.Errorf("Last-Event-ID %q, want none, e2, e4", got)
	}
}

// An event that Receive has not taken when the stream is opened again comes again.
func TestReopenLosesNothing(t *testing.T) {
	var n atomic.Int32
	p := producer{events: func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			beginStream(w, "id: e1\ndata: {\"n\":1}\n\nid: e2\ndata: {\"n\":2}\n\n")
		} else if r.Header.Get("Last-Event-ID") == "e1" {
			beginStream(w, "id: e2\ndata: {\"n\":2}\n\n")
		}
		<-r.Context().Done()
	}}
	c, _ := p.dialAccepted(t, nil)
	wantMessage(t, c, `{"n":1}`)
	requireNoError(t, c.Reopen(t.Context()))
	wantMessage(t, c, `{"n":2}`)
}

// Which failures may be tried again. D-55, INV-49
func TestReopenErrors(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request left its origin: %v", r.Header)
	}))
	defer elsewhere.Close()
	for _, tt := range []struct {
		name   string
		status int
		header [2]string
		retry  bool
	}{
		{"ended", 404, [2]string{}, false}, {"gone", 410, [2]string{}, false}, {"not known", 401, [2]string{}, false},
		{"not allowed", 403, [2]string{}, false}, {"no content", 204, [2]string{}, false},
		{"another type", 200, [2]string{"Content-Type", "text/html"}, false},
		{"redirect to another port", 307, [2]string{"Location", elsewhere.URL + "/aaep/v1/events"}, false},
		{"redirect to itself for ever", 302, [2]string{"Location", "/aaep/v1/events"}, false},
		{"server error", 500, [2]string{}, true}, {"unavailable", 503, [2]string{}, true},
		{"timeout", 408, [2]string{}, true}, {"too many", 429, [2]string{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := producer{events: func(w http.ResponseWriter, _ *http.Request) {
				if tt.header[0] != "" {
					w.Header().Set(tt.header[0], tt.header[1])
				}
				w.WriteHeader(tt.status)
			}}
			c, _ := p.dialAccepted(t, http.Header{"Authorization": {"Bearer a"}})
			_, err := c.Receive(t.Context())
			if err == nil || errors.Is(err, transports.ErrInterrupted) != tt.retry {
				t.Errorf("Receive = %v, want an error that may be retried: %v", err, tt.retry)
			}
			err = c.Reopen(t.Context())
			if err == nil || errors.Is(err, transports.ErrInterrupted) != tt.retry {
				t.Errorf("Reopen = %v, want an error that may be retried: %v", err, tt.retry)
			}
		})
	}
}

// A GET is redirected within its origin, Last-Event-ID and all. TR-023
func TestRedirectWithinOrigin(t *testing.T) {
	p := producer{events: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/aaep/v1/events" {
			http.Redirect(w, r, "/new?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
			return
		}
		beginStream(w, "id: e1\ndata: {\"last\":\""+r.Header.Get("Last-Event-ID")+"\"}\n\n")
		<-r.Context().Done()
	}}
	c, _ := p.dialAccepted(t, nil)
	wantMessage(t, c, `{"last":""}`)
	requireNoError(t, c.Reopen(t.Context()))
	wantMessage(t, c, `{"last":"e1"}`)
}

// A subscriber that has received the producer's close knows the place to go on at, without waiting
// for the stream to come apart. P8
func TestLastEventIDAfterClose(t *testing.T) {
	bye := fmt.Sprintf(closing, "sub_1")
	sub, _ := producer{events: func(w http.ResponseWriter, r *http.Request) {
		beginStream(w, "id: evt_1\ndata: {\"type\":\"x\"}\n\ndata: "+bye+"\n\n")
		<-r.Context().Done()
	}}.dialAccepted(t, nil)
	wantMessage(t, sub, `{"type":"x"}`)
	wantMessage(t, sub, bye)
	if got := sub.(interface{ LastEventID() string }).LastEventID(); got != "evt_1" {
		t.Errorf("LastEventID = %q, want evt_1", got)
	}
}
