// Package agui makes an agent accessible that speaks AG-UI with a web app: it stands between the
// two, passes on what they say, and makes a session of each run. What the agent asks with an
// interrupt is asked through AAEP, and its run resumed with the answer, so that the web app sees
// one run that goes on; where that cannot be, the app gets the interrupt and asks itself.
//
// It serves one person: every listener of the Producer hears all runs that pass.
//
// The proxy is in agui.go, what passes through it in relay.go, and what is told of a run in run.go.
// What an interrupt asks, and what counts as an approval, is in interrupt.go; history.go keeps the
// conversation that a resumed run is sent.
package agui

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/producer"
)

// maxRequest is how many bytes a request may have that is followed; it is kept until its run ends.
const maxRequest = 32 << 20

// Config says how runs are told.
type Config struct {
	// Observe only tells of interrupts, and leaves them to the web app.
	Observe bool
	// Reasoning also tells what the model thinks before it answers.
	Reasoning bool
	// Timeout is how long the user has to answer an interrupt that does not expire. Zero is five
	// minutes.
	Timeout time.Duration
	// Transport sends to the agent; nil is one that verifies its certificate.
	Transport http.RoundTripper
}

// Proxy returns a handler that forwards requests to the agent at upstream and announces what its
// runs do through p. Runs whose answers are Server-Sent Events are followed; all else is forwarded
// unchanged. The path of upstream is that of the endpoint, which is also served at "/".
func Proxy(p *producer.Producer, upstream *url.URL, cfg Config) http.Handler {
	if cfg.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DisableCompression = true
		cfg.Transport = transport
	}
	return &httputil.ReverseProxy{
		Transport: &transport{producer: p, cfg: cfg},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			if upstream.Path != "" && (r.In.URL.Path == "/" || r.In.URL.Path == upstream.Path) { // the endpoint itself
				r.Out.URL.Path, r.Out.URL.RawPath = upstream.Path, upstream.RawPath
			}
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // addresses may hold keys
	}
}

// A transport sends requests to the agent, and follows those that start a run.
type transport struct {
	producer *producer.Producer
	cfg      Config
}

// input is what counts here of a RunAgentInput.
type input struct {
	ThreadID string           `json:"threadId"`
	RunID    string           `json:"runId"`
	Messages []jsontext.Value `json:"messages"`
	State    jsontext.Value   `json:"state"`
	Tools    []struct {
		Name string `json:"name"`
	} `json:"tools"`

	members map[string]jsontext.Value // all of them
}

// RoundTrip sends a request of the web app to the agent. Where it starts a run, the run is
// announced and its stream passes through relayStream; any other request passes as it is. An agent
// that cannot be reached is announced too, and the error is the transport's.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, in := readInput(r)
	if in == nil {
		if body != nil {
			r = withBody(r, body)
		}
		return t.cfg.Transport.RoundTrip(r)
	}
	r = withBody(r, body)
	r.Header = r.Header.Clone()
	r.Header.Set("Accept", "text/event-stream") // and not the binary form
	r.Header.Set("Accept-Encoding", "identity")
	resp, err := t.cfg.Transport.RoundTrip(r)
	problem := ""
	switch {
	case err != nil && r.Context().Err() == nil:
		problem = "The agent could not be reached."
	case err == nil && resp.StatusCode >= http.StatusBadRequest:
		problem = fmt.Sprintf("The agent did not take the request: it answered with the status %d.", resp.StatusCode)
	}
	if problem != "" {
		if x := newRun(r, t, in); x != nil {
			x.endRun(errUnserved, problem)
		}
	}
	if err != nil || !isStream(resp) {
		return resp, err
	}
	x := newRun(r, t, in)
	if x == nil {
		return resp, nil
	}
	read, write := io.Pipe()
	stream := resp.Body
	resp.Body = read
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	go func() { write.CloseWithError(x.relayStream(write, stream)) }()
	return resp, nil
}

// readInput returns the body of a request that is JSON and small enough, and what is in it that
// starts a run; nil where the request starts none. A body that was read but starts no run is passed
// on as it is; body is nil where nothing was read.
func readInput(r *http.Request) (body []byte, in *input) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || media != "application/json" || r.Body == nil || r.ContentLength < 0 ||
		r.ContentLength > maxRequest {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, r.ContentLength))
	if err != nil {
		return body, nil
	}
	in = &input{}
	if bridge.Decode(body, in) != nil || bridge.Decode(body, &in.members) != nil {
		return body, nil
	}
	if in.ThreadID == "" || in.RunID == "" {
		return body, nil
	}
	return body, in
}

// withBody returns a copy of a request with this body in place of its own, which was read.
func withBody(r *http.Request, body []byte) *http.Request {
	clone := r.Clone(r.Context())
	clone.Body, clone.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	clone.GetBody = nil // it is sent once: a run that is started twice acts twice
	return clone
}

// isStream reports whether an answer is a stream of events that can be read.
func isStream(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	coding := resp.Header.Get("Content-Encoding")
	return resp.StatusCode == http.StatusOK && media == "text/event-stream" &&
		(coding == "" || strings.EqualFold(coding, "identity"))
}
