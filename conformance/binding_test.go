package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports/sse"
)

// A target that breaks the rules of Server-Sent Events below the messages is told which, whether
// the link works in spite of that or not; a target that keeps them passes. SSE-004, SSE-006,
// SSE-010, SSE-016.
func TestBinding(t *testing.T) {
	header := func(name, value string) func(int, http.Header) int {
		return func(status int, h http.Header) int {
			if strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") || name == "Location" {
				h.Del(name)
				if value != "" {
					h.Set(name, value)
				}
			}
			return status
		}
	}
	status := func(from, to int) func(int, http.Header) int {
		return func(status int, _ http.Header) int {
			if status == from {
				return to
			}
			return status
		}
	}
	body := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return regexp.MustCompile(from).ReplaceAll(b, []byte(to)) }
	}
	for _, tt := range []struct {
		name  string
		level int
		head  func(int, http.Header) int
		body  func([]byte) []byte
		want  string // "" is that it passes
	}{
		{"as it should be", 3, nil, nil, ""},
		{"no type", 1, header("Content-Type", "application/octet-stream"), nil, "SSE-016"},
		{"another charset", 3, header("Content-Type", "text/event-stream; charset=iso-8859-1"), nil, "SSE-016"},
		{"UTF-8", 3, header("Content-Type", "text/event-stream; charset=UTF-8"), nil, ""},
		{"may be cached", 3, header("Cache-Control", ""), nil, "SSE-016"},
		{"no Location", 3, header("Location", ""), nil, "SSE-004"},
		{"Location elsewhere", 3, header("Location", "http://elsewhere.example/events"), nil, "SSE-004"},
		{"200 for an acceptance", 3, status(201, 200), nil, "SSE-004"},
		{"200 for an acceptance at Level 1", 1, status(201, 200), nil, ""},
		{"500 for an acceptance", 1, status(201, 500), nil, "TR-004"},
		{"200 for a reply", 3, status(204, 200), nil, "SSE-010"},
		{"no names", 3, nil, body(`event: [^\n]*\n`, ""), "SSE-006"},
		{"no ids", 3, nil, body(`id: [^\n]*\n`, ""), "SSE-006"},
		{"other ids", 3, nil, body(`id: evt_`, "id: evt_0"), "SSE-006"},
		{"data that is no object", 3, nil, body(`event: aaep.event`,
			"event: aaep.event\ndata: [1]\n\nevent: aaep.event"), "SSE-006"},
		{"other events beside", 3, nil, body(`event: aaep.event`, "event: clock\ndata: 12:00\n\nevent: aaep.event"),
			""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := servedBy(t, tt.level, []string{"binding"}, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					h.ServeHTTP(&faultyWriter{ResponseWriter: w, head: tt.head, body: tt.body}, r)
				})
			})
			beyond := tt.level == 1 && tt.want == "" // passes, and is told of
			got := report.Results[slices.IndexFunc(report.Results,
				func(r conformance.Result) bool { return r.Case.Name == "binding" })]
			switch {
			case tt.want == "" && got.Verdict != conformance.Pass, tt.want != "" &&
				(got.Verdict != conformance.Fail || !strings.Contains(got.Seen, "("+tt.want+")")):
				t.Errorf("%s, %s; want %q", got.Verdict, got.Seen, tt.want)
			case beyond != strings.Contains(strings.Join(report.Warnings, "; "),
				"higher one: an acceptance has the status 200 OK, not 201 (SSE-004)"):
				t.Errorf("the notes are %q", report.Warnings)
			case strings.Count(got.Seen, "("+tt.want+")") > 1:
				t.Errorf("it is told more than once: %s", got.Seen)
			}
		})
	}
}

// A stream that cannot be followed keeps most of a level from being judged, which is told once,
// beside the rule that is broken.
func TestLinkThatEnds(t *testing.T) {
	report := servedBy(t, 1, nil, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.Header().Set("Location", "/events")
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, `{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"a"},"honored_capabilities":{}}`)
				return
			}
			io.WriteString(w, "data: {}\n\n")
		})
	})
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil || strings.Count(text.String(), "for the link ended") != 1 ||
		strings.Count(text.String(), "(SSE-016)") != 4 {
		t.Errorf("%v:\n%s", err, &text) // two things, each with its evidence
	}
}

// A stream that broke goes on where it was, or begins with the state of now; one that does neither
// leaves a listener who lost it for a moment in the dark. SSE-013, SSE-014.
func TestResumed(t *testing.T) {
	for name, tt := range map[string]struct {
		forgets bool // where the stream was
		drops   func(frame []byte) bool
		want    conformance.Verdict
	}{
		"goes on":         {false, nil, conformance.Pass},
		"tells the state": {true, nil, conformance.Pass},
		"tells no state": {true, func(b []byte) bool {
			return bytes.Contains(b,
				[]byte(`"to_state":"awaiting_input"`))
		}, conformance.Fail},
		"tells nothing more": {false, func([]byte) bool { return true }, conformance.Fail},
		"leaves out the middle": {false, func(b []byte) bool { return bytes.Contains(b, []byte(`"to_state":"awaiting_input"`)) },
			conformance.Fail},
		"leaves out an event": {false, func(b []byte) bool { return bytes.Contains(b, []byte("session.started")) },
			conformance.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			opened := map[string]bool{}
			report := servedBy(t, 2, []string{"resumed"}, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					again := r.Method == http.MethodGet && opened[r.URL.String()]
					opened[r.URL.String()] = true
					mu.Unlock()
					if again && tt.forgets {
						r.Header.Del("Last-Event-ID")
					}
					if again && tt.drops != nil {
						w = &faultyWriter{ResponseWriter: w, body: func(b []byte) []byte {
							var kept []byte
							for frame := range bytes.SplitAfterSeq(b, []byte("\n\n")) {
								if !tt.drops(frame) {
									kept = append(kept, frame...)
								}
							}
							return kept
						}}
					}
					h.ServeHTTP(w, r)
				})
			})
			got := report.Results[slices.IndexFunc(report.Results,
				func(r conformance.Result) bool { return r.Case.Name == "resumed" })]
			if got.Verdict != tt.want {
				t.Errorf("%s, %s\n%v; want %s", got.Verdict, got.Seen, got.Evidence, tt.want)
			}
		})
	}
}

// servedBy is what the suite says of how our producer is carried.
func servedBy(t *testing.T, level int, only []string,
	breaks func(http.Handler) http.Handler) (report *conformance.Report) {
	synctest.Test(t, func(t *testing.T) {
		g, net := newTarget(t), memnet.Listen()
		served := &serve.Server{}
		handler, err := served.Handler(g.Producer)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: breaks(handler)}
		var serving sync.WaitGroup
		serving.Go(func() { server.Serve(net) })
		report, err = conformance.ProducerRun{Dialer: sse.Dialer{URL: "http://localhost", Client: net.Client(t)},
			Driver: g, Level: level, Only: only}.Prove(t.Context())
		if err != nil {
			t.Error(err)
			report = &conformance.Report{}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		g.Producer.Shutdown(ctx)
		server.Close()
		serving.Wait()
	})
	return report
}

// botched is an answer of which something is changed. A text whose stream broke in the middle goes
// on where it was. Who tells it again under new ids, or leaves out what was missed, is caught.
// SSE-014, EVT-059
func TestResumedText(t *testing.T) {
	for name, tt := range map[string]struct {
		edits func(frame []byte, n int) []byte // of a stream that is opened again, the n-th
		fresh bool                             // forgets where the stream was, and tells all of it again
		want  conformance.Verdict
	}{
		"goes on": {nil, false, conformance.Pass},
		"tells it again under new ids": {func(b []byte, n int) []byte {
			return regexp.MustCompile(`(evt_[0-9a-f]{20})[0-9a-f]{12}`).ReplaceAll(b, fmt.Appendf(nil, "${1}%012d", n))
		}, true, conformance.Fail},
		"leaves a part out": {func(b []byte, n int) []byte {
			if n == 1 {
				return nil
			}
			return b
		}, false, conformance.Fail},
		"tells neither more of it nor the state": {func(b []byte, _ int) []byte {
			if bytes.Contains(b, []byte("output.streaming")) || bytes.Contains(b, []byte("state.changed")) {
				return nil
			}
			return b
		}, false, conformance.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			opened := map[string][]byte{} // what came first on a stream, by its address
			n := 0
			report := servedBy(t, 2, []string{"resumed-text"}, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet {
						h.ServeHTTP(w, r)
						return
					}
					mu.Lock()
					before, again := opened[r.URL.String()]
					if !again {
						opened[r.URL.String()] = nil
					}
					mu.Unlock()
					edit := func(b []byte) []byte {
						mu.Lock()
						defer mu.Unlock()
						if !again {
							opened[r.URL.String()] = append(opened[r.URL.String()], b...)
							return b
						}
						var edited []byte
						if tt.fresh && before != nil { // all that came before the stream broke, once more
							b, before = append(bytes.Clone(before), b...), nil
						}
						for frame := range bytes.SplitAfterSeq(b, []byte("\n\n")) {
							if n++; tt.edits != nil {
								frame = tt.edits(frame, n)
							}
							edited = append(edited, frame...)
						}
						return edited
					}
					h.ServeHTTP(&faultyWriter{ResponseWriter: w, body: edit}, r)
				})
			})
			got := report.Results[slices.IndexFunc(report.Results,
				func(r conformance.Result) bool { return r.Case.Name == "resumed-text" })]
			if got.Verdict != tt.want {
				t.Errorf("%s, %s\n%v; want %s", got.Verdict, got.Seen, got.Evidence, tt.want)
			}
		})
	}
}

type faultyWriter struct {
	http.ResponseWriter
	head func(int, http.Header) int
	body func([]byte) []byte
	sent bool
}

func (w *faultyWriter) WriteHeader(status int) {
	w.sent = true
	if w.head != nil {
		status = w.head(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *faultyWriter) Write(b []byte) (int, error) {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	changed := bytes.Clone(b)
	if w.body != nil && bytes.Contains(b, []byte("data: ")) {
		changed = w.body(changed)
	}
	_, err := w.ResponseWriter.Write(changed)
	return len(b), err
}

func (w *faultyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w *faultyWriter) Flush()                      { w.ResponseWriter.(http.Flusher).Flush() }
