package cli

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
)

// A person who is cut off for long hears when it is tried next, after one minute, four and sixteen,
// and not at every attempt.
func TestAwayForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		var link transports.Conn
		e := listenTo(t, func(ctx context.Context) (transports.Conn, error) {
			if link != nil {
				return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
			}
			var err error
			link, err = s.dial(ctx)
			return link, err
		}, subscriber.ScreenReader("es"), func(e *testListener) {
			link.Close()
			passTime(5 * time.Second)
			if got := e.err.String(); got != "aaep: La conexión con el agente está interrumpida. Lo que haga ahora se dirá cuando vuelva.\n" {
				t.Errorf("at first %q", got)
			}
			e.err.Reset()
			passTime(55 * time.Second)
			if got := e.err.String(); got != "" {
				t.Errorf("within a minute %q", got)
			}
			passTime(20 * time.Minute)
		})
		lines := strings.Split(strings.TrimSpace(e.err.String()), "\n")
		for _, line := range lines {
			if !strings.HasPrefix(line, "aaep: Tiempo hasta el próximo intento: ") {
				t.Errorf("%q", line)
			}
		}
		if len(lines) != 3 {
			t.Errorf("in twenty minutes %d lines, want 3: %q", len(lines), lines)
		}
	})
}

// A person whose token is refused once the link was cut hears it once, and which file a newer one
// belongs in.
func TestRefusedWhileAway(t *testing.T) {
	token := filepath.Join(t.TempDir(), "mine.token")
	if err := os.WriteFile(token, []byte("F7K2M9Q4T6W8Y3B5D7G9J2L4N6"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		var link transports.Conn
		e := listenTo(t, func(ctx context.Context) (transports.Conn, error) {
			if _, err := auth.BearerFile(token)(ctx); err != nil {
				return nil, err
			}
			if link != nil {
				return nil, &aaep.Rejection{Code: aaep.AuthenticationRequired, Remote: true}
			}
			var err error
			link, err = s.dial(ctx)
			return link, err
		}, subscriber.ScreenReader("en"), func(e *testListener) {
			link.Close()
			passTime(20 * time.Minute)
		})
		if got, want := e.err.String(), "aaep: Not connected again: the agent refuses your credentials. Waiting for newer ones in the file: "+token+"\naaep: The agent refuses your credentials. What it does is told again when it takes them, or newer ones.\n"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// At an address that has several agents below it, those are named.
func TestListenAboveSeveral(t *testing.T) {
	agents := map[string]*producer.Producer{}
	for _, name := range []string{"planner", "bank"} {
		p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: name}})
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
	if code := Main([]string{"listen", at}, strings.NewReader(""), &out, &errs); code != exitUnreachable {
		t.Errorf("code %d", code)
	}
	if want := "aaep: there are several agents below " + at + ".\nFollow one of them, or more: aaep listen " + at +
		"/bank " + at + "/planner\n"; errs.String() != want {
		t.Errorf("%q, want %q", &errs, want)
	}
}
