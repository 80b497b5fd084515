package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// LVL-044: the command reaches an agent, makes it act, and ends with a code that a script can ask
// for.
func TestConformanceProducer(t *testing.T) {
	t.Parallel()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "target"}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve.Serve(context.Background(), ln, p) }()
	driver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/scenarios/tools" {
			http.Error(w, "not here", http.StatusNotImplemented)
			return
		}
		s, err := p.StartSession(r.Context(), aaep.Say("Working."))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer s.Close()
		s.Tool(r.Context(), producer.Tool{Name: "look", Action: aaep.Say("Looking.")}, func(context.Context) (string, error) { return "Seen.", nil })
		s.Complete(aaep.Say("Done."))
	}))
	t.Cleanup(func() {
		driver.Close()
		p.Shutdown(context.Background())
		<-served
	})
	at := "http://" + ln.Addr().String()
	drive := []string{"--driver", driver.URL}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	known, stale, wrong := file("known", "hands-over # nobody is there\n"), file("stale", "version-refused\n"), file("wrong", "no-such\n")
	json1, html1 := file("one", ""), file("two", "")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // in what is printed
	}{
		{"passed", append([]string{at, "--case", "verbosity-words-only,version-refused", "--level", "3"}, drive...), exits.OK, "PASS HS-058 version-refused: "},
		{"not proved", append([]string{at, "--case", "hands-over", "--level", "2"}, drive...), exits.Failed, "NOT RUN LVL-022 hands-over: the scenario handoff could not be started: the driver answered 501 Not Implemented: not here"},
		{"no case", append([]string{at, "--case", "nothing"}, drive...), exits.Usage, "aaep: no case for producers is named"},
		{"no driver", []string{at}, exits.Usage, "one of --driver, --command and --child"},
		{"two drivers", append([]string{at, "--command", "x"}, drive...), exits.Usage, "one of --driver, --command and --child"},
		{"a report of no form", append([]string{at, "--report", "x.pdf"}, drive...), exits.Usage, "none of .html, .json and .xml"},
		{"a report nowhere", append([]string{at, "--report", "no/such/x.html"}, drive...), exits.Usage, "there is no folder no/such"},
		{"known failure", append([]string{at, "--case", "hands-over", "--level", "2", "--known-failures", known}, drive...), exits.OK, "NOT RUN LVL-022 hands-over, as is known: "},
		{"stale", append([]string{at, "--case", "version-refused", "--level", "3", "--known-failures", stale}, drive...), exits.Failed, "STALE version-refused: "},
		{"unknown failure", append([]string{at, "--known-failures", wrong}, drive...), exits.Usage, "no case has that name"},
		{"as published", append([]string{"--endpoint", at, "--filter", "HS-058", "--level=3", "--timeout", "60", "-v", "--report-json", json1, "--report-html", html1}, drive...), exits.OK, "PASS HS-058 "},
		{"an extension that is not there", append([]string{at, "--case", "extensions-honored", "--extensions", "https://example.org/x", "--level", "3"}, drive...), exits.Failed, "FAIL EXT-015 extensions-honored: "},
		{"explained and judged", append([]string{at, "--explain", "HS-058", "--level", "3"}, drive...), exits.OK, "Case version-refused, MUST at Level 3."},
		{"exec and address", append([]string{at, "--exec", "x"}, drive...), exits.Usage, "give one of them"},
		{"child that is none", []string{at, "--child", "/no/such/program", "--case", "filters-kept", "--level", "3"}, exits.Unreachable, "the driver /no/such/program cannot be started"},
		{"child that never is ready", []string{at, "--child", "sleep 600", "--timeout", "1"}, exits.Unreachable, "sleep did not say within 1 second that it is ready"},
		{"no address", drive, exits.Usage, "give the address"},
		{"no level", append([]string{at, "--level", "4"}, drive...), exits.Usage, "none of 1, 2 and 3"},
		{"nobody", append([]string{"ws://127.0.0.1:1", "--level", "3", "--case", "version-refused"}, drive...), exits.Unreachable, "nothing answers"},
		{"nobody, over SSE", append([]string{"http://127.0.0.1:1/aaep/v1", "--level", "3", "--case", "version-refused"}, drive...), exits.Unreachable, "nothing answers"},
		{"no driver there", []string{at, "--driver", "http://127.0.0.1:1", "--level", "3"}, exits.Unreachable, "and its driver http://127.0.0.1:1 cannot be reached: "},
		{"no such command", []string{at, "--command", "/no/such/program"}, exits.Unreachable, "and its driver /no/such/program cannot be reached: "},
		{"list", []string{"--list"}, exits.OK, "asks-first: Level 2, MUST, LVL-019"},
		{"explain", []string{"--explain", "hs-020"}, exits.OK, "HS-020, MUST for producers at Level 2: Never send awaiting.confirmation to a subscription that cannot reply"},
		{"explain a case", []string{"--explain", "not-asked-if-mute"}, exits.OK, "cannot-reply: a subscriber says that it cannot answer confirmations"},
		{"explain what is not judged", []string{"--explain", "LVL-037"}, exits.OK, "No case decides it: it is a duty of subscribers."},
		{"explain nothing", []string{"--explain", "nothing"}, exits.Usage, "no requirement and no case"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, talk bytes.Buffer
			code := Main(append([]string{"conformance", "producer"}, tt.args...), strings.NewReader(""), &out, &talk)
			if all := out.String() + talk.String(); code != tt.code || !strings.Contains(all, tt.want) {
				t.Errorf("code %d, want %d and %q:\n%s", code, tt.code, tt.want, all)
			}
		})
	}
	for path, want := range map[string]string{json1: `"verdict": "PASS"`, html1: "<h1>Passed: target, producer Level 3, in part</h1>"} {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v, want %s: %.200s", err, want, text)
		}
	}
	var out, talk bytes.Buffer
	var report struct {
		Verdict string `json:"verdict"`
		Results []any  `json:"test_results"`
	}
	code := Main(append([]string{"conformance", "producer", at, "--case", "version-refused", "--level", "3", "--json"}, drive...), strings.NewReader(""), &out, &talk)
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || code != exits.OK || report.Verdict != "PASS" || len(report.Results) != len(conformance.Cases()) {
		t.Errorf("code %d, %v: %s", code, err, out.String())
	}
}

// What takes the connection and is silent is told apart from what is not there.
func TestConformanceSilent(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // which the kernel answers for
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	for scheme, want := range map[string]string{
		"http": "accepts the connection, but did not answer the subscription.request within 5s.",
		"ws":   "accepts the connection, but did not answer the opening of the link within 5s.",
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			var out, talk bytes.Buffer
			at := scheme + "://" + ln.Addr().String() + "/aaep/v1"
			code := Main([]string{"conformance", "producer", at, "--command", "true"}, strings.NewReader(""), &out, &talk)
			if code != exits.Unreachable || !strings.Contains(talk.String(), want) {
				t.Errorf("code %d, want %q:\n%s", code, want, talk.String())
			}
		})
	}
}

// SEC-001: an agent that asks for a token is also asked without one, and its signed manifest is
// proved with its keys.
func TestConformanceCredentials(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := manifest.NewSigner(private, manifest.SignerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	public, err := manifest.PublicKeys(signer)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	keys, token, other := filepath.Join(dir, "keys"), filepath.Join(dir, "token"), filepath.Join(dir, "other")
	for path, text := range map[string][]byte{keys: public, token: []byte("good\n"), other: []byte("fine\n")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "target"}, Signers: func() []*manifest.Signer { return []*manifest.Signer{signer} }})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := serve.Server{Authenticate: func(r *http.Request) (string, error) {
		name := map[string]string{"Bearer good": "friend", "Bearer fine": "neighbour"}[r.Header.Get("Authorization")]
		if name == "" {
			return "", errors.New("no token")
		}
		return name, nil
	}}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, ln, p) }()
	t.Cleanup(func() { stop(); p.Shutdown(context.Background()); <-served })
	for _, tt := range []struct {
		flags []string
		code  int
		want  string
	}{
		{[]string{"--token-file", token, "--trust", keys, "--case", "SEC-001,SEC-018,HS-090,HS-091"}, exits.OK, "4 passed, 0 failed"},
		{[]string{"--token-file", token, "--case", "SEC-018"}, exits.Failed, "NOT RUN SEC-018 manifest-signed: the signature was not verified"},
		{[]string{"--manifest", filepath.Join(dir, "none")}, exits.Usage, "cannot take --manifest"},
		{[]string{"--other-token-file", other}, exits.Usage, "give one of them too"},
		{[]string{"--token-file", token, "--other-token-file", token}, exits.Usage, "has to be that of somebody else"},
		{[]string{"--token-file", token, "--other-token-file", filepath.Join(dir, "none")}, exits.Usage, "cannot take --other-token-file"},
		{[]string{"--token-file", token, "--other-token-file", other, "--case", "SEC-014"}, exits.Unreachable, "its driver http://127.0.0.1:1 cannot be reached"},
		{[]string{"--trust", filepath.Join(dir, "none")}, exits.Usage, "cannot take --trust"},
	} {
		var out, talk bytes.Buffer
		args := append([]string{"conformance", "producer", "http://" + ln.Addr().String(), "--driver", "http://127.0.0.1:1", "--level", "3"}, tt.flags...)
		if code := Main(args, strings.NewReader(""), &out, &talk); code != tt.code || !strings.Contains(out.String()+talk.String(), tt.want) {
			t.Errorf("code %d, want %d and %q:\n%s%s", code, tt.code, tt.want, out.String(), talk.String())
		}
	}
}
