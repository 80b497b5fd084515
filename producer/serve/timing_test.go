package serve_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// TestReplyTiming measures how long the answer to a reply takes, after what is wrong with the
// reply: the time, like the bytes, is to say nothing about a token (INV-10, D-36). It reports
// Welch's t and the rank test against a token that never was, sent by the same in the same form;
// what it fails for is only a difference that one glance would see.
func TestReplyTiming(t *testing.T) {
	if os.Getenv("AAEP_LONG") == "" {
		t.Skip("takes a minute; set AAEP_LONG")
	}
	for _, kept := range []string{"no trail", "trail in a file"} {
		t.Run(kept, func(t *testing.T) { replyTiming(t, kept != "no trail") })
	}
}

func replyTiming(t *testing.T, inFile bool) {
	const samples = 10000 // of each kind
	const repliers = 120  // each may send 100 replies in a second, and none is to wait for that here
	cfg := producer.Config{}
	if inFile {
		trail, err := audit.Open(filepath.Join(t.TempDir(), "trail.jsonl"), audit.Options{})
		check(t, err)
		t.Cleanup(func() { trail.Close() })
		cfg.Audit = trail
	}
	st := startFixture(t, cfg)
	var asked, blind []*rawClient
	events := subscribeRaw(t, st.addr, everything).openStream("")
	for range repliers {
		r, b := subscribeRaw(t, st.addr, everything), subscribeRaw(t, st.addr, withoutReplies(everything))
		asked, blind = append(asked, r), append(blind, b)
		for _, st := range []*stream{r.openStream(""), b.openStream("")} {
			go func() {
				for range st.frames {
				}
			}()
		}
	}
	s := st.startSession("Asking.")
	ask := func(timeout time.Duration) (<-chan result[string], aaep.ReplyToken) {
		tool := pay
		tool.Timeout = timeout
		agent := runAsync(func() (string, error) { return s.Tool(context.Background(), tool, succeed) })
		_, q := events.findQuestion()
		return agent, q.ReplyToken
	}
	agent, settled := ask(time.Hour)
	asked[0].postMessage(asked[0].sendReply(settled, aaep.Reject))
	awaitResult(t, agent)
	agent, expired := ask(time.Second)
	awaitResult(t, agent)
	_, open := ask(time.Hour)

	const never, noSubscription = "rpl_0123456789abcdef0123456789abcdef", "sub_0123456789abcdef0123456789abcdef"
	later := time.Now().Add(2 * time.Hour) // of the same length as now
	accept := func(token aaep.ReplyToken, id string, at time.Time) string {
		return encodeMessage(t, &aaep.ConfirmationReply{ReplyToken: token, Decision: aaep.Accept, SubscriptionID: id,
			Timestamp: at})
	}
	respond := func(token aaep.ReplyToken, id string) string {
		return encodeMessage(t, &aaep.ClarificationReply{ReplyToken: token, Response: "accept", SubscriptionID: id,
			Timestamp: later})
	}
	kinds := []struct {
		name string
		than int // compared with that one, which the sender could have sent as well
		body func(i int) string
	}{
		{"never was", 0, func(i int) string { return accept(never, asked[i].id, later) }},
		{"never was, once more", 0, func(i int) string { return accept(never, asked[i].id, later) }},
		{"answered before", 0, func(i int) string { return accept(settled, asked[i].id, later) }},
		{"timed out before", 0, func(i int) string { return accept(expired, asked[i].id, later) }},
		{"open, stamped too late", 0, func(i int) string { return accept(open, asked[i].id, later) }},
		{"never was, not asked", 5, func(i int) string { return accept(never, blind[i].id, later) }},
		{"open, not asked", 5, func(i int) string { return accept(open, blind[i].id, later) }},
		{"never was, a response", 7, func(i int) string { return respond(never, asked[i].id) }},
		{"open, a response", 7, func(i int) string { return respond(open, asked[i].id) }},
		{"never was, no subscription", 9, func(int) string { return accept(never, noSubscription, later) }},
		{"open, no subscription", 9, func(int) string { return accept(open, noSubscription, later) }},
	}
	conn, err := net.Dial("tcp", st.addr)
	check(t, err)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	post := func(body string) time.Duration {
		request := fmt.Sprintf("POST /aaep/v1/replies HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", st.addr, len(body), body)
		began := time.Now()
		_, err := io.WriteString(conn, request)
		check(t, err)
		resp, err := http.ReadResponse(answers, nil)
		took := time.Since(began)
		check(t, err)
		if resp.StatusCode != http.StatusNoContent {
			t.Fatal(resp.Status)
		}
		return took
	}
	bodies := make([][]string, len(kinds))
	for k, kind := range kinds {
		for i := range repliers {
			bodies[k] = append(bodies[k], kind.body(i))
		}
	}
	took := make([][]float64, len(kinds))
	for n := range samples + 500 {
		for _, k := range rand.Perm(len(kinds)) {
			d := post(bodies[k][rand.IntN(repliers)])
			if n >= 500 { // the first ones warm up
				took[k] = append(took[k], float64(d.Nanoseconds())/1000)
			}
		}
	}
	var good []float64
	s = st.startSession("Asking while a question is open.")
	for range 300 {
		agent, token := ask(time.Hour)
		body := accept(token, asked[rand.IntN(repliers)].id, time.Now())
		good = append(good, float64(post(body).Nanoseconds())/1000)
		check(t, awaitResult(t, agent).err)
	}
	var report strings.Builder
	fmt.Fprintf(&report, "%-28s %6s %9s %9s %9s %7s %7s\n", "the token is", "n", "median µs", "p90", "p99", "t",
		"rank z")
	line := func(name string, x, base []float64) {
		fmt.Fprintf(&report, "%-28s %6d %9.1f %9.1f %9.1f %7.2f %7.2f\n", name, len(x), quantile(x, 0.5),
			quantile(x, 0.9), quantile(x, 0.99), welchT(x, base), rankSum(x, base))
	}
	for k, kind := range kinds {
		line(kind.name, took[k], took[kind.than])
	}
	line("open, and the reply counts", good, took[0])
	t.Log("\n" + report.String())
	for k, kind := range kinds {
		if ratio := quantile(took[k], 0.5) / quantile(took[kind.than], 0.5); ratio < 0.8 || ratio > 1.25 {
			t.Errorf("%s: the median is %.2f of that of %q", kind.name, ratio, kinds[kind.than].name)
		}
	}
}

// quantile returns the value below which the share q of the sorted sample x lies.
func quantile(x []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return sorted[int(q*float64(len(sorted)-1))]
}

// welchT is Welch's t of two samples, without the slowest hundredth of each, which is the work of
// others on this machine.
func welchT(a, b []float64) float64 {
	moments := func(x []float64) (mean, perN float64) {
		x = slices.Sorted(slices.Values(x))
		x = x[:len(x)*99/100]
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			perN += (v - mean) * (v - mean) / float64(len(x)-1) / float64(len(x))
		}
		return mean, perN
	}
	ma, va := moments(a)
	mb, vb := moments(b)
	return (ma - mb) / math.Sqrt(va+vb)
}

// rankSum is the z of the Mann-Whitney test: how surely a tends to be larger than b.
func rankSum(a, b []float64) float64 {
	type value struct {
		v     float64
		fromA bool
	}
	var all []value
	for _, v := range a {
		all = append(all, value{v, true})
	}
	for _, v := range b {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(x, y value) int { return cmp.Compare(x.v, y.v) })
	sum := 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		for _, x := range all[i:j] { // equal values share their ranks
			if x.fromA {
				sum += float64(i+j+1) / 2
			}
		}
		i = j
	}
	n, m := float64(len(a)), float64(len(b))
	return (sum - n*(n+1)/2 - n*m/2) / math.Sqrt(n*m*(n+m+1)/12)
}
