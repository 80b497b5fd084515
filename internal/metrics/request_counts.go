package metrics

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/auth"
)

// RequestCounts counts for --metrics what no producer's Stats have: which requests were refused and
// why, and how late critical events were. It is a producer.Observer for all agents of the process.
// All its methods may be called at once.
type RequestCounts struct {
	// Certificates returns how the agent is served over TLS; nil is not at all. It is set before
	// anything is counted.
	Certificates func() (*tls.Config, error)

	mu      sync.Mutex
	refused map[string]int // by reason
	delays  [len(delayBounds) + 1]int
	late    time.Duration // the sum of the delays
}

// delayBounds are the upper bounds of the histogram of delays, in seconds. The last part has no
// bound.
var delayBounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// refusals are the reasons that are always there, so that an alarm sees their first increase.
var refusals = []string{"no_credentials", "bad_credentials", "authorization_denied", "transport_unavailable",
	"rate_limit", "capabilities_incompatible", "version_unsupported", "malformed",
	"unknown_subscription", "unknown_stream", "forbidden", "too_large"}

// NewRequestCounts makes counts, with a zero for each reason that an alarm may watch.
func NewRequestCounts() *RequestCounts {
	o := &RequestCounts{refused: map[string]int{}}
	for _, reason := range refusals {
		o.refused[reason] = 0
	}
	return o
}

// Began is that of producer.Observer: what it returns counts why the operation was refused, if it
// was.
func (o *RequestCounts) Began(operation producer.Operation) func(error) {
	switch operation {
	case producer.Reply:
		return o.countMalformed
	case producer.Resume:
		return func(error) {}
	}
	return func(err error) {
		if no, refused := errors.AsType[*aaep.Rejection](err); refused {
			o.CountRefused(string(no.Code))
			return
		}
		o.countMalformed(err) // any other error is of a link that is gone, and nothing was refused
	}
}

// countMalformed counts a message that cannot be read.
func (o *RequestCounts) countMalformed(err error) {
	if _, malformed := errors.AsType[*aaep.InvalidError](err); malformed {
		o.CountRefused("malformed")
	}
}

// Critical counts how long a critical event waited before it left; it is the method of
// producer.Observer.
func (o *RequestCounts) Critical(delay time.Duration) {
	i, _ := slices.BinarySearch(delayBounds[:], delay.Seconds())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.delays[i]++
	o.late += delay
}

// Refused returns how many requests were refused, by reason.
func (o *RequestCounts) Refused() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.refused)
}

// CountRefused counts a refused request by its reason.
func (o *RequestCounts) CountRefused(reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused[reason]++
}

// CountRefusals returns an Authenticator that asks ask, with its refusals counted by their kind.
func (o *RequestCounts) CountRefusals(ask auth.Authenticator) auth.Authenticator {
	return func(r *http.Request) (principal string, err error) {
		principal, err = ask(r)
		switch {
		case err == nil:
		case errors.Is(err, auth.ErrNone):
			o.CountRefused("no_credentials")
		case errors.Is(err, aaep.AuthorizationDenied):
			o.CountRefused("authorization_denied")
		case errors.Is(err, aaep.TransportUnavailable):
			o.CountRefused("transport_unavailable")
		default:
			o.CountRefused("bad_credentials")
		}
		return principal, err
	}
}

// writeCounts writes to w the counts of requests, the delays of critical events and the expiry of
// the certificate, in the text format of Prometheus.
func (o *RequestCounts) writeCounts(w io.Writer) {
	refused := o.Refused()
	o.mu.Lock()
	delays, totalDelay := o.delays, o.late
	o.mu.Unlock()
	writeHead(w, "aaep_requests_refused_total", "counter", "Requests and subscriptions that were refused, by reason.")
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(w, "aaep_requests_refused_total{reason=\"%s\"} %d\n", inLabel.Replace(reason), refused[reason])
	}
	writeHead(w, "aaep_critical_delivery_seconds", "histogram",
		"Time from when the agent emitted a critical event until a link took it.")
	sum := 0
	for i, bound := range delayBounds {
		sum += delays[i]
		fmt.Fprintf(w, "aaep_critical_delivery_seconds_bucket{le=\"%g\"} %d\n", bound, sum)
	}
	sum += delays[len(delayBounds)]
	fmt.Fprintf(w, "aaep_critical_delivery_seconds_bucket{le=\"+Inf\"} %d\naaep_critical_delivery_seconds_sum %g\naaep_critical_delivery_seconds_count %d\n", sum, totalDelay.Seconds(), sum)
	if o.Certificates == nil {
		return
	}
	if conf, err := o.Certificates(); err == nil && conf != nil {
		writeHead(w, "aaep_certificate_expiry_seconds", "gauge",
			"When the certificate of the agent expires, in Unix seconds.")
		fmt.Fprintf(w, "aaep_certificate_expiry_seconds %d\n", conf.Certificates[0].Leaf.NotAfter.Unix())
	}
}

// writeHead writes the two lines before a metric.
func writeHead(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

var processStart = time.Now()

// writeProcess writes to w which program this is and what it takes, in the text format of
// Prometheus; what the system does not say is left out.
func writeProcess(w io.Writer, version, commit string) {
	writeHead(w, "aaep_build_info", "gauge", "Which build this is; always 1.")
	host, _ := os.Hostname()
	fmt.Fprintf(w, "aaep_build_info{version=\"%s\",commit=\"%s\",goversion=\"%s\",node=\"%s:%d\"} 1\n",
		inLabel.Replace(version), inLabel.Replace(commit), runtime.Version(),
		inLabel.Replace(host), os.Getpid())
	writeHead(w, "process_start_time_seconds", "gauge", "When the process began, in Unix seconds.")
	fmt.Fprintf(w, "process_start_time_seconds %d\n", processStart.Unix())
	writeHead(w, "go_goroutines", "gauge", "Goroutines now.")
	fmt.Fprintf(w, "go_goroutines %d\n", runtime.NumGoroutine())
	if status, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, pages int64
		fmt.Sscan(string(status), &size, &pages)
		writeHead(w, "process_resident_memory_bytes", "gauge", "Resident memory.")
		fmt.Fprintf(w, "process_resident_memory_bytes %d\n", pages*int64(os.Getpagesize()))
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		writeHead(w, "process_open_fds", "gauge", "Open files and connections.")
		fmt.Fprintf(w, "process_open_fds %d\n", len(files))
	}
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil { // proc(5): utime and stime, in hundredths of a second
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 12 {
			var user, system int64
			fmt.Sscan(f[11], &user)
			fmt.Sscan(f[12], &system)
			writeHead(w, "process_cpu_seconds_total", "counter", "Processor time, user and system.")
			fmt.Fprintf(w, "process_cpu_seconds_total %.2f\n", float64(user+system)/100)
		}
	}
}
