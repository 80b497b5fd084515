// Package relay serves the page of package web for an agent that is elsewhere: behind credentials,
// with a name to be proved, over whatever transport. Tokens and keys stay in this program. The page
// gets a listener of its own on this machine, under an address that cannot be guessed, and speaks
// AAEP with it as with any agent.
//
// Each page is a subscriber of its own, on its own terms. Where the link to the agent breaks, its
// page says so, and goes on after what it had when the link is mended. What a person answers is
// passed on once; if that fails, the page is told that it did, and asks again what is still open.
//
// Addresses and requests are in relay.go, one page's stream in visit.go, its answers in replies.go,
// and what it is told that it missed in leftout.go.
package relay

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
)

// Relay serves the page for one agent. It must be made by New; its methods may be called at once.
type Relay struct {
	dialer transports.Dialer
	cfg    subscriber.Config
	secret string
	events *sse.Server
	page   http.Handler

	mu     sync.Mutex
	visits map[string]*visit // by the id that their page knows
}

// answerTime is how long a page waits for an answer that comes from the agent.
const answerTime = 30 * time.Second

// New returns a Relay to the agent that dialer reaches. What cfg.Capabilities say goes over what
// the page asks for: leave out what the person at the page should choose. With cfg.Trust, an agent
// must prove who it is where the capabilities demand that, and the page shows what was proved.
func New(dialer transports.Dialer, cfg subscriber.Config) *Relay {
	r := &Relay{dialer: dialer, cfg: cfg, secret: rand.Text(), visits: map[string]*visit{}}
	r.cfg.Logger = shield.Logger(r.cfg.Logger)
	r.events = sse.NewServer(sse.ServerOptions{Prefix: "/" + r.secret + "/v1", AnswerTimeout: answerTime,
		MaxSubscriptions: 16, Logger: r.cfg.Logger})
	r.page = http.StripPrefix("/"+r.secret+"/web/", web.Page{Endpoints: "../v1", Relayed: true}.Handler())
	return r
}

// Path is where the page is. A program that knows it can listen and answer, so it is for the person
// alone.
func (r *Relay) Path() string { return "/" + r.secret + "/web/" }

// Serve serves on a loopback listener until ctx is done, and then tells the pages and the agent. It
// closes ln.
func (r *Relay) Serve(ctx context.Context, ln net.Listener) error {
	defer ln.Close()
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return fmt.Errorf("relay: %v is not a loopback address: what goes to the page is not encrypted", ln.Addr())
	}
	ctx, stop := context.WithCancel(ctx)
	srv := &http.Server{Handler: httpguard.WithDeadlines(http.HandlerFunc(r.serveHTTP)),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(r.cfg.Logger.Handler(), slog.LevelInfo)}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := r.events.Accept(ctx)
			if err != nil {
				return
			}
			running.Go(func() { r.servePage(ctx, conn.(transports.Resumable)) })
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	running.Wait()
	r.events.Close()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	srv.Shutdown(ending)
	srv.Close()
	return err
}

// serveHTTP serves the page and its endpoints below the secret path; another path gets 404, and a
// request that a web page of another origin may have made 403.
func (r *Relay) serveHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := (httpguard.Rules{}).Check(req); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	secret, rest, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	switch {
	case subtle.ConstantTimeCompare([]byte(secret), []byte(r.secret)) != 1:
		http.Error(w, "there is no such page; its whole address is in the terminal", http.StatusNotFound)
	case rest == "v1/events" && req.Method == http.MethodGet:
		r.serveStream(w, req)
	case strings.HasPrefix(rest, "v1/"):
		r.events.ServeHTTP(w, req)
	default:
		r.page.ServeHTTP(w, req)
	}
}

// serveStream serves the page's stream exactly while the link to the agent is up, so that the page
// knows how things stand.
func (r *Relay) serveStream(w http.ResponseWriter, req *http.Request) {
	if v := r.findVisit(req.URL.Query().Get("subscription_id")); v != nil {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		if v.awaitLink(ctx, true) != nil {
			return // the page has gone
		}
		go func() {
			v.awaitLink(ctx, false)
			cancel()
		}()
		req = req.WithContext(ctx)
	}
	r.events.ServeHTTP(w, req)
}

// findVisit returns the visit of a page by its subscription's id, or nil.
func (r *Relay) findVisit(id string) *visit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.visits[id]
}

// errMisfit ends a visit whose page sent a message of another kind.
var errMisfit = errors.New("relay: the page's message does not fit its subscription")
