// Package hook is the person's side of hooks: the server that the hooks of agents tell, and what
// installs them in an agent's settings. Package call is the hook itself. What an event means is the
// business of bridges/hook.
//
// The server has a goroutine for each hook that runs.
//
// The server is in server.go, what is installed and where in install.go, and changing a settings
// file without changing the rest in edit.go.
package hook

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/bridges/hook"
	"github.com/aaep-go/aaep/internal/cli/hook/call"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/lockfile"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
)

const (
	inputTime  = 10 * time.Second // for a hook to send its input
	mostInputs = 8                // that are read at once
)

// What is sent of an input is as much as can be taken.
var _ = [1]struct{}{}[call.MaxInput-hook.MaxInput]

// A Server takes the inputs of hooks, and hands them to a Bridge.
type Server struct {
	Bridge *hook.Bridge
	// Listeners is how many follow.
	Listeners func() int
	// Idle is how long the server stays without a hook and without a listener; zero is for good.
	Idle time.Duration

	reading chan struct{} // holds one for each input that is being read

	mu   sync.Mutex
	last time.Time // when a hook ended last
	open int       // hooks that run
}

// ErrRunning says that another server of this user runs.
var ErrRunning = errors.New("the server of hooks runs already")

// Lock takes the lock of the user's one server; Close releases it. ErrRunning says that another
// server holds it.
func Lock() (io.Closer, error) {
	path, err := call.LockPath()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := lockfile.Open(path)
	if errors.Is(err, lockfile.ErrInUse) {
		return nil, ErrRunning
	}
	return f, err
}

// Listen opens the socket where hooks reach the server, as only this user can, and writes down
// where the server is. The process that holds Lock calls it.
func Listen() (*ipc.Listener, error) {
	path, err := call.InputPath()
	if err != nil {
		return nil, err
	}
	l, err := ipc.Listen(path, nil)
	if err != nil {
		return nil, err
	}
	if err := call.RecordServer(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Serve takes inputs of hooks from l until ctx is done or the server has been idle for s.Idle,
// which both return nil; an idle of 0 is for good. Questions that are open then are withdrawn
// before it returns.
func (s *Server) Serve(ctx context.Context, l transports.Listener) error {
	s.reading, s.last = make(chan struct{}, mostInputs), time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.Idle > 0 {
		go s.endIdle(ctx, cancel)
	}
	var hooks sync.WaitGroup
	defer hooks.Wait()
	defer cancel()
	for {
		conn, err := l.Accept(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		s.countHook()
		hooks.Go(func() {
			defer s.uncountHook()
			defer conn.Close()
			s.serveHook(ctx, conn)
		})
	}
}

// countHook counts a hook that is being served; the server is not idle meanwhile.
func (s *Server) countHook() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
}

// uncountHook counts a hook as served; the server is idle from now on if it was the last.
func (s *Server) uncountHook() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.last = time.Now()
}

// endIdle calls end when the server has had neither a hook nor a listener for s.Idle, and returns;
// it returns too when ctx is done. It is a goroutine of its own.
func (s *Server) endIdle(ctx context.Context, end func()) {
	ticker := time.NewTicker(max(s.Idle/10, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		if s.open > 0 || s.Listeners() > 0 {
			s.last = time.Now()
		}
		idle := time.Since(s.last) >= s.Idle
		s.mu.Unlock()
		if idle {
			end()
			return
		}
	}
}

// serveHook takes one input from a hook, gives a receipt, and sends what the bridge makes of it. A
// hook that leaves ends the wait for the user; one that cannot be read gets nothing. Serve starts a
// goroutine for each.
func (s *Server) serveHook(ctx context.Context, conn transports.Conn) {
	agent, input, err := s.receiveInput(ctx, conn)
	if err != nil || !sendMessage(ctx, conn, call.Receipt{Received: true, Listeners: s.Listeners()}) || agent == "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // nothing more is sent, so the end of this says that the hook was killed
		conn.Receive(ctx)
		cancel()
	}()
	answered := false
	send := func(outcome call.Outcome) error {
		if !sendMessage(ctx, conn, outcome) {
			return transports.ErrClosed
		}
		return nil
	}
	err = s.Bridge.Handle(ctx, agent, input, func(output []byte) error {
		answered = true
		return send(call.Outcome{Output: output})
	}, func(output []byte) error { return send(call.Outcome{Unanswered: output}) })
	switch {
	case err != nil:
		send(call.Outcome{Problem: err.Error()})
	case !answered:
		send(call.Outcome{})
	}
}

// receiveInput receives a request and its input, within inputTime. agent is "" for one that only
// asks whether the server is there. So many are received at once as s.reading has room for; a
// request for another agent, or of another length than it says, is an error.
func (s *Server) receiveInput(ctx context.Context, conn transports.Conn) (agent string, input []byte, err error) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, inputTime)
	defer cancel()
	msg, err := conn.Receive(ctx)
	if err != nil {
		return "", nil, err
	}
	var r call.Request
	if err := json.Unmarshal(msg, &r); err != nil {
		return "", nil, err
	}
	if r.Size < 0 || r.Size > hook.MaxInput || r.Agent != "" && !call.Known(r.Agent) {
		return "", nil, errors.New("the request cannot be taken")
	}
	for len(input) < r.Size {
		if msg, err = conn.Receive(ctx); err != nil {
			return "", nil, err
		}
		if input = append(input, msg...); len(msg) == 0 || len(input) > r.Size {
			return "", nil, errors.New("the input is not as long as the request says")
		}
	}
	return r.Agent, input, nil
}

// sendMessage sends a message, and reports whether it left.
func sendMessage(ctx context.Context, conn transports.Conn, message any) bool {
	msg, err := json.Marshal(message)
	return err == nil && conn.Send(ctx, msg) == nil
}

// NewHTTPServer takes inputs over HTTP, for agents that post them: below /claude, with the secret
// as a bearer token. Other programs of this machine reach it too, and what they hold is bounded.
func (s *Server) NewHTTPServer(secret string) *http.Server {
	server := &http.Server{Handler: httpguard.WithDeadlines(s.handlePosts(secret)), ReadHeaderTimeout: inputTime,
		MaxHeaderBytes: 16 << 10}
	httpguard.BoundIdle(server)
	return server
}

// handlePosts returns the handler of hooks that are sent by HTTP, with the secret as a bearer
// token, to the path of their agent. A wrong secret gets 403, another path or method 404. A post
// ends when the user has answered.
func (s *Server) handlePosts(secret string) http.Handler {
	var rules httpguard.Rules
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		agent := strings.TrimPrefix(r.URL.Path, "/")
		switch {
		case rules.Check(r) != nil, secret == "", subtle.ConstantTimeCompare([]byte(token), []byte(secret)) != 1:
			w.WriteHeader(http.StatusForbidden)
			return
		case r.Method != http.MethodPost || !call.Known(agent):
			w.WriteHeader(http.StatusNotFound)
			return
		}
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(inputTime))
		control.SetWriteDeadline(time.Time{}) // the user has longer to answer
		input, err := io.ReadAll(io.LimitReader(r.Body, hook.MaxInput))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if len(input) == hook.MaxInput {
			io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 256<<20))
		}
		control.SetReadDeadline(time.Time{}) // or the agent would seem to be gone
		s.countHook()
		defer s.uncountHook()
		s.Bridge.Handle(r.Context(), agent, input, func(output []byte) error {
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write(output)
			return errors.Join(err, control.Flush())
		}, nil)
	})
}

// Secret returns the secret that agents show which post their inputs: what the file at path holds,
// or, where there is no file, what make returns, which is then kept there for this user alone. A
// file that others can read, or that is too short, is an error.
func Secret(path string, make func() string) (string, error) {
	data, err := os.ReadFile(path)
	if secret := string(bytes.TrimSpace(data)); err == nil && len(secret) >= 26 {
		return secret, checkPrivate(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	secret := make()
	_, err = f.WriteString(secret + "\n")
	return secret, errors.Join(err, f.Close())
}

// checkPrivate returns an error for a file of a secret that others can read, or that is no plain
// file. On Windows its mode says nothing.
func checkPrivate(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("the secret " + path + " is no file; remove it")
	case info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/':
		return errors.New("others can read the secret " + path + "; run chmod 600 on it, and change it")
	}
	return nil
}
