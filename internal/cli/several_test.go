package cli

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// At an address that has several agents below it, those are named.
func TestListenAboveSeveral(t *testing.T) {
	agents := map[string]*producer.Producer{}
	for _, name := range []string{"planner", "bank"} {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: name}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(t.Context())
		agents[name] = p
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go new(serve.Server).ServeAll(t.Context(), ln, agents)
	at := "http://" + ln.Addr().String()
	var out, errs bytes.Buffer
	if code := Main([]string{"listen", at}, strings.NewReader(""), &out, &errs); code != exits.Unreachable {
		t.Errorf("code %d", code)
	}
	if want := "aaep: there are several agents below " + at + ".\nFollow one of them, or more: aaep listen " + at +
		"/bank " + at + "/planner\n"; errs.String() != want {
		t.Errorf("%q, want %q", &errs, want)
	}
}
