package serving

import (
	"context"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep/internal/cli/buildinfo"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/metrics"
	"github.com/aaep-go/aaep/producer"
)

const metricsPath = "/metrics"

// MetricsFlag says where counts are told.
func MetricsFlag(f *pflag.FlagSet) *string {
	return f.String("metrics", "", "tell programs on this machine, at `ADDRESS`, how many events and listeners there are")
}

// ListenMetrics opens the address of --metrics, where counts are told. It must be one of this
// machine, and none of those where the agent is served, which are in served. The error is a usage
// error.
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
		return nil, exits.UsageError("--metrics and --listen cannot both be at %s.\nGive one of them another port",
			addr)
	}
	return ListenTCP(ctx, addr, "Give --metrics another address")
}

// ServeMetrics answers programs on this machine with the counts of agents and what was observed,
// until stop is called.
func ServeMetrics(ln net.Listener, agents map[string]*producer.Producer, seen *metrics.RequestCounts) (address string,
	stop func()) {
	name, commit := buildinfo.Read()
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, metrics.Handler(agents, seen, name, commit))
	srv := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(ln) }()
	return "http://" + ln.Addr().String() + metricsPath, func() { srv.Close(); <-done }
}
