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
// credentials, so its page gets a ticket with them. It stands in a URL and so may be seen; by then
// it is used or soon expired.
type ticket struct {
	secret  string
	expires time.Time
	holder  *http.Request // the request whose credentials the ticket stands for
}

const (
	ticketLife = 30 * time.Second
	// how many unused tickets a subscription may have
	maxTickets = 4
)

// issueTicket answers the POST of a stream's URL with a Location that opens the stream of l once
// without credentials, within ticketLife; with 429 where l has as many tickets as it may.
// serveStream calls it.
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

// streamPath returns the path of a subscription's stream as the sender of r sees it.
func (s *Server) streamPath(r *http.Request, id string) string {
	u := url.URL{Path: httpguard.MountPath(r) + s.o.Prefix + eventsPath,
		RawQuery: url.Values{"subscription_id": {id}}.Encode()}
	return u.String()
}

// redeemTicket uses up the ticket of a request. It returns the principal of its subscription and
// the request that it was issued for; holder is nil where the ticket is unknown, used or too old.
func (s *Server) redeemTicket(r *http.Request) (principal string, holder *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	l := s.byID[q.Get("subscription_id")]
	s.mu.Unlock()
	if l == nil {
		return "", nil
	}
	return l.principal, l.spendTicket(q.Get("ticket"))
}

// addTicket keeps a ticket until it expires, or reports false where the link has maxTickets
// already. It takes l.mu.
func (l *link) addTicket(t ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropExpired()
	if len(l.tickets) >= maxTickets {
		return false
	}
	l.tickets = append(l.tickets, t)
	// The ticket holds a request, and no later call may come to drop it.
	time.AfterFunc(time.Until(t.expires), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dropExpired()
	})
	return true
}

// spendTicket removes a ticket and returns the request it was issued for, or nil if there is no
// such ticket, or no more. It compares in constant time (INV-48), and takes l.mu.
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
	holder := l.tickets[found].holder
	l.tickets = slices.Delete(l.tickets, found, found+1)
	return holder
}

// dropExpired removes the tickets that have expired; the caller holds l.mu.
func (l *link) dropExpired() {
	now := time.Now()
	l.tickets = slices.DeleteFunc(l.tickets, func(t ticket) bool { return !now.Before(t.expires) })
}
