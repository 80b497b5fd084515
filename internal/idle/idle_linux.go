package idle

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// New returns the Wait for conn, of which there must be no second. It is nil where the system
// cannot be asked, which knows only of its own connections, and nothing of what others add to them.
func New(conn net.Conn, f func()) *Wait {
	var raw syscall.RawConn
	var err error
	switch c := conn.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	return &Wait{conn: raw, f: f}
}

// Begin has f called once, in a goroutine of its own, when there is something to read or the
// connection has ended, unless Stop comes first; nothing comes any more of a connection that is
// closed on this side. It reports false where it cannot: then that has happened already, or the
// system has not enough memory. Begin again after f was called, or Stop.
func (w *Wait) Begin() bool {
	p := &processPoller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoll == nil && !p.openEpoll() {
		return false
	}
	p.lastID++
	p.waiting[p.lastID], w.id = w, p.lastID
	if p.armWait(w) {
		return true
	}
	p.removeWait(w)
	return false
}

// Stop reports whether f will not be called, though it would have been.
func (w *Wait) Stop() bool {
	p := &processPoller
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.removeWait(w)
}

// processPoller are those of the process.
var processPoller poller

// A poller asks the system about all waiting connections at once: epoll(7). Its goroutine runs
// while any connection waits.
type poller struct {
	mu      sync.Mutex // never held while waiting
	waiting map[uint64]*Wait
	lastID  uint64   // the newest id; one is never used twice, as a descriptor is
	epoll   *os.File // nil where nothing waits
}

// armWait has the system report, once, when there is something to read for w, and returns whether
// it will; the caller holds p.mu.
func (p *poller) armWait(w *Wait) (asked bool) {
	epoll, err := p.epoll.SyscallConn()
	if err != nil {
		return false
	}
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLONESHOT, Fd: int32(w.id), Pad: int32(w.id >> 32)}
	epoll.Control(func(epoll uintptr) {
		w.conn.Control(func(fd uintptr) {
			err := syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_ADD, int(fd), &ev)
			if err == syscall.EEXIST { // from the last time
				err = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_MOD, int(fd), &ev)
			}
			asked = err == nil
		})
	})
	return asked
}

// removeWait ends a wait, and reports whether it still was one, so that its function is not called;
// the caller holds p.mu. Without any wait left the poller's goroutine ends.
func (p *poller) removeWait(w *Wait) bool {
	if w.id == 0 {
		return false
	}
	delete(p.waiting, w.id)
	if w.id = 0; len(p.waiting) == 0 {
		p.epoll.SetReadDeadline(time.Now()) // serve looks
	}
	return true
}

// openEpoll makes the epoll and starts the poller's goroutine, or returns false where the system
// gives none; the caller holds p.mu.
func (p *poller) openEpoll() bool {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // Go's own poller waits for it then, and no thread
		syscall.Close(fd)
		return false
	}
	f := os.NewFile(uintptr(fd), "epoll")
	raw, err := f.SyscallConn()
	if err != nil || f.SetReadDeadline(time.Time{}) != nil { // it does not
		f.Close()
		return false
	}
	p.epoll, p.waiting = f, map[uint64]*Wait{}
	go p.pollLoop(f, raw)
	return true
}

// pollLoop is the poller's goroutine. It dispatches what is ready until nothing waits.
func (p *poller) pollLoop(epoll *os.File, raw syscall.RawConn) {
	defer epoll.Close()
	for {
		raw.Read(p.dispatchReady) // until nothing waits, or a deadline
		p.mu.Lock()
		if len(p.waiting) == 0 {
			p.epoll = nil
			p.mu.Unlock()
			return
		}
		epoll.SetReadDeadline(time.Time{})
		p.mu.Unlock()
	}
}

// dispatchReady calls the functions of the connections that are ready now, each on a goroutine. It
// returns true if nothing waits any more; else it is called again when there is more.
func (p *poller) dispatchReady(epoll uintptr) (alone bool) {
	var events [64]syscall.EpollEvent
	for {
		n, err := syscall.EpollWait(int(epoll), events[:], 0)
		if err == syscall.EINTR {
			continue
		}
		p.mu.Lock()
		for _, ev := range events[:max(n, 0)] {
			id := uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32
			if w := p.waiting[id]; w != nil { // it was not stopped
				delete(p.waiting, id)
				w.id = 0
				go w.f()
			}
		}
		alone = len(p.waiting) == 0
		p.mu.Unlock()
		if n <= 0 {
			return alone
		}
	}
}
