package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// TestCrush: ten thousand ask for a subscription within a second. As many are served as there is
// room for, and all others are told when to come again; who listened before hears everything at
// once (INV-26, INV-27, INV-50, P7).
func TestCrush(t *testing.T) {
	const room, rate = 100, 500
	all := 10_000
	if testing.Short() {
		all = 2000
	}
	runVirtual(t, producer.Config{MaxSubscriptions: room, MaxRequestsPerSecond: rate},
		func(t *testing.T, v *virtualServer) {
			conn, good := v.openStream(v.subscribe(withoutReplies(everything)))
			defer conn.Close()
			s, err := v.p.StartSession(context.Background(), aaep.Say("Talking."))
			check(t, err)
			request := encodeMessage(t, &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw",
				Capabilities: withoutReplies(everything)})
			var mu sync.Mutex
			answers, hints := map[string]int{}, 0
			var crush sync.WaitGroup
			come := func() {
				c, err := v.ln.Dial(context.Background(), "", "")
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				go fmt.Fprintf(c, "POST /aaep/v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(request), request)
				status, again := answerOn(c)
				mu.Lock()
				defer mu.Unlock()
				if answers[status]++; again {
					hints++
				}
			}
			for step := range int64(200) {
				for range all / 200 {
					crush.Go(come)
				}
				sent := time.Now()
				check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: step + 1}, 0))
				for line, want := "", fmt.Sprintf(`"step":%d}`, step+1); !strings.Contains(line, want); {
					line, err = good.ReadString('\n')
					check(t, err)
				}
				if late := time.Since(sent); late > 0 {
					t.Fatalf("event %d came after %v", step, late)
				}
				time.Sleep(5 * time.Millisecond)
			}
			go io.Copy(io.Discard, good)
			crush.Wait()
			if n := len(v.p.Subscriptions()); n != room {
				t.Errorf("%d subscriptions, want %d", n, room)
			}
			if answers["201"] != room-1 || answers["429"] != all-room+1 || hints != all-room+1 {
				t.Errorf("%v, of which %d say when to come again", answers, hints)
			}
		})
}

// answerOn reads the status of an answer, and whether it says when to come again.
func answerOn(c net.Conn) (status string, again bool) {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err.Error(), false
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.Status[:3], resp.Header.Get("Retry-After") != ""
}
