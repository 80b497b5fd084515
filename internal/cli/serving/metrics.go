package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer"
)

// counts are what --metrics tells, by the names that module producer/telemetry has for them.
var counts = []struct {
	name, kind, help string
	value            func(producer.Stats) int
}{
	{"aaep_events_produced_total", "counter", "Events the agent produced.",
		func(s producer.Stats) int { return s.Produced }},
	{"aaep_events_delivered_total", "counter", "Events delivered, over all subscriptions.",
		func(s producer.Stats) int { return s.Delivered }},
	{"aaep_events_merged_total", "counter", "Events that left inside another.",
		func(s producer.Stats) int { return s.Merged }},
	{"aaep_events_filtered_total", "counter", "Events a subscription did not want.",
		func(s producer.Stats) int { return s.Filtered }},
	{"aaep_events_held", "gauge", "Events that wait for their turn.", func(s producer.Stats) int { return s.Held }},
	{"aaep_questions_open", "gauge", "Questions that wait for an answer.",
		func(s producer.Stats) int { return s.Questions }},
	{"aaep_subscriptions", "gauge", "Subscriptions that are served.",
		func(s producer.Stats) int { return s.Subscriptions }},
	{"aaep_subscriptions_connected", "gauge", "Subscriptions whose link is not broken.",
		func(s producer.Stats) int { return s.Connected }},
	{"aaep_log_failed", "gauge", "Whether the log is given up: 1 is yes.",
		func(s producer.Stats) int { return boolAsNumber(s.LogFailed) }},
	{"aaep_log_away", "gauge", "Whether the log does not answer, or the agent cannot be reached, for now: 1 is yes.",
		func(s producer.Stats) int { return boolAsNumber(s.LogAway) }},
	{"aaep_audit_unrecorded_total", "counter", "Records that the audit trail could not keep.",
		func(s producer.Stats) int { return s.Unrecorded }},
	{"aaep_replies_lost_total", "counter", "Replies that could not be handed to the agent and do not count.",
		func(s producer.Stats) int { return s.LostReplies }},
}

// boolAsNumber returns 1 for true, as metrics have it.
func boolAsNumber(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// writeMetrics writes the counts of agents in the text format of Prometheus, by the agents' names;
// the name is "" where there is only one. No metric tells what was said, or to whom.
func writeMetrics(w io.Writer, agents map[string]producer.Stats) {
	for _, c := range counts {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", c.name, c.help, c.name, c.kind)
		for _, agent := range slices.Sorted(maps.Keys(agents)) {
			label := ""
			if agent != "" {
				label = `{agent="` + inLabel.Replace(agent) + `"}`
			}
			fmt.Fprintf(w, "%s%s %d\n", c.name, label, c.value(agents[agent]))
		}
	}
}

var inLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

const metricsPath = "/metrics"

// MetricsFlag says where counts are told.
func MetricsFlag(f *pflag.FlagSet) *string {
	return f.String("metrics", "", "tell programs on this machine, at `ADDRESS`, how many events and listeners there are")
}

// ListenMetrics opens where counts are told, which is not where the agent is served.
func ListenMetrics(ctx context.Context, addr string, served []string) (net.Listener, error) {
	const such = "Use one such as 127.0.0.1:9464."
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	switch {
	case err != nil:
		return nil, exits.UsageError("--metrics %q is not an address of this machine.\n"+such, addr)
	case !tcp.IP.IsLoopback():
		return nil, exits.UsageError("--metrics %q could be reached from other machines, and nobody is asked who they are.\n"+such, addr)
	}
	if slices.Contains(served, addr) && tcp.Port != 0 {
		return nil, exits.UsageError("--metrics and --listen cannot both be at %s.\nGive one of them another port", addr)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, exits.With(exits.Failed, fmt.Errorf("another program serves on %s already.\nGive --metrics another address", addr))
	case err != nil:
		return nil, exits.With(exits.Failed, fmt.Errorf("cannot serve metrics on %s: %s", addr, exits.InnermostError(err)))
	}
	return ln, nil
}

// ServeMetrics answers programs on this machine with the counts of agents and what was observed,
// until stop is called.
func ServeMetrics(ln net.Listener, agents map[string]*producer.Producer, seen *RequestCounts) (at string, stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsPath, func(w http.ResponseWriter, r *http.Request) {
		if host, _, _ := net.SplitHostPort(r.Host); !httpguard.LoopbackName(host) { // a page that gave this machine a name
			http.Error(w, "ask by an address of this machine", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		all := map[string]producer.Stats{}
		for name, p := range agents {
			all[name] = p.Stats()
		}
		writeMetrics(w, all)
		seen.writeMetrics(w)
		writeProcess(w)
	})
	srv := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(ln) }()
	return "http://" + ln.Addr().String() + metricsPath, func() { srv.Close(); <-done }
}
