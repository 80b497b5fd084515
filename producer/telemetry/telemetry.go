// Package telemetry measures a producer with OpenTelemetry: how many subscriptions there are, what
// becomes of events, how late critical ones leave, how many questions are open; and a span for each
// handshake, reply and resumption.
//
//	t, err := telemetry.New(meterProvider, tracerProvider)
//	p, err := producer.New(producer.Config{Agent: …, Observer: t})
//	stop, err := t.Watch(p)
//
// No event has a span and no label holds what an agent or a person said, or who they are.
package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/aaep-go/aaep/producer"
)

const name = "github.com/aaep-go/aaep/producer/telemetry"

// Telemetry is a producer.Observer. Its methods may be called at once.
type Telemetry struct {
	meter  metric.Meter
	tracer trace.Tracer
	delay  metric.Float64Histogram
	took   metric.Float64Histogram
}

var _ producer.Observer = (*Telemetry)(nil)

// New returns a Telemetry for producer.Config.Observer that reports to the providers, such as
// otel.GetMeterProvider() and otel.GetTracerProvider(). The error is that of a provider. Watch
// reports the counts.
func New(meters metric.MeterProvider, tracers trace.TracerProvider) (*Telemetry, error) {
	t := &Telemetry{meter: meters.Meter(name), tracer: tracers.Tracer(name)}
	bounds := metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .15, .25, .5, 1,
		2.5, 5, 10, 30)
	var err error
	if t.delay, err = t.meter.Float64Histogram("aaep.critical.delay", metric.WithUnit("s"), bounds,
		metric.WithDescription(
			"Time from a critical event's being said to its leaving on one subscription")); err != nil {
		return nil, err
	}
	t.took, err = t.meter.Float64Histogram("aaep.operation.duration", metric.WithUnit("s"), bounds,
		metric.WithDescription("Time that subscribing, replying and resuming took the producer"))
	return t, err
}

// Began starts the span of an operation, and returns the function that the producer ends it with.
// That also records how long the operation took.
func (t *Telemetry) Began(operation producer.Operation) func(error) {
	began := time.Now()
	ctx, span := t.tracer.Start(context.Background(), "aaep."+string(operation),
		trace.WithSpanKind(trace.SpanKindServer))
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "") // the error is for the log alone: it may name the subscriber
		}
		span.End()
		t.took.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(
			attribute.String("aaep.operation", string(operation)), attribute.Bool("aaep.failed", err != nil)))
	}
}

// Critical records the delay of a critical event: from its being said to its leaving on one
// subscription.
func (t *Telemetry) Critical(delay time.Duration) {
	t.delay.Record(context.Background(), delay.Seconds())
}

// counts are what Watch reports.
var counts = []struct {
	name, description, unit string
	total                   bool // it only grows
	value                   func(producer.Stats) int
}{
	{"aaep.events.produced", "Events the agent produced", "{event}", true, func(s producer.Stats) int {
		return s.Produced
	}},
	{"aaep.events.delivered", "Events delivered, over all subscriptions", "{event}", true,
		func(s producer.Stats) int { return s.Delivered }},
	{"aaep.events.merged", "Events that left inside another", "{event}", true, func(s producer.Stats) int {
		return s.Merged
	}},
	{"aaep.events.filtered", "Events a subscription did not want", "{event}", true, func(s producer.Stats) int {
		return s.Filtered
	}},
	{"aaep.events.held", "Events that wait for their turn", "{event}", false, func(s producer.Stats) int {
		return s.Held
	}},
	{"aaep.questions.open", "Questions that wait for an answer", "{question}", false, func(s producer.Stats) int {
		return s.Questions
	}},
	{"aaep.subscriptions", "Subscriptions that are served", "{subscription}", false, func(s producer.Stats) int {
		return s.Subscriptions
	}},
	{"aaep.subscriptions.connected", "Subscriptions whose link is not broken", "{subscription}", false,
		func(s producer.Stats) int { return s.Connected }},
	{"aaep.log.failed", "Whether the log is given up: 1 is yes", "1", false, func(s producer.Stats) int {
		return one(s.LogFailed)
	}},
	{"aaep.log.away", "Whether the log does not answer, or the agent cannot be reached, for now: 1 is yes", "1", false,
		func(s producer.Stats) int { return one(s.LogAway) }},
	{"aaep.audit.unrecorded", "Records that the audit trail could not keep", "{record}", true,
		func(s producer.Stats) int { return s.Unrecorded }},
	{"aaep.replies.lost", "Replies that could not be handed to the agent and do not count", "{reply}", true,
		func(s producer.Stats) int { return s.LostReplies }},
}

// one returns 1 for true and 0 for false.
func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Watch reports p's counts whenever they are collected, until stop is called, which returns the
// meter's error. After an error of Watch nothing is watched and stop is nil.
func (t *Telemetry) Watch(p *producer.Producer) (stop func() error, err error) {
	var instruments []metric.Observable
	var observers []func(metric.Observer, producer.Stats) // one for each instrument
	for _, c := range counts {
		var i metric.Int64Observable
		if c.total {
			i, err = t.meter.Int64ObservableCounter(c.name, metric.WithDescription(c.description),
				metric.WithUnit(c.unit))
		} else {
			i, err = t.meter.Int64ObservableGauge(c.name, metric.WithDescription(c.description),
				metric.WithUnit(c.unit))
		}
		if err != nil {
			return nil, err
		}
		instruments = append(instruments, i)
		observers = append(observers, func(o metric.Observer, s producer.Stats) {
			o.ObserveInt64(i, int64(c.value(s)))
		})
	}
	registered, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := p.Stats()
		for _, observe := range observers {
			observe(o, stats)
		}
		return nil
	}, instruments...)
	if err != nil {
		return nil, err
	}
	return registered.Unregister, nil
}
