package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/telemetry"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// pipe is a way to a producer in this process.
type pipe struct{ p *producer.Producer }

func (d pipe) Dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go d.p.ServeConn(b)
	return a, nil
}

// Example measures a producer. Real providers come from the OpenTelemetry SDK, with the exporters
// of one's choice.
func Example() {
	reader := metric.NewManualReader()
	t, err := telemetry.New(metric.NewMeterProvider(metric.WithReader(reader)), trace.NewTracerProvider())
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, Observer: t})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Shutdown(context.Background())
	stop, err := t.Watch(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	s, _ := p.StartSession(context.Background(), aaep.Say("Planning."))
	s.Complete(aaep.Say("Done."))
	fmt.Println(collect(reader)["aaep.events.produced"])
	// Output: 3
}

// collect returns the sums, the gauges and the counts of the histograms, with their attributes.
func collect(r *metric.ManualReader) map[string]int64 {
	var all metricdata.ResourceMetrics
	if err := r.Collect(context.Background(), &all); err != nil {
		panic(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				got[m.Name] = d.DataPoints[0].Value
			case metricdata.Gauge[int64]:
				got[m.Name] = d.DataPoints[0].Value
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					name := m.Name
					for _, a := range p.Attributes.ToSlice() {
						name += " " + a.Value.String()
					}
					got[name] = int64(p.Count)
				}
			}
		}
	}
	return got
}

// forgetful keeps no record of how a tool ended.
type forgetful struct{}

func (forgetful) Record(r audit.Record) error {
	if r.Kind == audit.Completed {
		return errors.New("no space left")
	}
	return nil
}

// disk keeps a log until it is full.
type disk struct {
	full atomic.Bool
	end  uint64
	meta []byte
}

func (d *disk) Bounds() (start, end uint64)        { return d.end, d.end }
func (d *disk) Read(uint64, int) ([][]byte, error) { return nil, nil }
func (d *disk) Meta() ([]byte, error)              { return d.meta, nil }
func (d *disk) SetMeta(meta []byte) error          { d.meta = meta; return nil }
func (d *disk) Append(records [][]byte) error {
	if d.full.Load() {
		return errors.New("no space left")
	}
	d.end += uint64(len(records))
	return nil
}

// What an operator sees of a question that was asked and answered, and of a peer that was refused.
func TestTelemetry(t *testing.T) {
	reader, spans := metric.NewManualReader(), tracetest.NewSpanRecorder()
	instruments, err := telemetry.New(metric.NewMeterProvider(metric.WithReader(reader)),
		trace.NewTracerProvider(trace.WithSpanProcessor(spans)))
	if err != nil {
		t.Fatal(err)
	}
	disk := &disk{}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "payer"}, Observer: instruments, Log: disk,
		Audit: forgetful{}})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := instruments.Watch(p)
	if err != nil {
		t.Fatal(err)
	}
	caps := subscriber.ScreenReader("en-US")
	if _, err := subscriber.Dial(t.Context(), pipe{p},
		subscriber.Config{ID: "other",
			Capabilities: caps.With(aaep.Capabilities{Languages: []string{"yo"}})}); !errors.Is(err,
		aaep.CapabilitiesIncompatible) {
		t.Fatalf("Dial in a language that is not served = %v", err)
	}
	sub, err := subscriber.Dial(t.Context(), pipe{p}, subscriber.Config{ID: "orca", Capabilities: caps})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	s, err := p.StartSession(t.Context(), aaep.Say("Paying."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Next(t.Context()); err != nil { // it is followed: what is asked now can be late
		t.Fatal(err)
	}
	paid := make(chan error, 1)
	go func() {
		_, err := s.Tool(context.Background(),
			producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Action: aaep.Say("Pay $5."),
				Consequence: aaep.Say("The money is gone.")}, func(context.Context) (string, error) { return "", nil })
		paid <- err
	}()
	for ev, err := range sub.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type() != aaep.TypeAwaitingConfirmation {
			continue
		}
		if got := collect(reader); got["aaep.questions.open"] != 1 || got["aaep.subscriptions"] != 1 ||
			got["aaep.subscriptions.connected"] != 1 {
			t.Errorf("with the question open: %v", got)
		}
		if err := sub.Question(ev).Accept(t.Context()); err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := <-paid; err != nil {
		t.Fatal(err)
	}
	if got := collect(reader); got["aaep.log.failed"] != 0 || got["aaep.audit.unrecorded"] != 1 {
		t.Errorf("before the log failed: %v", got)
	}
	disk.full.Store(true)
	s.Complete(aaep.Say("Paid."))
	if err := p.WaitLogFailed(t.Context()); t.Context().Err() != nil {
		t.Fatal(err)
	}
	p.Shutdown(context.Background())
	got := collect(reader)
	for name, want := range map[string]int64{"aaep.log.failed": 1, "aaep.audit.unrecorded": 1, "aaep.questions.open": 0,
		"aaep.subscriptions":                      0,
		"aaep.operation.duration false subscribe": 1, "aaep.operation.duration false reply": 1} {
		if n, ok := got[name]; n != want || !ok {
			t.Errorf("%s is %d, want %d: %v", name, n, want, got)
		}
	}
	if got["aaep.critical.delay"] == 0 { // of the question, and of the events that may not wait for the rate with it
		t.Errorf("no critical event was observed: %v", got)
	}
	if got["aaep.operation.duration true subscribe"] == 0 || got["aaep.events.delivered"] == 0 ||
		got["aaep.events.delivered"]+got["aaep.events.merged"] < got["aaep.events.produced"] {
		t.Errorf("collected %v", got)
	}
	failed, fine := 0, 0
	for _, span := range spans.Ended() {
		if span.Status().Code == codes.Error {
			failed++
		} else {
			fine++
		}
		if len(span.Attributes()) > 0 || span.Status().Description != "" {
			t.Errorf("the span %s tells %v, %q", span.Name(), span.Attributes(), span.Status().Description)
		}
	}
	if failed == 0 || fine != 2 {
		t.Errorf("%d spans failed and %d did not; want some, and subscribe and reply", failed, fine)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := collect(reader); got["aaep.events.produced"] != 0 {
		t.Error("after stop it is still watched")
	}
}
