package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

type answer struct {
	name string
	err  error
}

// Who is in stays in until their credentials are withdrawn, and is put out once then, within
// seconds. INV-43
func TestWatch(t *testing.T) {
	for name, tc := range map[string]struct {
		now answer
		out bool
	}{
		"the token is gone":         {answer{err: fmt.Errorf("not known: %w", aaep.AuthenticationRequired)}, true},
		"it is allowed no more":     {answer{err: aaep.AuthorizationDenied}, true},
		"it is another's now":       {answer{name: "bob"}, true},
		"the same":                  {answer{name: "ada"}, false},
		"nobody can tell right now": {answer{err: errors.New("the issuer is not reached")}, false},
		"it has expired":            {answer{err: ErrNone}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var says atomic.Pointer[answer]
				says.Store(&answer{name: "ada"})
				d := Authenticator{func(r *http.Request) (string, error) {
					if r.Header.Get("Authorization") != "Bearer x" || r.Context().Err() != nil {
						t.Error("it is asked about another request")
					}
					return says.Load().name, says.Load().err
				}, "test", slog.New(slog.DiscardHandler)}
				r, _ := http.NewRequest("GET", "/", nil)
				r.Header.Set("Authorization", "Bearer x")
				old, over := context.WithCancel(t.Context())
				over() // of the request that bought a ticket
				var out atomic.Int32
				stop := d.Watch(t.Context(), r.WithContext(old), "ada", func(why *aaep.Rejection) {
					if !errors.Is(why, errWithdrawn) || why.Message != "" || errors.Is(tc.now.err, aaep.AuthorizationDenied) !=
						(why.Code == aaep.AuthorizationDenied) {
						t.Errorf("put out for %v", why)
					}
					out.Add(1)
				})
				time.Sleep(time.Hour)
				if out.Load() != 0 {
					t.Fatal("put out for nothing")
				}
				says.Store(&tc.now)
				time.Sleep(recheckEvery + time.Second)
				if got := out.Load() == 1; got != tc.out {
					t.Errorf("put out: %t, want %t", got, tc.out)
				}
				says.Store(&answer{err: aaep.AuthenticationRequired})
				stop()
				n := out.Load()
				time.Sleep(time.Hour)
				if out.Load() != n {
					t.Error("put out after it was over")
				}
			})
		})
	}
	Authenticator{}.Watch(t.Context(), nil, "", func(*aaep.Rejection) { t.Error("nobody is asked") })()
}

// One that takes long to answer is not asked a second time meanwhile, and holds no peer up who
// leaves.
func TestWatchSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		d := Authenticator{func(r *http.Request) (string, error) {
			asked.Add(1)
			<-r.Context().Done()
			return "", aaep.AuthenticationRequired
		}, "test", slog.New(slog.DiscardHandler)}
		r, _ := http.NewRequest("GET", "/", nil)
		stop := d.Watch(t.Context(), r, "ada", func(*aaep.Rejection) { t.Error("put out by an answer that came too late") })
		time.Sleep(time.Minute)
		stop()
		time.Sleep(time.Minute)
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// Where Authenticate panics no peer is let in, and who is in is put out.
func TestAuthenticatePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		d := Authenticator{func(*http.Request) (string, error) {
			panic("no row")
		}, "test", slog.New(slog.NewTextHandler(&log, nil))}
		r, _ := http.NewRequest("GET", "/", nil)
		if principal, refused := d.Identify(r); principal != "" || refused == nil ||
			refused.Code != aaep.AuthenticationRequired {
			t.Errorf("Identify = %q, %v", principal, refused)
		}
		out := false
		defer d.Watch(t.Context(), r, "ada", func(*aaep.Rejection) { out = true })()
		time.Sleep(recheckEvery + time.Second)
		synctest.Wait()
		if !out || strings.Count(log.String(), "authenticator_test.go") < 2 {
			t.Errorf("put out: %t, with the log %s", out, &log)
		}
	})
}

// Of whom cannot be told yet whether they are who they say, it is not said that they are not: they
// hear when to come again.
func TestEnterLater(t *testing.T) {
	d := Authenticator{func(*http.Request) (string, error) {
		return "",
			fmt.Errorf("oidc: %w",
				&aaep.Rejection{Code: aaep.TransportUnavailable, Message: "secret",
					RetryAfter: 1500 * time.Millisecond})
	}, "test", nil}
	var log strings.Builder // for who would look there: that a peer with credentials was not let in
	d.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	r, _ := http.NewRequest("GET", "/", nil)
	if d.Identify(r); log.Len() > 0 {
		t.Errorf("of somebody who showed nothing: %s", log.String())
	}
	r.Header.Set("Authorization", "Bearer x")
	_, refused := d.Identify(r)
	if !strings.Contains(log.String(), "it cannot be told yet who this is") ||
		!strings.Contains(log.String(), "secret") {
		t.Errorf("the log has %q", log.String())
	}
	if m := RejectionMessage(refused); m.ReasonCode != aaep.TransportUnavailable || m.RetryAfterSeconds == nil ||
		*m.RetryAfterSeconds != 2 || strings.Contains(m.ReasonMessage, "secret") {
		t.Errorf("refused with %+v", m)
	}
}
