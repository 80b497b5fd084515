package listen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
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
			clitest.PassTime(5 * time.Second)
			if got := e.err.String(); got != "aaep: La conexión con el agente está interrumpida. Lo que haga ahora se dirá cuando vuelva.\n" {
				t.Errorf("at first %q", got)
			}
			e.err.Reset()
			clitest.PassTime(55 * time.Second)
			if got := e.err.String(); got != "" {
				t.Errorf("within a minute %q", got)
			}
			clitest.PassTime(20 * time.Minute)
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
			clitest.PassTime(20 * time.Minute)
		})
		if got, want := e.err.String(), "aaep: Not connected again: the agent refuses your credentials. Waiting for newer ones in the file: "+token+"\naaep: The agent refuses your credentials. What it does is told again when it takes them, or newer ones.\n"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// A person whose agent has let its certificate expire hears that its operator has to act, and not
// that a new one belongs in --ca; one whose certificate is of another CA hears what to do here.
func TestUnprovenWhileAway(t *testing.T) {
	for cause, want := range map[error]string{
		x509.CertificateInvalidError{Reason: x509.Expired}: "the agent's operator has to renew it",
		x509.UnknownAuthorityError{}:                       "begin again with that in --ca",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			var link transports.Conn
			e := listenTo(t, func(ctx context.Context) (transports.Conn, error) {
				if link != nil {
					return nil, &tls.CertificateVerificationError{Err: cause}
				}
				var err error
				link, err = s.dial(ctx)
				return link, err
			}, subscriber.ScreenReader("en"), func(*testListener) {
				link.Close()
				clitest.PassTime(30 * time.Second)
			})
			if got := e.err.String(); strings.Count(got, want) != 1 || strings.Count(got, "Not connected again") != 1 {
				t.Errorf("%v: told %q, want %q once", cause, got, want)
			}
		})
	}
}
