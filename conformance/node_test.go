package conformance_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/freeport"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports/sse"
)

// A producer in JavaScript, written from docs/wire.md and docs/drivers.md alone, is proved at
// Level 3: what the suite demands can be met by who never saw this SDK. LVL-041, LVL-042, LVL-043.
func TestProducerInJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("its clock is real; for make test-all")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js here")
	}
	_, port, _ := net.SplitHostPort(freeport.Addr())
	child := &conformance.ChildDriver{Command: []string{node, "testdata/agent.mjs", port}, Stderr: os.Stderr}
	defer child.Close()
	if err := child.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	dialer := sse.Dialer{URL: "http://127.0.0.1:" + port, Client: client}
	r, err := conformance.ProducerRun{Dialer: dialer, Driver: child, Level: 3,
		Manifest: func(ctx context.Context) ([]byte, error) {
			q, err := http.NewRequestWithContext(ctx, "GET", "http://127.0.0.1:"+port+manifest.Path, nil)
			if err != nil {
				return nil, err
			}
			answer, err := client.Do(q)
			if err != nil {
				return nil, err
			}
			defer answer.Body.Close()
			return io.ReadAll(answer.Body)
		}}.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unproved := func(res conformance.Result) bool { // it has one language and one principal, and signs nothing
		return res.Verdict == conformance.Skipped
	}
	var text bytes.Buffer
	if r.WriteText(&text); r.Verdict != conformance.Pass {
		t.Error(text.String())
	}
	if n := len(slices.DeleteFunc(slices.Clone(r.Results), unproved)); n < 105 || strings.Contains(text.String(), "DEVIATION") {
		t.Errorf("%d cases were judged:\n%s", n, text.String())
	}
}
