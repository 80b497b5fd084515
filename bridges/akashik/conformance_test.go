package akashik_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
)

// What the bridge tells conforms at Level 3: the events of a field come before each scenario, which
// the suite's own agent does beside them, for Akashik has no words for it. Where the suite joins
// all that is written, or counts the questions of one session, there are none.
func TestConformance(t *testing.T) {
	told := 0
	report := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
		p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "field"}, Languages: []string{"en"}, ShortTimeouts: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Shutdown(context.Background()) })
		p.AddEndpoint(manifest.Stdio, manifest.Endpoint{})
		within := &aaeptest.Agent{Producer: p}
		driver := conformance.DriverFunc(func(ctx context.Context, sc conformance.Scenario) error {
			if sc.Name == conformance.Stream || sc.Name == conformance.Ask {
				return within.Start(ctx, sc)
			}
			stop, err := followAll(p)
			if err != nil {
				return fmt.Errorf("the field: %w", err)
			}
			defer stop()
			told++
			return within.Start(ctx, sc)
		})
		return conformance.ProducerRun{Dialer: within, Manifest: within.Manifest, Driver: driver, Level: 3}
	})
	if report.Verdict != conformance.Pass || told == 0 {
		t.Errorf("the bridge may not claim Level 3: %s, with %d fields", report.Summary(), told)
	}
}

// followAll has a field tell every event but the end of its session, which would be the end of the
// first session that the suite sees, and one that requires an action, until stop is called.
func followAll(p *producer.Producer) (stop func() error, err error) {
	f := newField()
	network := memnet.Listen()
	server := &http.Server{Handler: f}
	go server.Serve(network)
	transport := &http.Transport{DialContext: network.Dial}
	b, err := akashik.NewOver(p, akashik.Config{URL: "http://127.0.0.1", Window: time.Second}, transport)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Follow(ctx) }()
	<-f.linked
	for _, e := range events[:len(events)-1] {
		f.push(e.n)
	}
	f.push(notification("conflict.detected", 99, 1, "Two prices", "", "con-9", true))
	time.Sleep(1500 * time.Millisecond) // until the window has ended and all is told
	return func() error {
		cancel()
		<-done
		f.cutLinks()
		server.Close()
		transport.CloseIdleConnections()
		return b.Close()
	}, nil
}
