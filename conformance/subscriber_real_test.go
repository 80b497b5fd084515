package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/endpoint"
	"github.com/aaep-go/aaep/internal/freeport"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/stdio"
	"github.com/aaep-go/aaep/transports/websocket"
)

const readerArg, relayArg = "be-a-reader", "be-a-relay"

// beAReader makes this binary the program that is started for every scenario run, if it is started
// so.
func beAReader() bool {
	if len(os.Args) == 3 && os.Args[1] == relayArg {
		if err := endpoint.Relay(os.Args[2], os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return true
	}
	if len(os.Args) != 4 || os.Args[1] != readerArg {
		return false
	}
	if err := runFaultyReader(os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// lineHook is the hook of a program.
type lineHook struct{ lines chan []byte }

func (s lineHook) Tell(line []byte) { os.Stdout.Write(append(bytes.TrimSpace(line), '\n')) }
func (s lineHook) Next(ctx context.Context) ([]byte, error) {
	select {
	case line := <-s.lines:
		return line, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// without drops headers of requests.
type without []string

func (w without) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, name := range w {
		r.Header.Del(name)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func runFaultyReader(fault_, url string) error {
	var d transports.Dialer
	switch {
	case strings.HasPrefix(url, "http"):
		forgets := without{}
		if fault_ != "none" {
			forgets = without{fault_}
		}
		d = sse.Dialer{URL: url, Client: &http.Client{Transport: forgets}, RootLayout: true}
	case strings.Contains(url, relayArg):
		d = stdio.Dialer{Command: func() *exec.Cmd {
			words := strings.Fields(url)
			return exec.Command(words[0],
				words[1:]...)
		}}
	case strings.HasPrefix(url, "ws"):
		d = websocket.Dialer{URL: url}
	default:
		d = ipc.Dialer{Path: url}
	}
	h := lineHook{make(chan []byte)}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			h.lines <- bytes.Clone(in.Bytes())
		}
	}()
	rd := &reader{dialer: d, caps: usualReader()}
	return rd.followEvents(context.Background(), h)
}

func testCommand(t *testing.T, fault string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, readerArg, fault}
}

func endpointFor(t *testing.T, transport string) *endpoint.Endpoint {
	t.Helper()
	var s *endpoint.Endpoint
	var err error
	if transport == "stdio" {
		s, err = endpoint.Child(testCommand(t, "")[0] + " " + relayArg)
	} else {
		s, err = endpoint.Listen(listenAddress(t, transport), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listenAddress is where an endpoint may listen, by the name of its transport.
func listenAddress(t *testing.T, transport string) string {
	t.Helper()
	switch transport {
	case "sse":
		return "http://127.0.0.1:0"
	case "root layout":
		return "http://127.0.0.1:0/events"
	case "websocket":
		return "ws://127.0.0.1:0"
	}
	private, err := os.MkdirTemp("", "aaep") // 0700, and short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(private) })
	return filepath.Join(private, "agent.sock")
}

// LVL-012, LVL-043: our subscriber passes Level 3 over each transport, as a program that is started
// for each scenario run.
func TestRealSubscribers(t *testing.T) {
	command := testCommand(t, "none")
	all := []string{"sse", "websocket", "ipc", "stdio", "root layout"}
	if testing.Short() {
		all = all[:1]
	}
	for _, transport := range all {
		t.Run(transport, func(t *testing.T) {
			t.Parallel() // they wait more than they work
			s := endpointFor(t, transport)
			defer s.Close()
			began := time.Now()
			r, err := conformance.SubscriberRun{Listener: s,
				Subscriber: conformance.CommandSubscriber{Command: command, URL: s.URL(), Stderr: os.Stderr},
				Level:      map[bool]int{true: 2, false: 3}[transport == "root layout"],
				Timeout:    time.Minute}.Prove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if text := notPassed(r); text != "" || r.Verdict != conformance.Pass {
				t.Error(text, r.Summary())
			}
			t.Log(time.Since(began).Round(time.Millisecond), r.Summary())
		})
	}
}

// SSE-012, SSE-015: what can be seen on an event stream alone.
func TestStreamMutants(t *testing.T) {
	for header, caught := range map[string]string{"Last-Event-ID": "goes-on", "Cache-Control": "binding",
		"Accept": "binding"} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			s, err := endpoint.Listen(listenAddress(t, "sse"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := conformance.SubscriberRun{Listener: s,
				Subscriber: conformance.CommandSubscriber{Command: testCommand(t, header), URL: s.URL()}, Level: 3,
				Timeout: time.Minute,
				Only: []string{"goes-on", "binding", "no-doubles", "survives-cut",
					"request-valid"}}.Prove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range r.Results {
				if bad := slices.Contains([]conformance.Verdict{conformance.Fail, conformance.Deviation},
					res.Verdict); bad != (res.Case.Name == caught) {
					t.Errorf("%s %s: %s", res.Verdict, res.Case.Name, res.Seen)
				}
			}
		})
	}
}

// documentedProgram writes the program that a page of the documentation has below a title into a
// file, and returns how it is run.
func documentedProgram(t *testing.T, name, title string) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python here")
	}
	page, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "# "+title+"\n")
	_, rest, _ = strings.Cut(rest, "```python\n")
	program, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("there is no program in docs/" + name)
	}
	path := filepath.Join(t.TempDir(), "program.py")
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{python, path}
}

// LVL-044: the producer in the documentation does what is said of it.
func TestDocumentedProducer(t *testing.T) {
	_, port, _ := net.SplitHostPort(freeport.Addr())
	child := &conformance.ChildDriver{Command: append(documentedProgram(t, "conformance.md", "Proving a producer"), port),
		Stderr: os.Stderr}
	defer child.Close()
	if err := child.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	run := conformance.ProducerRun{Dialer: sse.Dialer{URL: "http://127.0.0.1:" + port, Client: client}, Driver: child,
		Level: 1}
	r, err := run.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := notPassed(r); text != "" || r.Verdict != conformance.Pass {
		t.Error(text, r.Summary())
	}
}

// LVL-044: and so do the subscribers.
func TestDocumentedSubscriber(t *testing.T) {
	t.Run("Level 1", func(t *testing.T) {
		proveDocumented(t, 1,
			documentedProgram(t, "conformance.md", "Proving a subscriber"))
	})
	if testing.Short() {
		t.Skip("Level 3 is for make test-all")
	}
	t.Run("Level 3", func(t *testing.T) { proveDocumented(t, 3, documentedProgram(t, "wire.md", "The wire")) })
}

// The words of a question are told once, though its session's state says them too; where no
// question follows the state is told.
func TestDocumentedSubscriberTellsOnce(t *testing.T) {
	const event = `data: {"@context":"https://aaep-protocol.org/context/v1","type":"aaep:agent.%s","event_id":"%s","session_id":"%s",` +
		`"timestamp":"2026-01-02T03:04:05Z","producer":{"agent_id":"a"},%s}` + "\n\n"
	read := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Location", "/stream")
			io.WriteString(w, `{"subscription_id":"sub_1","honored_capabilities":{}}`)
			return
		}
		state := `"from_state":"thinking","to_state":"awaiting_input","summary_normal":`
		fmt.Fprintf(w, event, "state.changed", "evt_1", "sess_other", state+`"Waiting for another."`)
		fmt.Fprintf(w, event, "state.changed", "evt_2", "sess_1", state+`"Pay $20 to Ada."`)
		fmt.Fprintf(w, event, "awaiting.confirmation", "evt_3", "sess_1", `"action":"Pay $20 to Ada.","consequence":"It is gone.",`+
			`"reply_token":"rpl_1","timeout_seconds":60,"default_decision":"reject"`)
		w.(http.Flusher).Flush()
		<-read
	}))
	defer s.Close()
	defer close(read)
	command := documentedProgram(t, "wire.md", "The wire")
	program := exec.CommandContext(t.Context(), command[0], append(command[1:], s.URL)...)
	keys, _ := program.StdinPipe()
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer program.Wait()
	defer program.Process.Kill()
	defer keys.Close()
	var told []string
	for lines := bufio.NewScanner(out); len(told) < 2 && lines.Scan(); {
		told = append(told, lines.Text())
	}
	all := strings.Join(told, "\n")
	if strings.Count(all, "Pay $20 to Ada.") != 1 || !strings.Contains(all, "It is gone.") || !strings.Contains(all, "Waiting for another.") {
		t.Errorf("told\n%s", all)
	}
}

func proveDocumented(t *testing.T, level int, command []string) {
	t.Helper()
	s, err := endpoint.Listen(listenAddress(t, "sse"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := conformance.SubscriberRun{Listener: s,
		Subscriber: conformance.CommandSubscriber{Command: command, URL: s.URL(), Stderr: os.Stderr},
		Level:      level, Timeout: time.Minute}.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := notPassed(r); text != "" || r.Verdict != conformance.Pass {
		t.Error(text, r.Summary())
	}
}

// A target that runs already uses the hook over HTTP, and comes again after each scenario run.
func TestHookOverHTTP(t *testing.T) {
	web := &conformance.HTTPHook{}
	s, err := endpoint.Listen(listenAddress(t, "sse"), web)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil { // it comes again and again
			rd := &reader{dialer: sse.Dialer{URL: s.URL()}, caps: usualReader(), f: fault{stays: true}}
			rd.followEvents(ctx, overHTTP{s.URL() + endpoint.HookPath})
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r, err := conformance.SubscriberRun{Listener: s, Subscriber: web, Level: 2, Timeout: time.Minute,
		Only: []string{"start-told", "unknown-type", "decision-kept", "answers-sent",
			"gone-when-settled"}}.Prove(t.Context())
	stop()
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	if text := notPassed(r); text != "" || r.Counts[conformance.Pass] != 5 {
		t.Error(text, r.Summary())
	}
}

// overHTTP is the reader's end of a hook over HTTP.
type overHTTP struct{ at string }

func (h overHTTP) Tell(line []byte) {
	resp, err := http.Post(h.at+"presented", "application/json", bytes.NewReader(line))
	if err == nil {
		resp.Body.Close()
	}
}

func (h overHTTP) Next(ctx context.Context) ([]byte, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.at+"user", nil)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		line, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode == http.StatusOK {
			return line, err
		}
		select {
		case <-time.After(10 * time.Millisecond): // between two scenario runs
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// An endpoint is for this machine, and says what is wrong with an address.
func TestEndpoint(t *testing.T) {
	for _, address := range []string{"http://192.0.2.1:80", "http://127.0.0.1", "ftp://127.0.0.1:0",
		"http://127.0.0.1:0/path"} {
		if s, err := endpoint.Listen(address, nil); err == nil {
			s.Close()
			t.Errorf("%s was taken", address)
		}
	}
	if s, err := endpoint.Listen(listenAddress(t, "ipc"), &conformance.HTTPHook{}); err == nil {
		s.Close()
		t.Error("a hook over a socket was taken")
	}
}
