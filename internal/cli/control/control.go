// Package control lets a person answer their listeners from any window: a key of the desktop, a
// switch or a voice command runs "aaep answer", which reaches each listener of the same user at a
// socket. Begin with Server, which a listener has, and Find, which finds them.
//
// The package decides nothing about an answer but that it is no repetition: a key that is held down
// answers once. Whether it may count is up to the listener, which is told when the key was pressed.
// Other users cannot connect: package ipc asks the operating system who a peer is.
//
// The server and which key counts as a repetition are in control.go, what the two say to each
// other, such as the State that a watcher gets, is in messages.go, finding listeners is in
// client.go, and how long ago the key was pressed is found out in the files age_*.go. What is true
// of a State is said by package listen.
package control

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/lockfile"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
)

const (
	// slots is how many listeners of one user can be reached. A listener takes the first that is
	// free, so that they are found on systems that list no sockets.
	slots     = 8
	mostConns = 16               // that one listener has at once; more are turned away
	maxText   = 1 << 16          // bytes of an answer
	replyTime = 10 * time.Second // for a listener to take an answer, or a peer to say something
	maxAge    = time.Hour        // more is as good as this
)

// Call is a Request that waits for its Response.
type Call struct {
	Request
	// Began is when the person pressed the key.
	Began    time.Time
	response chan Response
}

// Respond gives the Response. It never waits and is called once.
func (c *Call) Respond(r Response) { c.response <- r }

// Server is where one listener is reached. The methods of a nil Server do nothing.
type Server struct {
	listener *ipc.Listener
	lock     io.Closer
	calls    chan *Call

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed when state changes
	presses presses
	conns   int
}

// Listen returns the Server of a new listener of this user. The error is that of the first slot
// where none is free.
func Listen() (_ *Server, err error) {
	for slot := range slots {
		path, bad := slotPath(slot)
		if bad != nil {
			return nil, bad
		}
		if s, failed := listenAt(path); failed == nil {
			return s, nil
		} else if err == nil {
			err = failed
		}
	}
	return nil, err
}

// listenAt listens at a path that no other listener has. On Unix a lock says so: of two that start
// at once, each could take the socket of the other for one that was left behind.
func listenAt(path string) (s *Server, err error) {
	var lock io.Closer = io.NopCloser(nil)
	if runtime.GOOS != "windows" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if lock, err = lockfile.Open(path + ".lock"); err != nil {
			return nil, err
		}
	}
	l, err := ipc.Listen(path, nil)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Server{listener: l, lock: lock, calls: make(chan *Call), changed: make(chan struct{})}, nil
}

// slotPath is where the listener of a slot is reached.
func slotPath(slot int) (string, error) { return ipc.Path("aaep-answer-" + strconv.Itoa(slot+1)) }

// Serve takes Requests until ctx is done, each peer on a goroutine of its own, and closes the
// Server. Beyond mostConns peers it turns others away. A nil Server serves nothing.
func (s *Server) Serve(ctx context.Context) {
	if s == nil {
		return
	}
	var serving sync.WaitGroup
	defer s.lock.Close()
	defer s.listener.Close()
	defer serving.Wait()
	for {
		conn, err := s.listener.Accept(ctx)
		if err != nil {
			return
		}
		if !s.admitPeer() {
			conn.Close()
			continue
		}
		serving.Go(func() {
			defer s.removePeer()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			s.serveConn(ctx, conn)
		})
	}
}

// admitPeer counts a peer in, until removePeer; it reports false, and counts nothing, where
// mostConns are there.
func (s *Server) admitPeer() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == mostConns {
		return false
	}
	s.conns++
	return true
}

// removePeer counts a peer out.
func (s *Server) removePeer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns--
}

// serveConn sends a peer the State, and obeys its Requests until it leaves or sends one whose text
// is too long. A peer that asks to watch gets states alone from then on. It is a goroutine of its
// own for each peer.
func (s *Server) serveConn(ctx context.Context, conn transports.Conn) {
	state, changed := s.currentState()
	if sendJSON(ctx, conn, state) != nil {
		return
	}
	for {
		var r Request
		if receiveJSON(ctx, conn, &r) != nil || len(r.Text) > maxText {
			return
		}
		if r.Name == WatchName {
			sendStates(ctx, conn, s, changed)
			return
		}
		if sendJSON(ctx, conn, s.call(ctx, r)) != nil {
			return
		}
	}
}

// sendStates sends each new State, the newest where the peer is slow, until the peer leaves.
func sendStates(ctx context.Context, conn transports.Conn, s *Server, changed <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		conn.Receive(ctx) // nothing more is expected
	}()
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		var state State
		state, changed = s.currentState()
		if sendJSON(ctx, conn, state) != nil {
			return
		}
	}
}

// howLongAgo returns how long ago the key was pressed, as the peer says it: from 0 to maxAge.
func (r Request) howLongAgo() time.Duration {
	return time.Duration(min(max(r.Age, 0), maxAge.Milliseconds())) * time.Millisecond
}

// call hands a Request to the listener, and waits for the Response. A repetition is not handed on,
// and gets a Response that says so; so does a Request without a Response within replyTime.
// PressedName gets an empty one at once.
func (s *Server) call(ctx context.Context, r Request) Response {
	began := time.Now().Add(-r.howLongAgo())
	s.mu.Lock()
	repeated := s.presses.isRepeated(began, r)
	s.mu.Unlock()
	if r.Name == PressedName {
		return Response{}
	}
	if repeated {
		return Response{Said: []string{"That came too soon after the key before, and does nothing. Wait a second."}}
	}
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	c := &Call{Request: r, Began: began, response: make(chan Response, 1)}
	select {
	case s.calls <- c:
	case <-ctx.Done():
		return Response{Said: []string{"The listener did not take it."}}
	}
	select {
	case response := <-c.response:
		return response
	case <-ctx.Done():
		return Response{Said: []string{"The listener has not said what came of it."}}
	}
}

// Calls returns the channel of the Requests that the listener must respond to; nil, which never has
// any, for a nil Server.
func (s *Server) Calls() <-chan *Call {
	if s == nil {
		return nil
	}
	return s.calls
}

// Update sets the listener's state, which is sent to those that watch it; an equal one changes
// nothing.
func (s *Server) Update(state State) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reflect.DeepEqual(state, s.state) {
		return
	}
	s.state = state
	close(s.changed)
	s.changed = make(chan struct{})
}

// currentState returns the State, and a channel that is closed when there is another.
func (s *Server) currentState() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed
}

// presses are the newest keys of a person, to tell those that are held down.
type presses struct {
	answered time.Time // the newest answer
	last     Request
	at       time.Time // last
}

// isRepeated records a key that was pressed at a time, and reports whether it is to do nothing: the
// same key came less than hearing.StillBefore before, or an answer that is no rejection follows any
// other within that. Keys that walk always do something, and are not recorded. Keys can arrive in
// another order than they were pressed in; the latest time is kept.
func (p *presses) isRepeated(pressed time.Time, r Request) bool {
	if slices.Contains(WalkNames, r.Name) {
		return false
	}
	r.Age, r.Question = 0, ""
	isSameKey := r == p.last
	repeated := isSameKey && pressed.Sub(p.at) < hearing.StillBefore // of a key that is held down
	if r.Name == AnswerName || r.Name == PressedName {
		tooSoon := !isRejection(r.Text) && pressed.Sub(p.answered) < hearing.StillBefore
		repeated = repeated || tooSoon
		if pressed.After(p.answered) {
			p.answered = pressed
		}
	}
	if !isSameKey || pressed.After(p.at) {
		p.last, p.at = r, pressed
	}
	return repeated
}

// isRejection reports whether an answer is the no that "aaep answer reject" gives.
func isRejection(text string) bool { return text == "n" }
