// Package proof is the commands that check whether others keep to the protocol: conformance of a
// producer or a subscriber, validate of single messages, and capture, which writes down what an
// agent sends. The judging itself is in package conformance.
//
// Proving a producer is in conformance.go, a subscriber in conformance_subscriber.go; reports and
// their forms are in conformance_report.go, and the other commands in validate.go and capture.go.
package proof

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/stdio"
)

// ConformanceCommand makes the command "aaep conformance", with its commands producer, subscriber
// and relay. cli.go adds it to the root.
func ConformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Prove that an agent, or who follows one, keeps the protocol, whoever wrote it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exits.UsageError("say what to prove: producer or subscriber.\nSee: aaep conformance --help")
		},
	}
	cmd.AddCommand(conformanceProducer(), conformanceSubscriber(), relayCommand())
	return cmd
}

// proof is what the flags of "conformance producer" say.
type proof struct {
	driver, command, child, program string
	resume                          string
	explain, known, manifest, other string
	level                           int
	cases, reports                  []string
	list, json                      bool
	reach                           *reach.Flags
	old                             publishedFlags
}

// conformanceProducer makes "aaep conformance producer"; runProducerSuite does its work.
func conformanceProducer() *cobra.Command {
	p := &proof{}
	cmd := &cobra.Command{
		Use:   "producer (ADDRESS | --exec COMMAND)",
		Short: "Prove that a producer is conformant at Level 1, 2 or 3",
		Long: `producer connects to an agent several times, behaves as well and as badly as subscribers do, and judges what the
agent sends. The agent is made to act in one of three ways; docs/conformance.md says what each scenario must do:

  --driver URL       POST URL/scenarios/NAME
  --command COMMAND  run COMMAND NAME for each scenario
  --child COMMAND    run COMMAND once, which may be the agent itself, and give it a line for each scenario

It really does it: point it at an agent whose tools do nothing.

It prints a line for each case: the verdict, the requirement, what was seen. A level takes seconds, if questions are
open for as long as the scenario says. --report also writes a page for people (.html), the report for programs (.json)
or what continuous integration reads (.xml).

Interrupted, it writes the reports of what was judged by then; --resume goes on from one that was written as .json,
and keeps its verdicts.

Exit codes: 0 passed, 1 failed or not proved, 2 wrong use, 3 agent not reached. With --known-failures 0 says that
exactly those cases did not pass.`,
		Example: `  aaep conformance producer http://127.0.0.1:8080 --driver http://127.0.0.1:9100 --level 3
  aaep conformance producer unix:planner --command "./drive --fast" --case asks-first
  aaep conformance producer http://127.0.0.1:8080 --child ./drive --level 2 --report report.html,report.json
  aaep conformance producer --list
  aaep conformance producer --explain HS-021`,
		Args: exits.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.old.applyTo(p, &args)
			switch {
			case p.list:
				return listCases(cmd.OutOrStdout())
			case p.explain != "":
				if err := conformance.Explain(cmd.OutOrStdout(), p.explain); err != nil {
					return exits.UsageError("%s.\nSee: aaep conformance producer --list", exits.PlainError(err))
				}
				if len(args) == 0 && p.program == "" {
					return nil
				}
				p.cases = append(p.cases, p.explain)
			}
			return p.runProducerSuite(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.driver, "driver", "", "make the agent act by POST to this `URL`")
	f.StringVar(&p.command, "command", "", "make the agent act by running this `COMMAND` for each scenario")
	f.StringVar(&p.child, "child", "", "make the agent act by this `COMMAND`, which runs all the time and reads scenarios")
	f.StringVar(&p.program, "exec", "", "start the agent with this `COMMAND`, and speak with it over its standard input and output")
	f.IntVar(&p.level, "level", 1, "the `LEVEL` to prove: 1, 2 or 3, with the lower ones")
	onlyFlags(f, &p.cases)
	f.BoolVar(&p.list, "list", false, "print the cases and do nothing")
	f.StringVar(&p.explain, "explain", "", "say what a case or a `REQUIREMENT` wants and how it is judged; with an ADDRESS, judge it")
	f.BoolVar(&p.json, "json", false, "print the report as JSON")
	f.StringSliceVar(&p.reports, "report", nil, "write the report to these `FILES`: .html, .json or .xml (JUnit)")
	f.StringVar(&p.known, "known-failures", "", "the cases named in this `FILE`, one on each line, may fail, and must")
	f.StringVar(&p.resume, "resume", "", "go on where the run ended that wrote this JSON `REPORT`")
	f.IntVar(&p.old.timeout, "timeout", 0, "the most that one scenario may take, in `SECONDS`; 0 is 12 minutes")
	p.old.addFlags(cmd)
	p.reach = reach.AddFlags(cmd)
	f.StringSliceVar(&p.reach.Keys, "trust", nil, "the keys that its manifest is signed with are in these `FILES`")
	f.StringVar(&p.other, "other-token-file", "",
		"a token of somebody else is in this `FILE`; they must not speak in the first one's name")
	f.StringVar(&p.manifest, "manifest", "", "its manifest is in this `FILE`, for an agent without a web address")
	return cmd
}

// runProducerSuite does the work of "aaep conformance producer": it runs the suite and writes the
// reports. The error has the exit code: 1 where a case failed, 3 where the agent or its driver was
// not reached. After an interruption it writes what was judged by then.
func (p *proof) runProducerSuite(cmd *cobra.Command, args []string) error {
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	run := conformance.ProducerRun{Level: p.level, Only: p.cases, Extensions: p.old.extensions,
		Timeout: time.Duration(p.old.timeout) * time.Second}
	switch {
	case p.level < 1 || p.level > 3:
		return exits.UsageError("--level %d is none of 1, 2 and 3", p.level)
	case p.old.timeout < 0:
		return exits.UsageError("--timeout %d is less than no time", p.old.timeout)
	}
	reports, err := p.writtenReports()
	if err != nil {
		return err
	}
	if run.Known, err = readFlagFile("--known-failures", p.known, conformance.ReadKnown); err != nil {
		return err
	}
	if run.Resume, err = readFlagFile("--resume", p.resume, conformance.ReadReport); err != nil {
		return err
	}
	if err := p.setDriver(&run, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if err := p.setTrust(&run); err != nil {
		return err
	}
	if child, ok := run.Driver.(*conformance.ChildDriver); ok { // which may be the agent
		defer child.Close() // how it ends proves nothing
		if err := openChild(ctx, child, cmp.Or(run.Timeout, time.Minute), cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	address, err := p.setTarget(ctx, &run, args, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	status := lineio.Printer{Out: cmd.ErrOrStderr()}
	run.Progress = func(play string, n, of int) {
		status.PrintLabelled("aaep",
			fmt.Sprintf("%d of %d: %s.", n, of, play))
	}
	report, err := run.Prove(ctx)
	switch {
	case ctx.Err() != nil:
		return writeInterrupted(cmd.OutOrStdout(), report, p.json, reports)
	case err != nil:
		return p.explainUnproved(ctx, address, err)
	}
	return writeReport(cmd.OutOrStdout(), report, p.json, reports, p.old.strict)
}

// explainUnproved returns the error of a run without a verdict on the agent at address, with what
// the user can do.
func (p *proof) explainUnproved(ctx context.Context, address string, err error) error {
	switch {
	case errors.Is(err, conformance.ErrUnreachable):
		return p.explainUnreached(ctx, address, err)
	case errors.Is(err, conformance.ErrNoDriver):
		return exits.With(exits.Unreachable, fmt.Errorf("the agent at %s answers, and its driver %s cannot be reached: %s.\nStart it, or check --driver, --command or --child", address,
			cmp.Or(p.driver, p.command, p.child),
			strings.TrimPrefix(err.Error(), conformance.ErrNoDriver.Error()+": ")))
	}
	return exits.UsageError("%s.\nSee: aaep conformance producer --list", exits.PlainError(err))
}

// explainUnreached returns the error that says why there is no agent at address to judge, and what
// to do: one that accepts and is silent, a program that ended or could not be started, or what
// DialError says, with the cause where that does not name all of it.
func (p *proof) explainUnreached(ctx context.Context, address string, err error) error {
	_, silence, silent := strings.Cut(err.Error(), conformance.ErrSilent.Error()+": it ")
	switch {
	case silent && errors.Is(err, conformance.ErrSilent):
		step, _, _ := strings.Cut(silence, ": ")
		return exits.With(exits.Unreachable, fmt.Errorf("what is at %s accepts the connection, but %s.\nCheck that an agent serves AAEP there", address, step))
	case p.program != "" && subprocess.HowEnded(err) != "":
		return exits.With(exits.Unreachable, fmt.Errorf("the agent %s", subprocess.HowEnded(err)))
	case p.program != "" && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)):
		return exits.With(exits.Unreachable, fmt.Errorf("the agent %s ended without a word.\nStarted so, it has to speak AAEP on its standard output", address))
	case p.program != "":
		return exits.With(exits.Unreachable, errors.New(subprocess.CannotStart(address, err)))
	}
	explained, failed := reach.DialError(ctx, address, err), new(exits.Error)
	saysAll := errors.As(err, new(*net.OpError)) || errors.Is(err, errkind.NotOffered)
	if saysAll || !errors.As(explained, &failed) {
		return explained
	}
	cause := strings.TrimPrefix(err.Error(), conformance.ErrUnreachable.Error()+": ")
	return exits.With(failed.Code, fmt.Errorf("%w\nWhoever wrote it may want to know: %s", failed.Err,
		aaep.SafeText(cause)))
}

// openChild starts the driver, and waits until it is ready, for at most patience. After three
// seconds it says what it waits for. The error has the exit code.
func openChild(ctx context.Context, child *conformance.ChildDriver, patience time.Duration, stderr io.Writer) error {
	status := lineio.Printer{Out: stderr}
	patient, done := context.WithTimeout(ctx, patience)
	defer done()
	tell := time.AfterFunc(3*time.Second, func() {
		status.PrintLabelled("aaep",
			"Waiting for "+child.Command[0]+" to say that it is ready.")
	})
	defer tell.Stop()
	err := child.Open(patient)
	switch {
	case ctx.Err() != nil:
		return exits.With(exits.Interrupted, errors.New("interrupted"))
	case err != nil && patient.Err() != nil:
		return exits.With(exits.Unreachable, fmt.Errorf("the driver %s did not say within %s that it is ready.\nIt has to print {} on a line then, and to flush it", child.Command[0], words.Spoken(patience)))
	case err != nil:
		return exits.With(exits.Unreachable, fmt.Errorf("the driver %s cannot be started: %s.\nIt has to print {} on a line when it is ready", child.Command[0], exits.PlainError(err)))
	}
	return nil
}

// setTarget sets in run how the agent is reached, by --exec or the address in args, and with which
// other credentials, and returns what to call the agent in messages. The error has the exit code.
func (p *proof) setTarget(ctx context.Context, run *conformance.ProducerRun, args []string, stderr io.Writer) (string,
	error) {
	switch {
	case len(args) == 0 && p.program == "":
		return "", exits.UsageError("give the address of the agent.\nSee: aaep conformance producer --help")
	case len(args) > 0 && p.program != "":
		return "", exits.UsageError("--exec starts the agent, so there is no address to name too; give one of them.\nSee: aaep conformance producer --help")
	case p.program != "":
		return p.setProgram(run, stderr)
	}
	address, err := reach.CheckAddress(args[0])
	if err != nil {
		return "", exits.With(exits.Usage, err)
	}
	ways, err := p.reach.FindWays(ctx, address)
	if err != nil {
		return "", err
	}
	run.Dialer, run.Target, run.Transport = ways[0].Dialer, ways[0].Address, ways[0].Transport
	run.OtherWays = discover.Dialers(ways[1:])
	if err := p.setUnauthenticated(ctx, run, address); err != nil {
		return "", err
	}
	if err := p.setOtherPrincipal(ctx, run, address); err != nil {
		return "", err
	}
	if err := p.setDiscovery(run, address); err != nil {
		return "", err
	}
	return address, nil
}

// setProgram has the run start the program of --exec for each scenario, and speak with it over its
// standard input and output. It returns the name of the program.
func (p *proof) setProgram(run *conformance.ProducerRun, stderr io.Writer) (string, error) {
	words, err := subprocess.SplitWords(p.program)
	if err != nil {
		return "", exits.UsageError("--exec %s.\nSee: aaep conformance producer --help", err)
	}
	if err := p.reach.CheckChild(); err != nil {
		return "", err
	}
	run.Dialer = stdio.Dialer{Command: func() *exec.Cmd {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stderr = stderr
		return cmd
	}}
	run.Target, run.Transport, run.OneLink = p.program, manifest.Stdio, true
	return words[0], nil
}

// setUnauthenticated has the run also try the agent without a credential and with a made-up one, if
// the flags give it a credential that it can leave out.
func (p *proof) setUnauthenticated(ctx context.Context, run *conformance.ProducerRun, address string) error {
	if p.reach.Token == "" && p.reach.Cert == "" {
		return nil
	}
	for _, shown := range []func(context.Context) (http.Header, error){nil, madeUpToken} {
		unauthenticated := &reach.Flags{Transports: p.reach.Transports, Ca: p.reach.Ca, Credentials: shown}
		ways, err := unauthenticated.FindWays(ctx, address)
		if err != nil {
			return err
		}
		run.Unauthenticated = append(run.Unauthenticated, ways[0].Dialer)
	}
	return nil
}

// setOtherPrincipal has the run also come as the principal of --other-token-file, if that is given.
// Over Server-Sent Events that principal also tries to read what is sent to the first one.
func (p *proof) setOtherPrincipal(ctx context.Context, run *conformance.ProducerRun, address string) error {
	if p.other == "" {
		return nil
	}
	if err := p.checkOtherToken(ctx); err != nil {
		return err
	}
	other := &reach.Flags{Transports: p.reach.Transports, Ca: p.reach.Ca, Token: p.other}
	ways, err := other.FindWays(ctx, address)
	if err != nil {
		return err
	}
	run.OtherPrincipal = ways[0].Dialer
	if run.Transport != manifest.SSE || p.reach.Token == "" {
		return nil
	}
	conf, err := p.reach.TLSConfig()
	if err != nil {
		return err
	}
	run.StolenStream = stolenStream(run.Target, conf, auth.BearerFile(p.reach.Token), auth.BearerFile(p.other))
	return nil
}

// checkOtherToken refuses a file of --other-token-file that does not name a second principal: one
// that cannot be read, that has no first principal beside it, or that has the first one's token.
func (p *proof) checkOtherToken(ctx context.Context) error {
	otherHeader, err := auth.BearerFile(p.other)(ctx)
	switch {
	case err != nil:
		return exits.CannotTake("--other-token-file", err)
	case p.reach.Token == "" && p.reach.Cert == "":
		return exits.UsageError("--other-token-file is for somebody else than the one whom --token-file or --cert names; give one of them too")
	case p.reach.Token == "":
		return nil
	}
	ownHeader, err := auth.BearerFile(p.reach.Token)(ctx)
	if err == nil && ownHeader.Get("Authorization") == otherHeader.Get("Authorization") {
		return exits.UsageError("--other-token-file has the token of --token-file; it has to be that of somebody else")
	}
	return nil
}

// setDiscovery has the run look for the agent's manifest on the web: below the agent's own path,
// and where there is none, at the root of its host. Whether what is found there is this agent's
// manifest is judged later. An agent of this machine, or one whose manifest is in a file, needs
// none of this.
func (p *proof) setDiscovery(run *conformance.ProducerRun, address string) error {
	if p.manifest != "" || reach.IsLocal(address) {
		return nil
	}
	conf, err := p.reach.TLSConfig()
	if err != nil {
		return err
	}
	httpURL := "http" + strings.TrimPrefix(strings.TrimPrefix(address, "http"), "ws")
	run.Manifest = func(ctx context.Context) ([]byte, error) {
		data, err := manifest.Discover(ctx, httpURL, conf)
		if !errors.Is(err, manifest.ErrNone) {
			return data, err
		}
		u, badURL := url.Parse(httpURL)
		if badURL != nil {
			return data, err
		}
		return manifest.Discover(ctx, u.Scheme+"://"+u.Host, conf)
	}
	return nil
}

// madeUpToken is a credential that the agent never gave out.
func madeUpToken(context.Context) (http.Header, error) {
	return http.Header{"Authorization": {"Bearer " + rand.Text()}}, nil
}

// stolenStream reaches an agent over Server-Sent Events: it sends with our credentials and opens
// the event stream with theirs.
func stolenStream(address string, conf *tls.Config, ownCredentials,
	otherCredentials func(context.Context) (http.Header, error)) transports.Dialer {
	link := &http.Transport{TLSClientConfig: conf, Proxy: http.ProxyFromEnvironment}
	client := &http.Client{Transport: streamOpener{link, otherCredentials}}
	return sse.Dialer{URL: address, Client: client, Credentials: ownCredentials}
}

// A streamOpener gives GETs other credentials than those that they came with.
type streamOpener struct {
	http.RoundTripper
	credentials func(context.Context) (http.Header, error)
}

// RoundTrip sends a request, a GET with the subscriber's credentials on a copy of it. The error is
// that of the credentials, or of the transport.
func (t streamOpener) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		header, err := t.credentials(r.Context())
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		maps.Copy(r.Header, header)
	}
	return t.RoundTripper.RoundTrip(r)
}

// setTrust sets in run where the agent's manifest is, if --manifest names a file, and whose keys
// count. The error names the flag.
func (p *proof) setTrust(run *conformance.ProducerRun) (err error) {
	if p.manifest != "" {
		data, err := os.ReadFile(p.manifest)
		if err != nil {
			return exits.CannotTake("--manifest", err)
		}
		run.Manifest = func(context.Context) ([]byte, error) { return data, nil }
	}
	if len(p.reach.Keys) > 0 {
		if run.Keys, err = manifest.ReadKeys(p.reach.Keys...); err != nil {
			return exits.CannotTake("--trust", err)
		}
	}
	return nil
}

// setDriver sets in run how the agent is made to act: by --driver, --command or --child, exactly
// one of which must be given.
func (p *proof) setDriver(run *conformance.ProducerRun, stderr io.Writer) error {
	drivers := 0
	for _, flag := range []string{p.driver, p.command, p.child} {
		if flag != "" {
			drivers++
		}
	}
	if drivers != 1 {
		return exits.UsageError("give one of --driver, --command and --child, which make the agent act.\nSee: aaep conformance producer --help")
	}
	if p.driver != "" {
		if u, err := url.Parse(p.driver); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return exits.UsageError("--driver %q is no URL such as http://127.0.0.1:9100.\nA program that makes the agent act is named with --command.", p.driver)
		}
		run.Driver = conformance.HTTPDriver{Base: p.driver}
		return nil
	}
	words, err := subprocess.SplitWords(cmp.Or(p.command, p.child))
	switch {
	case err != nil:
		return exits.UsageError("the driver %s.\nSee: aaep conformance producer --help", err)
	case p.command != "":
		run.Driver = conformance.CommandDriver{Command: words}
	default:
		run.Driver = &conformance.ChildDriver{Command: words, Stderr: stderr}
	}
	return nil
}

// listCases prints a line for each case for producers: name, level, strength, requirements, rule.
// The error is out's.
func listCases(out io.Writer) error {
	for _, c := range conformance.Cases() {
		if _, err := fmt.Fprintf(out, "%s: Level %d, %s, %s: %s.\n", c.Name, c.Level, c.Strength,
			strings.Join(c.Requirements, ", "), c.Rule); err != nil {
			return err
		}
	}
	return nil
}
