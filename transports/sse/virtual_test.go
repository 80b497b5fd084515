package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/transports"
)

const local = "http://localhost"

// A comment after 15 s of silence, and only then. SSE-018, D-65
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		client := serveInMemory(t, s)
		go func() { acceptWith(t, s, acceptance("sub_1")) }()
		sendRequest(t, client, "POST", local+"/aaep/v1/subscriptions", request)
		resp, _ := sendRequest(t, client, "GET", local+"/aaep/v1/events?subscription_id=sub_1", "")
		l := s.lookupLink("sub_1", "")
		st := nextStream(t, l)
		defer l.Close()
		start := time.Now()
		at := func(want time.Duration) {
			t.Helper()
			if got := time.Since(start); got != want {
				t.Errorf("after %v, want %v", got, want)
			}
		}
		wantBytes(t, resp.Body, ":\n\n")
		at(15 * time.Second)
		time.Sleep(10 * time.Second) // virtual
		go func() { _ = st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(1)}}) }()
		wantBytes(t, resp.Body, "event: aaep.event\ndata: "+string(numberedData(1))+"\n\n")
		at(25 * time.Second)
		wantBytes(t, resp.Body, ":\n\n")
		at(40 * time.Second)
	})
}

// An idle stream stays up as long as heartbeats come.
func TestIdleStreamSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		_, sub, st := openPair(t, s, Dialer{URL: local, Client: serveInMemory(t, s)}, "sub_1")
		time.Sleep(time.Hour)
		requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(1), ID: "e1"}}))
		wantMessage(t, sub, string(numberedData(1)))
		requireNoError(t, sub.Close())
	})
}

// A stream that brings nothing for 45 s counts as broken; one whose events are read slowly does
// not.
func TestSilentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		s.heartbeat = time.Hour
		p, sub, st := openPair(t, s, Dialer{URL: local, Client: serveInMemory(t, s)}, "sub_1")
		sent := make(chan error, 1)
		go func() { sent <- st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(1), ID: "e1"}}) }()
		time.Sleep(10 * time.Minute) // the user listens to something else
		start := time.Now()
		wantMessage(t, sub, string(numberedData(1)))
		requireNoError(t, <-sent)
		_, err := sub.Receive(t.Context())
		if !errors.Is(err, transports.ErrInterrupted) || !strings.Contains(err.Error(), "45s") ||
			time.Since(start) != 45*time.Second {
			t.Errorf("Receive = %v after %v, want ErrInterrupted after 45s", err, time.Since(start))
		}
		requireNoError(t, sub.Reopen(t.Context()))
		if st := nextStream(t, p); st.LastEventID() != "e1" {
			t.Errorf("LastEventID = %q, want e1", st.LastEventID())
		}
		requireNoError(t, sub.Close())
	})
}

// Over HTTP/2 too a stream on which nothing is said for long stays: it hears heartbeats, and what
// comes after. TR-026
func TestSilentHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		srv := &http.Server{Handler: s, Protocols: new(http.Protocols)}
		srv.Protocols.SetUnencryptedHTTP2(true)
		p, sub, st := openPair(t, s, Dialer{URL: local, Client: serveInMemoryWith(t, srv)}, "sub_1")
		for n := range 3 {
			time.Sleep(10 * time.Minute)
			sent := make(chan error, 1)
			go func() { sent <- st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(n)}}) }()
			wantMessage(t, sub, string(numberedData(n)))
			requireNoError(t, <-sent)
		}
		requireNoError(t, sub.Close())
		requireNoError(t, p.Close())
	})
}

// A peer that never reads loses its stream after 10 s, and SendEvents waits until then. TR-026
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		client := serveInMemory(t, s)
		go func() { acceptWith(t, s, acceptance("sub_1")) }()
		sendRequest(t, client, "POST", local+"/aaep/v1/subscriptions", request)
		_, _ = sendRequest(t, client, "GET", local+"/aaep/v1/events?subscription_id=sub_1", "")
		l := s.lookupLink("sub_1", "")
		defer l.Close()
		st := nextStream(t, l)
		start := time.Now()
		err := st.SendEvents(t.Context(), []transports.Event{{Message: padTo(transports.MaxMessage), ID: "e1"}})
		if !errors.Is(err, transports.ErrInterrupted) || time.Since(start) != 10*time.Second {
			t.Errorf("SendEvents = %v after %v, want ErrInterrupted after 10s", err, time.Since(start))
		}
		<-st.Done()
	})
}

// A cancelled SendEvents returns at once although the peer does not read, and so does one that
// waits for it. The stream is lost.
func TestSendEventsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		client := serveInMemory(t, s)
		go func() { acceptWith(t, s, acceptance("sub_1")) }()
		sendRequest(t, client, "POST", local+"/aaep/v1/subscriptions", request)
		_, _ = sendRequest(t, client, "GET", local+"/aaep/v1/events?subscription_id=sub_1", "")
		l := s.lookupLink("sub_1", "")
		defer l.Close()
		st := nextStream(t, l)
		sent, start := make(chan error), time.Now()
		for i := range 2 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2-i)*time.Second)
				defer cancel()
				sent <- st.SendEvents(ctx, []transports.Event{{Message: padTo(transports.MaxMessage), ID: "e1"}})
			}()
			synctest.Wait()
		}
		for i := range 2 {
			if err := <-sent; err != context.DeadlineExceeded || time.Since(start) != time.Duration(i+1)*time.Second {
				t.Errorf("SendEvents = %v after %v, want DeadlineExceeded", err, time.Since(start))
			}
		}
		if err := st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(1)}}); !errors.Is(err,
			transports.ErrInterrupted) {
			t.Errorf("SendEvents = %v, want ErrInterrupted", err)
		}
	})
}

// The producer has 10 s for an answer; then the POST is told 503 and the Conn is over. D-56
func TestRequestNotAnswered(t *testing.T) {
	for _, accepts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := NewServer(ServerOptions{})
			client := serveInMemory(t, s)
			start := time.Now()
			conn := make(chan transports.Conn, 1)
			if accepts {
				go func() { c, _ := s.Accept(t.Context()); conn <- c }()
			}
			resp, body := sendRequest(t, client, "POST", local+"/aaep/v1/subscriptions", request)
			if resp.StatusCode != 503 || reasonOf(t, body) != "transport_unavailable" ||
				time.Since(start) != 10*time.Second {
				t.Errorf("%d %s after %v, want 503 transport_unavailable after 10s", resp.StatusCode, body,
					time.Since(start))
			}
			if accepts {
				c := <-conn
				if err := c.Send(t.Context(), acceptance("sub_1")); err == nil {
					t.Error("a late answer was taken")
				}
				wantMessage(t, c, request)
				if _, err := c.Receive(t.Context()); err == nil || err == io.EOF || err == transports.ErrClosed {
					t.Errorf("Receive = %v, want why the Conn is over", err)
				}
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := s.Accept(ctx); err != context.DeadlineExceeded {
				t.Errorf("Accept = %v; want nothing, the request is over", err)
			}
		})
	}
}

// A late answer to one renegotiation is never taken for the answer to the next. D-55
func TestRenegotiationAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		p, sub, _ := openPair(t, s, Dialer{URL: local, Client: serveInMemory(t, s)}, "sub_1")
		ask := fmt.Sprintf(renegot, "sub_1")
		start := time.Now()
		if err := sub.Send(t.Context(), []byte(ask)); err == nil || !strings.Contains(err.Error(), "503") ||
			time.Since(start) != 10*time.Second {
			t.Errorf("Send = %v after %v, want status 503 after 10s", err, time.Since(start))
		}
		sent := make(chan error, 1)
		go func() { sent <- sub.Send(t.Context(), []byte(ask)) }()
		synctest.Wait()
		wantMessage(t, p, ask)
		late := strings.Replace(string(acceptance("sub_1")), "normal", "terse", 1)
		requireNoError(t, p.Send(t.Context(), []byte(late)))
		wantMessage(t, sub, late) // on the stream
		wantMessage(t, p, ask)
		requireNoError(t, p.Send(t.Context(), acceptance("sub_1")))
		requireNoError(t, <-sent)
		wantMessage(t, sub, string(acceptance("sub_1")))
		requireNoError(t, sub.Close())
	})
}

// A reply to a producer that does not read is kept, and answered when that has waited long enough;
// one that finds no room is refused; none is lost unsaid.
func TestSlowProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		sub := dialConn(t, Dialer{URL: local, Client: serveInMemory(t, s)})
		accepting := make(chan transports.Resumable)
		go func() { accepting <- acceptWith(t, s, acceptance("sub_1")) }()
		requireNoError(t, sub.Send(t.Context(), []byte(request)))
		wantMessage(t, sub, string(acceptance("sub_1")))
		p := (<-accepting).(*link)
		nextStream(t, p)
		reply := []byte(fmt.Sprintf(replyTo, "sub_1"))
		start := time.Now()
		kept := make(chan error, cap(p.in))
		for range cap(p.in) {
			go func() { kept <- sub.Send(t.Context(), reply) }()
		}
		synctest.Wait()
		if err := sub.Send(t.Context(), reply); err == nil || !strings.Contains(err.Error(), "503") ||
			time.Since(start) != 10*time.Second {
			t.Errorf("Send = %v after %v, want status 503 after 10s", err, time.Since(start))
		}
		for range cap(p.in) {
			requireNoError(t, <-kept)
		}
		if err := sub.Send(t.Context(), []byte(fmt.Sprintf(renegot, "sub_1"))); err == nil ||
			!strings.Contains(err.Error(), "503") {
			t.Errorf("Send(renegotiate) = %v, want status 503", err)
		}
		sent := make(chan error, 1)
		go func() { sent <- sub.Send(t.Context(), reply) }()
		synctest.Wait()
		prompt := dealAtOnce(p)
		wantMessage(t, prompt, string(reply))
		requireNoError(t, <-sent)
		requireNoError(t, sub.Close())
	})
}

// INV-05: a reply is answered when the producer has dealt with it, and so before any that is sent
// later.
func TestAnsweredWhenHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		sub := dialConn(t, Dialer{URL: local, Client: serveInMemory(t, s)})
		accepting := make(chan transports.Resumable)
		go func() { accepting <- acceptWith(t, s, acceptance("sub_1")) }()
		requireNoError(t, sub.Send(t.Context(), []byte(request)))
		wantMessage(t, sub, string(acceptance("sub_1")))
		p := (<-accepting).(*link)
		reply := []byte(fmt.Sprintf(replyTo, "sub_1"))
		sent := make(chan error, 1)
		go func() { sent <- sub.Send(t.Context(), reply) }()
		wantMessage(t, p, string(reply))
		synctest.Wait()
		select {
		case err := <-sent:
			t.Errorf("answered before the producer was done with it: %v", err)
		default:
		}
		start := time.Now()
		dealAtOnce(p)
		requireNoError(t, <-sent)
		if d := time.Since(start); d != 0 {
			t.Errorf("answered %v after the producer was done with it", d)
		}
		requireNoError(t, sub.Close())
	})
}

// A body has 10 s to arrive. INV-54
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serveInMemory(t, NewServer(ServerOptions{}))
		r, w := io.Pipe()
		defer w.Close()
		req, err := http.NewRequestWithContext(t.Context(), "POST", local+"/aaep/v1/replies", r)
		requireNoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		start := time.Now()
		resp, err := client.Do(req)
		requireNoError(t, err)
		defer resp.Body.Close()
		if resp.StatusCode != 408 || time.Since(start) != 10*time.Second {
			t.Errorf("%d after %v, want 408 after 10s", resp.StatusCode, time.Since(start))
		}
	})
}

// A producer that takes no notice of a POST or a GET does not hold the subscriber for ever.
func TestSubscriberTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/subscriptions") {
				_, _ = w.Write(acceptance("sub_1"))
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}))
		sub := dialConn(t, Dialer{URL: local, Client: client})
		requireNoError(t, sub.Send(t.Context(), []byte(request)))
		wantMessage(t, sub, string(acceptance("sub_1")))
		start := time.Now()
		if _, err := sub.Receive(t.Context()); !errors.Is(err, transports.ErrInterrupted) ||
			time.Since(start) != 20*time.Second {
			t.Errorf("Receive = %v after %v, want ErrInterrupted after 20s", err, time.Since(start))
		}
		err := sub.Send(t.Context(), []byte(fmt.Sprintf(replyTo, "sub_1")))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "unknown whether") {
			t.Errorf("Send = %v, want that its fate is unknown", err)
		}
		requireNoError(t, sub.Close())
	})
}

// INV-31, INV-54: of large messages only so many are held at once; the usual ones do not wait for
// them.
func TestLargeMessagesHaveLittleRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{})
		client := serveInMemory(t, s)
		large := strings.Replace(request, "{", "{"+strings.Repeat(" ", 64<<10), 1)
		var free func() // one place
		for {
			_, done, err := s.largeBodies.Read(strings.NewReader(large), "", 0)
			if err != nil {
				break
			}
			free = done
		}
		resp, body := sendRequest(t, client, "POST", local+"/aaep/v1/subscriptions", large)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "2" ||
			reasonOf(t, body) != "transport_unavailable" {
			t.Errorf("a large request: %s, again after %q: %s", resp.Status, resp.Header.Get("Retry-After"), body)
		}
		resp, body = sendRequest(t, client, "POST", local+"/aaep/v1/replies", large)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "2" {
			t.Errorf("a large reply: %s: %s", resp.Status, body)
		}
		for i, request := range []string{request, large} {
			go func() {
				conn, err := s.Accept(t.Context())
				requireNoError(t, err)
				defer conn.Close()
				requireNoError(t, conn.Send(t.Context(), acceptance(fmt.Sprint("sub_", i))))
			}()
			if resp, body := sendRequest(t, client, "POST", local+"/aaep/v1/subscriptions",
				request); resp.StatusCode != http.StatusCreated {
				t.Errorf("request %d: %s: %s", i, resp.Status, body)
			}
			if i == 0 {
				free()
			}
		}
		if resp, body := sendRequest(t, client, "POST", local+"/aaep/v1/replies",
			large); resp.StatusCode != http.StatusBadRequest {
			// it was read
			t.Errorf("room is held still: %s: %s", resp.Status, body)
		}
	})
}

// INV-54: a stranger who sends slowly is refused at once, and gone; a known peer has ten seconds.
func TestSlowUnauthenticatedPeerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serveInMemory(t, NewServer(ServerOptions{Authenticate: byName}))
		for who, want := range map[string]struct {
			status int
			after  time.Duration
		}{"": {http.StatusUnauthorized, httpguard.UnreadTimeout}, "alice": {http.StatusRequestTimeout, bodyTime}} {
			start := time.Now()
			slow, never := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), "POST", local+"/aaep/v1/subscriptions", slow)
			requireNoError(t, err)
			req.ContentLength = 1000
			req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + who}}
			resp, err := client.Do(req)
			requireNoError(t, err)
			resp.Body.Close()
			if resp.StatusCode != want.status || time.Since(start) != want.after {
				t.Errorf("%q: %s after %v, want %d after %v", who, resp.Status, time.Since(start), want.status,
					want.after)
			}
			never.Close()
		}
	})
}

// A peer that takes long to be known loses nothing of what it sends, over HTTP/2 neither.
func TestSlowAuthenticatorLosesNothing(t *testing.T) {
	for _, two := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := NewServer(ServerOptions{Authenticate: func(r *http.Request) (string, error) {
				time.Sleep(4 * time.Second) // an issuer that is asked for its keys
				return byName(r)
			}})
			srv := &http.Server{Handler: httpguard.WithDeadlines(s), ReadHeaderTimeout: 5 * time.Second,
				Protocols: new(http.Protocols)}
			srv.Protocols.SetHTTP1(!two)
			srv.Protocols.SetUnencryptedHTTP2(two)
			client := serveInMemoryWith(t, srv)
			body, send := io.Pipe()
			go func() {
				time.Sleep(3 * time.Second)
				_, _ = io.WriteString(send, "{}")
				send.Close()
			}()
			req, err := http.NewRequestWithContext(t.Context(), "POST", local+"/aaep/v1/subscriptions", body)
			requireNoError(t, err)
			req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer alice"}}
			resp, err := client.Do(req)
			requireNoError(t, err)
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest { // which was read
				t.Errorf("HTTP/2 %v: %s", two, resp.Status)
			}
		})
	}
}
