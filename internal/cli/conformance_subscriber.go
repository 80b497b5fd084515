package cli

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
	"github.com/aaep-go/aaep/conformance/stand"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber/discover"
)

// follower is what the flags of "conformance subscriber" say.
type follower struct {
	listen, command, explain string
	level, timeout           int
	patience                 time.Duration // until a subscriber that nobody here starts has come
	cases, reports           []string
	known                    string
	list, json, verbose      bool
}

func conformanceSubscriber() *cobra.Command {
	p := &follower{patience: 5 * time.Minute}
	cmd := &cobra.Command{
		Use:   "subscriber [--exec COMMAND]",
		Short: "Prove that a subscriber is conformant at Level 1, 2 or 3",
		Long: `subscriber plays an agent, well-behaved and not, and judges what the subscriber that connects to it presents and sends.

--exec runs COMMAND for every play, with the address of the agent as its last argument. What your subscriber presents
it prints, one line of JSON each; what its user does it reads, one line of JSON each: that is the hook, of three kinds
of lines, which docs/conformance.md explains. Without --exec, start your subscriber yourself, within five minutes and
then as often as it ends, and let it use the hook over HTTP.

--listen takes http://127.0.0.1:PORT for Server-Sent Events, http://127.0.0.1:PORT/events for those without a handshake,
ws://127.0.0.1:PORT for WebSocket, and ` + localScheme + `NAME; port 0 is any. With stdio the subscriber is given not an address but a
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
					return usage("no case for subscribers is named %q, and none decides it.\nSee: aaep conformance subscriber --list", p.explain)
				}
			}
			if p.explain != "" || p.list {
				return tellCases(cmd.OutOrStdout(), cases)
			}
			return p.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.listen, "listen", "http://127.0.0.1:0", "where the subscriber connects to: an `ADDRESS`")
	f.StringVar(&p.command, "exec", "", "start the subscriber with this `COMMAND` and the address, for every play")
	f.IntVar(&p.level, "level", 1, "the `LEVEL` to prove: 1, 2 or 3, with the lower ones")
	f.StringSliceVar(&p.cases, "case", nil, "judge only these cases, by `NAME` or requirement")
	f.IntVar(&p.timeout, "timeout", 3, "the `SECONDS` that the subscriber may take to present or answer something")
	f.BoolVar(&p.list, "list", false, "print the cases and do nothing")
	f.StringVar(&p.explain, "explain", "", "say what a case, or the cases of a `REQUIREMENT`, want")
	f.BoolVar(&p.json, "json", false, "print the report as JSON")
	f.StringSliceVar(&p.reports, "report", nil, "write the report to these `FILES`: .html, .json or .xml (JUnit)")
	f.StringVar(&p.known, "known-failures", "", "the cases named in this `FILE`, one on each line, may fail, and must")
	f.BoolVar(&p.verbose, "verbose", false, "let the subscriber's standard error through")
	return cmd
}

func (p *follower) run(cmd *cobra.Command) error {
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	if p.level < 1 || p.level > 3 {
		return usage("--level %d is none of 1, 2 and 3", p.level)
	}
	if p.timeout < 1 || p.timeout > 600 {
		return usage("--timeout %d is not from 1 to 600", p.timeout)
	}
	for _, name := range p.cases {
		if len(conformance.Match(conformance.SubscriberCases(), name)) == 0 {
			return usage("no case for subscribers is named %q, and none decides it.\nSee: aaep conformance subscriber --list", name)
		}
	}
	at, transport, err := standAt(p.listen)
	if err != nil {
		return err
	}
	reports, err := (&proof{reports: p.reports}).writtenReports()
	if err != nil {
		return err
	}
	known, err := knownFailures(p.known)
	if err != nil {
		return err
	}
	var argv []string
	web, hook := &conformance.HTTPHook{}, http.Handler(nil)
	if p.command != "" {
		if argv, err = splitWords(p.command); err != nil {
			return usage("--exec %s.\nSee: aaep conformance subscriber --help", err)
		}
	} else if strings.Contains(at, "://") {
		hook = web
	}
	var s *stand.Stand
	if transport == manifest.Stdio {
		s, err = stand.Child(relayLine())
	} else {
		s, err = stand.Listen(at, hook)
	}
	if err != nil {
		return usage("cannot take --listen: %s", plain(err))
	}
	defer s.Close()
	url := s.URL()
	if transport == discover.LocalTransport {
		url = localScheme + url
	}
	status := announcer{out: cmd.ErrOrStderr()}
	run := conformance.SubscriberRun{Listener: s, Subscriber: web, Level: p.level, Only: p.cases, Known: known, Timeout: time.Duration(p.timeout) * time.Second, Target: p.command, Transport: transport}
	if argv != nil {
		var stderr io.Writer
		if p.verbose {
			stderr = cmd.ErrOrStderr()
		}
		run.Subscriber = conformance.CommandSubscriber{Command: argv, URL: url, Stderr: stderr}
	} else {
		run.Arrival = p.patience
		where := "at " + url
		if transport == manifest.Stdio {
			where = "that starts as its agent: " + url
		}
		status.say("aaep", fmt.Sprintf("Waiting %s for your subscriber %s\nIt must come again after each play.", words.Spoken(p.patience), where))
	}
	run.Progress = func(play string, n, of int) { status.say("aaep", fmt.Sprintf("%d of %d: %s.", n, of, play)) }
	report, err := run.Prove(ctx)
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.Is(err, conformance.ErrUnreachable):
		why := strings.TrimPrefix(err.Error(), conformance.ErrUnreachable.Error())
		if argv == nil {
			return &exitError{exitUnreachable, fmt.Errorf("no subscriber came to %s within %s.\nStart yours and let it connect there, or let this command start it, with --exec", url, words.Spoken(p.patience))}
		}
		return &exitError{exitUnreachable, fmt.Errorf("no subscriber came to %s%s.\nCheck the command; --verbose shows what it says", url, why)}
	case err != nil:
		return usage("%s.\nSee: aaep conformance subscriber --list", plain(err))
	}
	return conclude(cmd.OutOrStdout(), report, p.json, reports, false)
}

// standAt is what stand.Listen takes for an address, and the transport's name.
func standAt(address string) (at, transport string, err error) {
	switch {
	case address == "stdio":
		return "", manifest.Stdio, nil
	case isLocal(address):
		if at, err = localPath(address); err != nil {
			return "", "", &exitError{exitUsage, err}
		}
		return at, discover.LocalTransport, nil
	case strings.HasPrefix(address, "ws://"):
		return address, manifest.WebSocket, nil
	case !strings.Contains(address, "://"):
		address = "http://" + address
	}
	return address, manifest.SSE, nil
}

// relayLine starts this program as the child of a subscriber.
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

// relayCommand is what the subscriber starts.
func relayCommand() *cobra.Command {
	return &cobra.Command{Use: "relay PATH", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		if err := stand.Relay(args[0], cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
			return &exitError{exitUnreachable, fmt.Errorf("no suite is at %s: %s", args[0], plain(err))}
		}
		return nil
	}}
}

// tellCases says what cases want.
func tellCases(out io.Writer, cases []conformance.Case) error {
	for _, c := range cases {
		if _, err := fmt.Fprintf(out, "%s: Level %d, %s, %s: %s. Played: %s.\n", c.Name, c.Level, c.Strength, strings.Join(c.Requirements, ", "), c.Rule, c.Scenario); err != nil {
			return err
		}
	}
	return nil
}
