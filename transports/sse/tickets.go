package sse

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
)

// A ticket opens one stream of one subscription, once (D-83): an EventSource cannot send
// credentials, so its page buys one with them. It is in a URL and so may be seen; by then it is
// spent or soon worth nothing.
type ticket struct {
	secret  string
	expires time.Time
	holder  *http.Request // who showed credentials
}

const (
	ticketLife = 30 * time.Second
	maxTickets = 4 // of one subscription that may still be used
)

// issueTicket answers the POST of a stream's URL with a Location that opens the stream without
// credentials.
func (s *Server) issueTicket(w http.ResponseWriter, r *http.Request, l *link) {
	t := ticket{rand.Text(), time.Now().Add(ticketLife), r}
	if !l.addTicket(t) {
		w.Header().Set("Retry-After", strconv.Itoa(int(ticketLife/time.Second)))
		s.writeError(w, http.StatusTooManyRequests,
			"this subscription has enough tickets; use one, or wait until they expire")
		return
	}
	h := w.Header()
	h.Set("Location", s.streamPath(r, l.subscriptionID())+"&ticket="+t.secret)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusCreated)
}

// streamPath is the path of a subscription's stream, as whoever sent r sees it.
func (s *Server) streamPath(r *http.Request, id string) string {
	at := url.URL{Path: httpguard.MountPath(r) + s.o.Prefix + "/events",
		RawQuery: url.Values{"subscription_id": {id}}.Encode()}
	return at.String()
}

// redeemTicket returns whose subscription a ticket opens and the request that bought it, and spends it.
// Nil is no ticket.
func (s *Server) redeemTicket(r *http.Request) (principal string, buyer *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	l := s.byID[q.Get("subscription_id")]
	s.mu.Unlock()
	if l == nil {
		return "", nil
	}
	return l.principal, l.spendTicket(q.Get("ticket"))
}

// addTicket adds a ticket until it expires, unless there are too many.
func (l *link) addTicket(t ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropExpired()
	if len(l.tickets) >= maxTickets {
		return false
	}
	l.tickets = append(l.tickets, t)
	time.AfterFunc(time.Until(t.expires), func() { // it holds a request, and nobody may come who would drop it
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dropExpired()
	})
	return true
}

// spendTicket takes a ticket away and returns who bought it, or nil. It compares in constant time
// (INV-48).
func (l *link) spendTicket(secret string) *http.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropExpired()
	found := -1
	for i, t := range l.tickets {
		if subtle.ConstantTimeCompare([]byte(t.secret), []byte(secret)) == 1 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	buyer := l.tickets[found].holder
	l.tickets = slices.Delete(l.tickets, found, found+1)
	return buyer
}

func (l *link) dropExpired() {
	now := time.Now()
	l.tickets = slices.DeleteFunc(l.tickets, func(t ticket) bool { return !now.Before(t.expires) })
}
