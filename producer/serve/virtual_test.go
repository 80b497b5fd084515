package serve_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// virtualServer is a producer served in virtual time, in memory.
type virtualServer struct {
	t      *testing.T
	p      *producer.Producer
	ln     *memnet.Listener
	client *http.Client
}

// runVirtual runs f in virtual time with a producer that is served in memory.
func runVirtual(t *testing.T, cfg producer.Config, f func(t *testing.T, v *virtualServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Agent.AgentID = "tester"
		p, err := producer.New(cfg)
		check(t, err)
		ln := memnet.Listen()
		v := &virtualServer{t: t, p: p, ln: ln, client: ln.Client(t)}
		ended := make(chan error, 1)
		go func() { ended <- serve.Serve(context.Background(), ln, p) }()
		defer func() {
			p.Shutdown(context.Background())
			if err := <-ended; err != nil {
				t.Errorf("Serve = %v, want nil", err)
			}
		}()
		f(t, v)
	})
}

// subscribe makes a subscription, and returns where its stream is.
func (v *virtualServer) subscribe(c aaep.Capabilities) (location string) {
	v.t.Helper()
	resp, err := v.client.Post("http://localhost/aaep/v1/subscriptions", "application/json",
		strings.NewReader(encodeMessage(v.t,
			&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: c})))
	check(v.t, err)
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusCreated {
		v.t.Fatal(resp.Status, err)
	}
	return resp.Header.Get("Location")
}

// openStream opens a stream on a bare connection and reads its header.
func (v *virtualServer) openStream(location string) (net.Conn, *bufio.Reader) {
	v.t.Helper()
	c, err := v.ln.Dial(context.Background(), "", "")
	check(v.t, err)
	_, err = io.WriteString(c, "GET "+location+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	check(v.t, err)
	r := bufio.NewReaderSize(c, 16)
	for {
		line, err := r.ReadString('\n')
		check(v.t, err)
		if line == "\r\n" {
			return c, r
		}
	}
}

// TestNeverOpened: a subscription that is never opened ends after 30 seconds, and with it the
// question that was put to it alone (D-65, D-38).
func TestNeverOpened(t *testing.T) {
	runVirtual(t, producer.Config{}, func(t *testing.T, v *virtualServer) {
		location := v.subscribe(everything)
		begin := time.Now()
		s, err := v.p.StartSession(context.Background(), aaep.Say("Asking."))
		check(t, err)
		if _, err := s.Tool(context.Background(), pay, succeed); !errors.Is(err, producer.ErrUnreachable) ||
			time.Since(begin) != 30*time.Second {
			t.Errorf("the question ended with %v after %v, want ErrUnreachable after 30s", err, time.Since(begin))
		}
		if n := len(v.p.Subscriptions()); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
		synctest.Wait()
		resp, err := v.client.Get("http://localhost" + location)
		check(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("its stream: %s, want 404", resp.Status)
		}
	})
}

// TestStalled: one that does not read, or reads a byte a second, loses its stream when an event did
// not leave within 10 seconds, and its subscription after the grace time; and holds up no other
// (INV-26, INV-27, INV-54).
func TestStalled(t *testing.T) {
	for _, creeps := range []bool{false, true} {
		runVirtual(t, producer.Config{Grace: 5 * time.Second}, func(t *testing.T, v *virtualServer) {
			conn, r := v.openStream(v.subscribe(withoutReplies(everything)))
			defer conn.Close()
			if creeps {
				go func() {
					for _, err := r.ReadByte(); err == nil; _, err = r.ReadByte() {
						time.Sleep(time.Second)
					}
				}()
			}
			goodConn, good := v.openStream(v.subscribe(withoutReplies(everything)))
			defer goodConn.Close()
			begin := time.Now()
			s, err := v.p.StartSession(context.Background(), aaep.Say("Talking."))
			check(t, err)
			for i := range 200 {
				check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
			}
			for heard := 0; heard < 202; {
				line, err := good.ReadString('\n')
				check(t, err)
				if strings.HasPrefix(line, "data: ") {
					heard++
				}
			}
			go io.Copy(io.Discard, good)
			if time.Since(begin) != 0 {
				t.Errorf("the others had to wait for %v", time.Since(begin))
			}
			for _, status := range v.p.Subscriptions() {
				if status.Held > 64 {
					t.Errorf("%d events are held", status.Held)
				}
			}
			time.Sleep(14 * time.Second)
			synctest.Wait()
			if n := len(v.p.Subscriptions()); n != 2 {
				t.Errorf("%d subscriptions before the grace time is over, want 2", n)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if n := len(v.p.Subscriptions()); n != 1 {
				t.Errorf("%d subscriptions after %v, want 1", n, time.Since(begin))
			}
		})
	}
}

// TestDawdlers: a request whose body does not come, or whose answer is not read, ends within a
// minute at every path, with or without credentials; before that no credentials were asked for
// (INV-50, INV-54).
func TestDawdlers(t *testing.T) {
	runVirtual(t, producer.Config{}, func(t *testing.T, v *virtualServer) {
		var all sync.WaitGroup
		defer all.Wait()
		for _, host := range []string{"localhost", "evil.example"} {
			for _, path := range []string{"/healthz", "/.well-known/aaep-manifest.json", "/aaep/v1/schemas/",
				"/aaep/v1/ws", "/aaep/v1/subscriptions", "/aaep/v1/events", "/nothing"} {
				for what, request := range map[string]string{
					"a body that does not come": "POST " + path + " HTTP/1.1\r\nHost: " + host +
						"\r\nContent-Length: 100\r\n\r\n",
					"no end of the body": "GET " + path + " HTTP/1.1\r\nHost: " + host +
						"\r\nTransfer-Encoding: chunked\r\n\r\n",
					"answers that are never read": strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n",
						10_000),
				} {
					conn, err := v.ln.Dial(context.Background(), "", "")
					check(t, err)
					all.Go(func() {
						gone := make(chan struct{})
						defer func() { conn.Close(); <-gone }()
						go func() { // more of it than is read without an end of the connection
							defer close(gone)
							for _, err := io.WriteString(conn, request); err == nil; _, err = conn.Write([]byte{'\r'}) {
								time.Sleep(10 * time.Second)
							}
						}()
						select {
						case <-gone:
						case <-time.After(2 * time.Minute):
							t.Errorf("%s to %s under the name %s: the connection is still there", what, path, host)
						}
					})
				}
			}
		}
	})
}

// TestTrimmedWhileStalled: a subscriber that stalls for long, but not for ever, misses nothing that
// the log could hold for it; where the log had to go on without it, it is told that it is too slow
// (INV-27, D-51).
func TestTrimmedWhileStalled(t *testing.T) {
	for name, c := range map[string]struct {
		events, words int
		end           string
	}{
		"within memory": {1000, 1, `"step":1000}`},
		"beyond memory": {9000, 1500, `"slow_subscriber"`},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, producer.Config{KeepEvents: 100}, func(t *testing.T, v *virtualServer) {
				conn, r := v.openStream(v.subscribe(withoutReplies(everything)))
				defer conn.Close()
				s, err := v.p.StartSession(context.Background(), aaep.Say("Talking."))
				check(t, err)
				step := aaep.Say(strings.Repeat("counted ", c.words))
				for i := range c.events {
					check(t, s.Progress(step, aaep.Progress{Step: int64(i + 1)}, 0))
					if i == 0 {
						synctest.Wait() // it is about to be sent the first event
					}
				}
				time.Sleep(9 * time.Second)
				found := ""
				for found == "" && err == nil {
					var line string
					if line, err = r.ReadString('\n'); strings.Contains(line, c.end) {
						found = line
					}
				}
				if found == "" {
					t.Errorf("the stream ends with %v before %s", err, c.end)
				}
				if n := len(v.p.Subscriptions()); (n == 0) != strings.Contains(found, "slow") {
					t.Errorf("%d subscriptions are left after %.200s", n, found)
				}
			})
		})
	}
}

// A reply does not wait behind demands for other terms, however many are POSTed at once; each of
// them is answered, ten in a second (HS-073, INV-26).
func TestReplyBehindDemands(t *testing.T) {
	runVirtual(t, producer.Config{}, func(t *testing.T, v *virtualServer) {
		location := v.subscribe(everything)
		conn, r := v.openStream(location)
		defer conn.Close()
		_, id, _ := strings.Cut(location, "subscription_id=")
		s, err := v.p.StartSession(context.Background(), aaep.Say("Asking."))
		check(t, err)
		asked := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
		var token aaep.ReplyToken
		for token == "" {
			line, err := r.ReadString('\n')
			check(t, err)
			if data, isData := strings.CutPrefix(line, "data: "); isData {
				if q, isQuestion := (frame{data: data}).decodeEvent(t).Payload.(*aaep.AwaitingConfirmation); isQuestion {
					token = q.ReplyToken
				}
			}
		}
		go io.Copy(io.Discard, r)
		post := func(m aaep.Message) int {
			resp, err := v.client.Post("http://localhost/aaep/v1/replies", "application/json",
				strings.NewReader(encodeMessage(t, m)))
			if err != nil {
				t.Error(err)
				return 0
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			return resp.StatusCode
		}
		begin := time.Now()
		var demands sync.WaitGroup
		for i := range 50 {
			demands.Go(func() {
				if status := post(&aaep.SubscriptionRenegotiate{SubscriptionID: id,
					Capabilities: aaep.Capabilities{PaceWPM: int64(100 + i)}}); status != http.StatusOK {
					t.Errorf("a demand is answered %d, want 200", status)
				}
			})
		}
		synctest.Wait()
		status := post(&aaep.ConfirmationReply{ReplyToken: token, Decision: aaep.Reject, SubscriptionID: id,
			Timestamp: time.Now()})
		if got := <-asked; status != http.StatusNoContent || !errors.Is(got.err, producer.ErrRejected) ||
			got.took != 0 {
			t.Errorf("the reply is answered %d; Tool = %v after %v", status, got.err, got.took)
		}
		demands.Wait()
		if took := time.Since(begin); took < 4*time.Second || took > 5*time.Second {
			t.Errorf("50 demands took %v, want 4 to 5 seconds", took)
		}
	})
}
