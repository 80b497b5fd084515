// Package measure is the commands that measure and show what the SDK does: bench, how fast it
// serves, and segment, how it cuts text.
package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/bench"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/words"
)

// benchOptions is what the flags of "bench" say.
type benchOptions struct {
	bench.Options
	asJSON   bool
	plain    bool
	pid      int
	profiles string // a folder
	reach    *reach.Flags
}

// BenchCommand makes "aaep bench", with the hidden command of its servers; runBench does its work.
func BenchCommand() *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench [ADDRESS]",
		Short: "Measure what it costs to tell many listeners",
		Long: `bench serves many listeners, over each transport, and tells what it costs: the server's own processor time for one
delivery, how late it comes, and the memory of a listener that hears nothing. Beside it are measured a plain handler,
with a goroutine and a channel for each listener, and a raw loop over the sockets, which both write what was encoded
beforehand. The ratios tell something; the times are those of this machine at this moment.

It ends with a table of the figures that have goals. With --plain every figure is a sentence instead, as soon as it is
known.

With the address of an agent, bench follows that one with many listeners for a while, whatever it says. With --pid, its
processor time and memory are told too.`,
		Example: `  aaep bench
  aaep bench --transport sse --listeners 100 --for 2s
  aaep bench --pid 4711 --for 1m http://127.0.0.1:8080`,
		Args: exits.Arguments(0, 1),
		RunE: o.runBench,
	}
	f := cmd.Flags()
	f.BoolVar(&o.asJSON, "json", false, "print each result as a JSON object on a line of its own")
	f.BoolVar(&o.plain, "plain", false, "print each result as a sentence, and no table")
	f.IntVar(&o.Listeners, "listeners", 1000, "how many listeners; five times as many where they hear little")
	f.DurationVar(&o.Length, "for", 5*time.Second, "how long each measurement takes")
	f.StringVar(&o.profiles, "profiles", "", "leave in this `DIR` what took each server's processor time, for go tool pprof")
	f.IntVar(&o.pid, "pid", 0, "the process of the server at ADDRESS, where it runs on this machine")
	o.reach = reach.AddFlags(cmd)
	cmd.AddCommand(&cobra.Command{
		Use: "server KIND WIRE LISTENERS [PROFILE]", Hidden: true, Args: exits.Arguments(3, 4),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.Serve(args[0], args[1], args[2], append(args, "")[3], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	return cmd
}

// runBench does the work of "aaep bench": it measures our server beside others, or follows the
// agent at an address, and prints each result, and a table at the end unless --plain or --json is
// set. The error has the exit code.
func (o *benchOptions) runBench(cmd *cobra.Command, args []string) error {
	if o.Listeners < 1 || o.Length <= 0 {
		return exits.UsageError("--listeners and --for must be above 0.\nSee: aaep bench --help")
	}
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	o.Report = func(r bench.Result) { printResult(cmd.OutOrStdout(), r, o.asJSON) }
	self, err := os.Executable()
	if err != nil {
		return err
	}
	servers := 0
	o.Server = func(kind, wire, listeners string) *exec.Cmd {
		args := []string{"bench", "server", kind, wire, listeners}
		if servers++; o.profiles != "" {
			args = append(args, filepath.Join(o.profiles, fmt.Sprintf("%02d-%s-%s.pprof", servers, wire, kind)))
		}
		server := exec.CommandContext(ctx, self, args...)
		server.Stderr = cmd.ErrOrStderr()
		return server
	}
	if len(args) > 0 {
		return o.measureAgent(ctx, args[0])
	}
	if o.Wires, err = benchWires(o.reach.Transports); err != nil {
		return err
	}
	var results []bench.Result
	if !o.plain && !o.asJSON {
		o.Report = func(r bench.Result) {
			results = append(results, r)
			printResult(cmd.ErrOrStderr(), r, false)
		}
	}
	if err := bench.Compare(ctx, o.Options); err != nil {
		return exits.With(exits.Failed, err)
	}
	if results != nil {
		printTable(cmd.OutOrStdout(), o.Wires, results)
	}
	return nil
}

// benchWires returns the transports to measure by their names; all where none is named. A name that
// there is not is a usage error.
func benchWires(names []string) (chosen []string, err error) {
	for _, name := range names {
		found := false
		for _, w := range bench.Wires {
			if strings.EqualFold(w, name) {
				chosen, found = append(chosen, w), true
			}
		}
		if !found {
			return nil, exits.UsageError("--transport %q is none of %s.\nSee: aaep bench --help", name,
				strings.Join(bench.Wires, ", "))
		}
	}
	if chosen == nil {
		chosen = bench.Wires
	}
	return chosen, nil
}

// measureAgent measures an agent that runs already, at an address, and with --pid its process. The
// error has the exit code.
func (o *benchOptions) measureAgent(ctx context.Context, addr string) error {
	address, err := reach.CheckAddress(addr)
	if err != nil {
		return exits.With(exits.Usage, err)
	}
	ways, err := o.reach.FindWays(ctx, address)
	if err != nil {
		return err
	}
	process := ""
	if o.pid != 0 {
		process = strconv.Itoa(o.pid)
	}
	switch err := bench.Follow(ctx, o.Options, ways[0].Dialer, process); {
	case errors.Is(err, bench.ErrQuiet):
		return exits.With(exits.Failed, err)
	case err != nil:
		return reach.DialError(ctx, address, err)
	}
	return nil
}

// printResult prints a result as a sentence that begins with what was measured, or as JSON.
func printResult(out io.Writer, r bench.Result, asJSON bool) {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err) // it is numbers and words
		}
		fmt.Fprintln(out, string(line))
		return
	}
	name := map[string]string{"aaep": "our server", "kept": "our server", "plain": "a plain handler",
		"raw": "a raw loop"}
	text := cmp.Or(name[r.Server], r.Server)
	for _, w := range reach.Wires {
		if w.Name == r.Wire {
			text = w.Words + ", " + r.Load + ", " + text
		}
	}
	fmt.Fprintln(out, text+", "+words.Count(r.Listeners, "listener")+": "+strings.Join(describeFigures(r), "; ")+".")
}

// describeFigures returns each figure that a result has, in words; one that was not measured is
// left out.
func describeFigures(r bench.Result) (parts []string) {
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if r.CPU > 0 {
		ratio := ""
		for _, of := range []struct{ name, words string }{{"raw", "times the raw loop"},
			{"plain", "times the plain handler"}, {"aaep", "times one shape"}} {
			if x := r.Ratio[of.name]; x > 0 {
				ratio += fmt.Sprintf(", %.2f %s", x, of.words)
			}
		}
		say("%.2f microseconds of processor for one delivery%s", r.CPU/1000, ratio)
	}
	if r.PerSecond > 0 {
		say("%.0f deliveries a second", r.PerSecond)
	}
	if r.P50 > 0 {
		say("half come within %s, 99 percent within %s, 99.9 percent within %s", formatMicros(r.P50),
			formatMicros(r.P99), formatMicros(r.P999))
	}
	if r.Idle != 0 {
		say("%.1f KiB of memory for each listener", r.Idle/1024)
	}
	if r.Cores > 0 {
		say("%.2f processors busy", r.Cores)
	}
	if r.Returned > 0 {
		say("the others caught up %s", words.Count(int(r.Returned), "time"))
	}
	if r.Held != nil {
		say("%.0f events wait for each listener halfway, %.0f at the end", r.Held[0], r.Held[1])
	}
	return parts
}

// formatMicros returns microseconds in words, in milliseconds from a thousand on.
func formatMicros(us float64) string {
	if us < 1000 {
		return fmt.Sprintf("%.0f microseconds", us)
	}
	return fmt.Sprintf("%.1f milliseconds", us/1000)
}

// benchFigures are the rows of the table, each with its goal for the wires in their order, or one
// for all of them.
var benchFigures = []struct {
	name  string
	goals []float64
	value func(of func(load string) bench.Result) float64
}{
	{"one event at a time, processor time against a raw loop", []float64{1.25},
		func(of func(string) bench.Result) float64 { return of(bench.Single).Ratio["raw"] }},
	{"bursts of 32 events, processor time against a raw loop", []float64{2},
		func(of func(string) bench.Result) float64 { return of(bench.Bursts).Ratio["raw"] }},
	{"16 shapes, processor time against one shape", []float64{1.3},
		func(of func(string) bench.Result) float64 { return of(bench.SixteenShapes).Ratio["aaep"] }},
	{"an idle listener, KiB of memory", []float64{8, 12, 6},
		func(of func(string) bench.Result) float64 { return of(bench.Idle).Idle / 1024 }},
	{"a critical event in a flood, p99 against idle", []float64{1.5}, func(of func(string) bench.Result) float64 {
		return of(bench.CriticalFlooded).P99 / of(bench.CriticalIdle).P99
	}},
	{"50 agents at 100 tokens a second, processors busy", []float64{0.5},
		func(of func(string) bench.Result) float64 { return of(bench.Throttled).Cores }},
	{"a live event beside those who catch up, p99 in ms", []float64{50},
		func(of func(string) bench.Result) float64 { return of(bench.LiveBesidePast).P99 / 1000 }},
}

// findOurs returns the result of our server over a transport under a load, which is the last of
// several; zero where there is none.
func findOurs(results []bench.Result, wire, load string) (found bench.Result) {
	for _, r := range results {
		if r.Wire == wire && r.Load == load {
			found = r
		}
	}
	return found
}

// printTable prints the figures that have goals, a row for each, which begins with its name and
// goals, and a column for each transport. One that exceeds its goal, or was not measured, is marked
// as missed.
func printTable(out io.Writer, wireNames []string, results []bench.Result) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, strings.Join(append([]string{"figure", "goal"}, wireNames...), "\t"))
	for _, figure := range benchFigures {
		var goals []string
		for _, goal := range figure.goals {
			goals = append(goals, "≤ "+strconv.FormatFloat(goal, 'f', -1, 64))
		}
		cells := []string{figure.name, strings.Join(goals, ", ")}
		for _, name := range wireNames {
			goal := figure.goals[min(slices.Index(bench.Wires, name), len(figure.goals)-1)]
			value := figure.value(func(load string) bench.Result { return findOurs(results, name, load) })
			cell := fmt.Sprintf("%.2f", value)
			if !(value <= goal) {
				cell += ", missed"
			}
			cells = append(cells, cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
}
