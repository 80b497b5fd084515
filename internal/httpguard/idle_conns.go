package httpguard

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxIdleConns is how many connections may be open on which no request has come yet, or none since
// the last.
const maxIdleConns = 2048

// idleTimeout is how long a connection may ask nothing after its last request.
const idleTimeout = 2 * time.Minute

// BoundIdle has a server close the connections on which nothing is asked: each after some time, and
// the ones silent longest where there are too many. Call it before the server serves.
func BoundIdle(server *http.Server) {
	idle := idleConns{most: maxIdleConns}
	server.ConnState, server.IdleTimeout = idle.trackState, idleTimeout
}

// idleConns bounds the connections that ask nothing. When there are too many, the one that has been
// idle longest is closed: a flood of idle connections drives out its own, and a client that has
// something to ask has asked it long before.
type idleConns struct {
	most int

	mu       sync.Mutex
	idle     list.List // of net.Conn, those silent longest in front
	elements map[net.Conn]*list.Element
}

// trackState is the http.Server's ConnState, which calls it from many goroutines. A connection
// driven out is closed below TLS: a peer that reads nothing would hold up the goodbye, and with it
// the connection that took its place.
func (n *idleConns) trackState(c net.Conn, state http.ConnState) {
	tooMany := n.setIdle(c, state == http.StateNew || state == http.StateIdle)
	if encrypted, ok := tooMany.(*tls.Conn); ok {
		tooMany = encrypted.NetConn()
	}
	if tooMany != nil {
		tooMany.Close()
	}
}

// setIdle notes whether a connection is idle from now on. If there are too many idle ones then, it
// forgets the one that has been idle longest and returns it, for the caller to close.
func (n *idleConns) setIdle(c net.Conn, isIdle bool) (tooMany net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.elements[c]; e != nil {
		n.idle.Remove(e)
		delete(n.elements, c)
	}
	if !isIdle {
		return nil
	}
	if n.elements == nil {
		n.elements = map[net.Conn]*list.Element{}
	}
	n.elements[c] = n.idle.PushBack(c)
	if n.idle.Len() <= n.most {
		return nil
	}
	oldest := n.idle.Front()
	tooMany = n.idle.Remove(oldest).(net.Conn)
	delete(n.elements, tooMany)
	return tooMany
}
