package proof

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/endpoint"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber/discover"
)

// subscriberProof is what the flags of "conformance subscriber" say.
type subscriberProof struct {
	listen, command, explain string
	level, timeout           int
	patience                 time.Duration // until a subscriber that is not started here has come
	cases, reports           []string
	known, resume            string
	list, json, verbose      bool

	endpoint  *endpoint.Endpoint
	url       string // of it, as its subscriber is told
	transport string
}

// conformanceSubscriber makes "aaep conformance subscriber"; runSubscriberSuite does its work.
func conformanceSubscriber() *cobra.Command {
	p := &subscriberProof{patience: 5 * time.Minute}
	cmd := &cobra.Command{
		Use:   "subscriber [--exec COMMAND]",
		Short: "Prove that a subscriber is conformant at Level 1, 2 or 3",
		Long: `subscriber plays an agent, well-behaved and not, and judges what the subscriber that connects to it presents and sends.

--exec runs COMMAND for every play, with the address of the agent as its last argument. What your subscriber presents
it prints, one line of JSON each; what its user does it reads, one line of JSON each: that is the hook, of three kinds
of lines, which docs/conformance.md explains. Without --exec, start your subscriber yourself, within five minutes and
then as often as it ends, and let it use the hook over HTTP.

--listen takes http://127.0.0.1:PORT for Server-Sent Events, http://127.0.0.1:PORT/events for those without a handshake,
ws://127.0.0.1:PORT for WebSocket, and ` + reach.LocalScheme + `NAME; port 0 is any. With stdio the subscriber is given not an address but a
command, which it starts as an agent that is its child.

Exit codes: 0 passed, 1 failed or not proved, 2 wrong use, 3 no subscriber came. With --known-failures 0 says that
exactly those cases did not pass.`,
		Example: `  aaep conformance subscriber --exec "python3 reader.py"
  aaep conformance subscriber --listen ws://127.0.0.1:0 --exec ./reader --level 3
  aaep conformance subscriber --listen http://127.0.0.1:8080 --case unknown-type
  aaep conformance subscriber --list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cases := conformance.SubscriberCases()
			if p.explain != "" {
				if cases = conformance.Match(cases, p.explain); len(cases) == 0 {
					return exits.UsageError("no case for subscribers is named %q, and none decides it.\nSee: aaep conformance subscriber --list", p.explain)
				}
			}
			if p.explain != "" || p.list {
				return printCases(cmd.OutOrStdout(), cases)
			}
			return p.runSubscriberSuite(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.listen, "listen", "http://127.0.0.1:0", "where the subscriber connects to: an `ADDRESS`")
	f.StringVar(&p.command, "exec", "", "start the subscriber with this `COMMAND` and the address, for every play")
	f.IntVar(&p.level, "level", 1, "the `LEVEL` to prove: 1, 2 or 3, with the lower ones")
	onlyFlags(f, &p.cases)
	f.IntVar(&p.timeout, "timeout", 3, "the `SECONDS` that the subscriber may take to present or answer something")
	f.BoolVar(&p.list, "list", false, "print the cases and do nothing")
	f.StringVar(&p.explain, "explain", "", "say what a case, or the cases of a `REQUIREMENT`, want")
	f.BoolVar(&p.json, "json", false, "print the report as JSON")
	f.StringSliceVar(&p.reports, "report", nil, "write the report to these `FILES`: .html, .json or .xml (JUnit)")
	f.StringVar(&p.known, "known-failures", "", "the cases named in this `FILE`, one on each line, may fail, and must")
	f.StringVar(&p.resume, "resume", "", "go on where the run ended that wrote this JSON `REPORT`")
	f.BoolVar(&p.verbose, "verbose", false, "let the subscriber's standard error through")
	return cmd
}

// runSubscriberSuite does the work of "aaep conformance subscriber": it runs the suite and writes
// the reports. The error has the exit code: 1 where a case failed, 3 where no subscriber came.
// After an interruption it writes what was judged by then.
func (p *subscriberProof) runSubscriberSuite(cmd *cobra.Command) error {
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	if err := p.checkFlags(); err != nil {
		return err
	}
	reports, err := (&proof{reports: p.reports}).writtenReports()
	if err != nil {
		return err
	}
	run := conformance.SubscriberRun{Level: p.level, Only: p.cases, Timeout: time.Duration(p.timeout) * time.Second,
		Target: p.command}
	if run.Known, err = readFlagFile("--known-failures", p.known, conformance.ReadKnown); err != nil {
		return err
	}
	if run.Resume, err = readFlagFile("--resume", p.resume, conformance.ReadReport); err != nil {
		return err
	}
	web := &conformance.HTTPHook{}
	if err := p.openAddress(web); err != nil {
		return err
	}
	defer p.endpoint.Close()
	run.Listener, run.Transport, run.Subscriber = p.endpoint, p.transport, web
	status := lineio.Printer{Out: cmd.ErrOrStderr()}
	run.Progress = func(play string, n, of int) {
		status.PrintLabelled("aaep",
			fmt.Sprintf("%d of %d: %s.", n, of, play))
	}
	if p.command == "" {
		run.Arrival = p.patience
		p.announceWait(&status)
	} else if run.Subscriber, err = p.startedSubscriber(cmd.ErrOrStderr()); err != nil {
		return err
	}
	report, err := run.Prove(ctx)
	switch {
	case ctx.Err() != nil:
		return writeInterrupted(cmd.OutOrStdout(), report, p.json, reports)
	case err != nil:
		return p.notProved(err)
	}
	return writeReport(cmd.OutOrStdout(), report, p.json, reports, false)
}

// checkFlags returns a usage error for flags that are out of range or name no case.
func (p *subscriberProof) checkFlags() error {
	if p.level < 1 || p.level > 3 {
		return exits.UsageError("--level %d is none of 1, 2 and 3", p.level)
	}
	if p.timeout < 1 || p.timeout > 600 {
		return exits.UsageError("--timeout %d is not from 1 to 600", p.timeout)
	}
	for _, name := range p.cases {
		if len(conformance.Match(conformance.SubscriberCases(), name)) == 0 {
			return exits.UsageError("no case for subscribers is named %q, and none decides it.\nSee: aaep conformance subscriber --list", name)
		}
	}
	return nil
}

// openAddress opens the endpoint that the subscriber connects to, at --listen, in p.endpoint,
// p.transport and p.url. A subscriber that is not started here finds the hook (web) there too,
// where it speaks HTTP.
func (p *subscriberProof) openAddress(web http.Handler) (err error) {
	var address string
	if address, p.transport, err = endpointAddress(p.listen); err != nil {
		return err
	}
	if p.command != "" || !strings.Contains(address, "://") {
		web = nil
	}
	if p.transport == manifest.Stdio {
		p.endpoint, err = endpoint.Child(relayLine())
	} else {
		p.endpoint, err = endpoint.Listen(address, web)
	}
	if err != nil {
		return exits.UsageError("cannot take --listen: %s", exits.PlainError(err))
	}
	if p.url = p.endpoint.URL(); p.transport == discover.LocalTransport {
		p.url = reach.LocalScheme + p.url
	}
	return nil
}

// startedSubscriber returns the conformance.Subscriber that runs the command of --exec. talk gets
// its standard error where --verbose is set.
func (p *subscriberProof) startedSubscriber(talk io.Writer) (conformance.Subscriber, error) {
	argv, err := subprocess.SplitWords(p.command)
	if err != nil {
		return nil, exits.UsageError("--exec %s.\nSee: aaep conformance subscriber --help", err)
	}
	if !p.verbose {
		talk = nil
	}
	return conformance.CommandSubscriber{Command: argv, URL: p.url, Stderr: talk}, nil
}

// announceWait prints where a subscriber that a person starts is waited for, how long, and that it
// must come again.
func (p *subscriberProof) announceWait(status *lineio.Printer) {
	place := "at " + p.url
	if p.transport == manifest.Stdio {
		place = "that starts as its agent: " + p.url
	}
	status.PrintLabelled("aaep", fmt.Sprintf("Waiting %s for your subscriber %s\nIt must come again after each play.",
		words.Spoken(p.patience), place))
}

// notProved returns the error of a run without a verdict, with what the user can do.
func (p *subscriberProof) notProved(err error) error {
	switch {
	case !errors.Is(err, conformance.ErrUnreachable):
		return exits.UsageError("%s.\nSee: aaep conformance subscriber --list", exits.PlainError(err))
	case p.command == "":
		return exits.With(exits.Unreachable, fmt.Errorf("no subscriber came to %s within %s.\nStart yours and let it connect there, or let this command start it, with --exec", p.url, words.Spoken(p.patience)))
	}
	why := strings.TrimPrefix(err.Error(), conformance.ErrUnreachable.Error())
	return exits.With(exits.Unreachable, fmt.Errorf("no subscriber came to %s%s.\nCheck the command; --verbose shows what it says", p.url, why))
}

// endpointAddress returns what endpoint.Listen takes for an address that was typed, and the
// transport's name; without a scheme it is HTTP. For stdio the address is "". The error is for a
// local name that is none.
func endpointAddress(address string) (at, transport string, err error) {
	switch {
	case address == "stdio":
		return "", manifest.Stdio, nil
	case reach.IsLocal(address):
		if at, err = reach.LocalPath(address); err != nil {
			return "", "", exits.With(exits.Usage, err)
		}
		return at, discover.LocalTransport, nil
	case strings.HasPrefix(address, "ws://"):
		return address, manifest.WebSocket, nil
	case !strings.Contains(address, "://"):
		address = "http://" + address
	}
	return address, manifest.SSE, nil
}

// relayLine returns the command line that starts this program as the child of a subscriber, to
// which the endpoint's path is appended.
func relayLine() string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	if strings.ContainsAny(self, " \t'\"\\") {
		self = strconv.Quote(self)
	}
	return self + " conformance relay"
}

// relayCommand makes the hidden "aaep conformance relay", which a subscriber starts as its agent
// and which connects it to the suite at PATH.
func relayCommand() *cobra.Command {
	return &cobra.Command{Use: "relay PATH", Hidden: true, Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := endpoint.Relay(args[0], cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return exits.With(exits.Unreachable,
					fmt.Errorf("no suite is at %s: %s", args[0], exits.PlainError(err)))
			}
			return nil
		}}
}

// printCases prints a line for each case: its name, level and requirements, the rule that it
// judges, and the scenario that it judges by.
func printCases(out io.Writer, cases []conformance.Case) error {
	for _, c := range cases {
		if _, err := fmt.Fprintf(out, "%s: Level %d, %s, %s: %s. Played: %s.\n", c.Name, c.Level, c.Strength,
			strings.Join(c.Requirements, ", "), c.Rule, c.Scenario); err != nil {
			return err
		}
	}
	return nil
}
