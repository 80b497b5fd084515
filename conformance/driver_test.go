package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/freeport"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/stdio"
)

// This program is its own driver: see TestCommandDriver.
func init() {
	switch os.Getenv("CONFORMANCE_DRIVER") {
	case "write":
		in := make([]byte, 200)
		n, _ := os.Stdin.Read(in)
		os.WriteFile(os.Getenv("CONFORMANCE_OUT"), append([]byte(os.Args[len(os.Args)-1]+" "), in[:n]...), 0o600)
		os.Exit(0)
	case "fail":
		os.Stderr.WriteString("no such scenario")
		os.Exit(3)
	case "child":
		fmt.Println("{}")
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			switch {
			case strings.Contains(lines.Text(), "handoff"):
				fmt.Println(`{"error": "no such scenario"}`)
			case strings.Contains(lines.Text(), "clarify"):
				fmt.Println("what?")
			case strings.Contains(lines.Text(), "fail"):
				os.Exit(4)
			case strings.Contains(lines.Text(), "idle"): // says so when it is told the next
			case strings.Contains(lines.Text(), "tools"):
				fmt.Println(`{"error": "of the one before"}`)
				fmt.Println("{}")
			default:
				fmt.Println("{}")
			}
		}
		os.Exit(0)
	case "agent":
		os.Exit(beAgent(os.Getenv("CONFORMANCE_AT")))
	case "hang":
		time.Sleep(time.Hour)
	}
}

// A command gets the scenario, its failure is told, and one that hangs is ended with the scenario
// run.
func TestCommandDriver(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := conformance.CommandDriver{Command: []string{self}}
	s := conformance.Scenario{Name: conformance.Ask, TimeoutSeconds: 20}
	path := filepath.Join(t.TempDir(), "out")
	t.Setenv("CONFORMANCE_OUT", path)
	t.Setenv("CONFORMANCE_DRIVER", "write")
	if err := d.Start(t.Context(), s); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != `ask {"name":"ask","timeout_seconds":20}` {
		t.Errorf("%v: %s", err, got)
	}
	t.Setenv("CONFORMANCE_DRIVER", "fail")
	if err := d.Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "no such scenario") {
		t.Errorf("err = %v", err)
	}
	t.Setenv("CONFORMANCE_DRIVER", "hang")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- d.Start(ctx, s) }()
	cancel()
	if err := <-over; err != nil {
		t.Errorf("err = %v", err)
	}
	if err := (conformance.CommandDriver{}).Start(t.Context(), s); err == nil {
		t.Error("no command was run")
	}
}

// A child gets a line for each scenario; its answer is the one to that scenario, and how it ends is
// told.
func TestChildDriver(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFORMANCE_DRIVER", "child")
	d := &conformance.ChildDriver{Command: []string{self}}
	start := func(name, want string) {
		t.Helper()
		err := d.Start(t.Context(), conformance.Scenario{Name: name})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	start(conformance.Stream, "")
	start(conformance.Handoff, "no such scenario")
	start(conformance.Clarify, "neither {} nor")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.Start(ctx, conformance.Scenario{Name: conformance.Idle}); err != nil {
		t.Error(err)
	}
	start(conformance.Tools, "")
	start(conformance.Errored, "ended")
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("Close = %v", err)
	}
	start(conformance.Ask, "") // it is run again
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	t.Setenv("CONFORMANCE_DRIVER", "hang")
	if err := d.Start(ctx, conformance.Scenario{Name: conformance.Ask}); err == nil ||
		!strings.Contains(err.Error(), "not say that it is ready") {
		t.Errorf("Start = %v", err)
	}
	if err := d.Close(); err == nil {
		t.Error("a child that hangs was not killed")
	}
	if err := (&conformance.ChildDriver{Command: []string{"/no/such/program"}}).Start(t.Context(),
		conformance.Scenario{}); err == nil {
		t.Error("no program was run")
	}
}

// beAgent is an agent that speaks on standard output and is driven over HTTP.
func beAgent(at string) int {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "child"}})
	if err != nil {
		return 2
	}
	ln, err := net.Listen("tcp", at) // before it can be reached, and so asked to act
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	go http.Serve(ln, driverEndpoint(&target{Producer: p}))
	l, err := stdio.Listen(nil)
	if err != nil {
		return 2
	}
	if err := p.Serve(context.Background(), l); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
	}
	return 0
}

// An agent that is a child, and therefore has one subscriber at a time: what needs two is skipped,
// and the report says so. It says too that no subscriber was asked for credentials. TR-017.
func TestOneLink(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := freeport.Addr()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := conformance.ProducerRun{Level: 3, OneLink: true,
		Driver: conformance.HTTPDriver{Base: "http://" + at, Client: client},
		Only:   []string{"reject-means-no", "all-are-asked", "version-refused"},
		Dialer: stdio.Dialer{Command: func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "CONFORMANCE_DRIVER=agent", "CONFORMANCE_AT="+at)
			cmd.Stderr = os.Stderr
			return cmd
		}}}.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := verdictsByCase(r)
	if r.Verdict != conformance.Pass || got["reject-means-no"] != conformance.Pass ||
		got["version-refused"] != conformance.Pass ||
		got["all-are-asked"] != conformance.Skipped || len(r.Warnings) != 2 || r.Name != "child" {
		var text bytes.Buffer
		r.WriteText(&text)
		t.Error(text.String())
	}
}
