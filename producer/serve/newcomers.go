package serve

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// maxNewcomers is how many connections may be open on which no request has come yet, or none since the last.
const maxNewcomers = 2048

// newcomers bounds the connections that ask nothing. When there are too many, the one that has been silent longest goes: a
// flood of silent connections drives out its own, and somebody who has something to say has said it long before.
type newcomers struct {
	most int

	mu     sync.Mutex
	silent list.List // of net.Conn, those silent longest in front
	where  map[net.Conn]*list.Element
}

// state is for http.Server.ConnState, which calls it from many goroutines.
func (n *newcomers) state(c net.Conn, now http.ConnState) {
	tooMany := n.note(c, now == http.StateNew || now == http.StateIdle)
	if encrypted, ok := tooMany.(*tls.Conn); ok {
		tooMany = encrypted.NetConn() // or whoever does not read would keep the next newcomer waiting for our goodbye
	}
	if tooMany != nil {
		tooMany.Close()
	}
}

func (n *newcomers) note(c net.Conn, silent bool) (tooMany net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.where[c]; e != nil {
		n.silent.Remove(e)
		delete(n.where, c)
	}
	if !silent {
		return nil
	}
	if n.where == nil {
		n.where = map[net.Conn]*list.Element{}
	}
	n.where[c] = n.silent.PushBack(c)
	if n.silent.Len() <= n.most {
		return nil
	}
	oldest := n.silent.Front()
	tooMany = n.silent.Remove(oldest).(net.Conn)
	delete(n.where, tooMany)
	return tooMany
}
