//go:build unix

package llm_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/transports"
)

// BenchmarkProxy sends each request once through a plain reverse proxy and once through a tap that
// one listener hears, and reports what the tap adds: to the time until the first byte, and in
// processor time for each token, also as the part of a core that 1,000 tokens a second take.
func BenchmarkProxy(b *testing.B) {
	const (
		tokens     = 500
		firstToken = 5 * time.Millisecond // models take longer
	)
	data := fakemodel.Stream(fakemodel.Chat, fakemodel.Answer{Says: slices.Repeat([]string{" word"}, tokens)})
	events := bytes.SplitAfter(data, []byte("\n\n"))
	arrived := make(chan struct{}) // one for each first byte
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		time.Sleep(firstToken)
		for i, event := range events {
			w.Write(event)
			if w.(http.Flusher).Flush(); i == 0 {
				<-arrived
			}
		}
	}))
	defer provider.Close()
	upstream, _ := url.Parse(provider.URL)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	theirs, ours := transports.Pipe()
	go p.ServeConn(ours)
	request, _ := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader"})
	theirs.Send(b.Context(), request)
	go func() {
		for {
			if _, err := theirs.Receive(context.Background()); err != nil {
				return
			}
		}
	}()
	p.WaitSubscriber(b.Context())
	plain := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }})
	defer plain.Close()
	tapped := httptest.NewServer(llm.New(p).Proxy(upstream, nil))
	defer tapped.Close()

	// A conversation of 100 KB, as agents send it.
	said := `{"stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 20_000) + `"}]}`
	var first [2][]time.Duration
	var busy [2]time.Duration
	ask := func(i int, at string) {
		before, began := processorTime(), time.Now()
		resp, err := http.Post(at+"/v1/chat/completions", "application/json", strings.NewReader(said))
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Read(make([]byte, 1))
		first[i] = append(first[i], time.Since(began))
		arrived <- struct{}{}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		busy[i] += processorTime() - before
	}
	for b.Loop() {
		ask(0, plain.URL)
		ask(1, tapped.URL)
	}
	slices.Sort(first[0])
	slices.Sort(first[1])
	at := func(i, percent int) float64 { return float64(first[i][len(first[i])*percent/100].Microseconds()) }
	added := (busy[1] - busy[0]).Seconds() / float64(tokens*len(first[0]))
	b.ReportMetric(at(0, 50), "µs-p50-plain")
	b.ReportMetric(at(1, 50), "µs-p50-tap")
	b.ReportMetric(at(0, 99), "µs-p99-plain")
	b.ReportMetric(at(1, 99), "µs-p99-tap")
	b.ReportMetric(float64(busy[1])/float64(busy[0]), "times-the-CPU")
	b.ReportMetric(added*1e6, "µs-CPU-added/token")
	b.ReportMetric(added*1000*100, "%-of-a-core-at-1000-tokens/s")
}

// processorTime returns what the process has taken so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
