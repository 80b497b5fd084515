package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/conformance"
)

func conformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Prove that an agent, or who follows one, keeps the protocol, whoever wrote it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage("say what to prove: producer or subscriber.\nSee: aaep conformance --help")
		},
	}
	cmd.AddCommand(conformanceProducer(), conformanceSubscriber())
	return cmd
}

// proof is what the flags of "conformance producer" say.
type proof struct {
	driver, command, explain string
	level                    int
	cases                    []string
	list, json               bool
	reach                    *reaching
}

func conformanceProducer() *cobra.Command {
	p := &proof{}
	cmd := &cobra.Command{
		Use:   "producer ADDRESS",
		Short: "Prove that a producer is conformant at Level 1, 2 or 3",
		Long: `producer connects to an agent several times, behaves as well and as badly as subscribers do, and judges what the
agent sends. The agent is made to act by --driver, an HTTP endpoint that is sent POST /scenarios/NAME, or by --command, a
program that is run with NAME as its last argument; docs/conformance.md says what each scenario must do. It really does
it: point it at an agent whose tools do nothing.

It prints a line for each case: the verdict, the requirement, what was seen. A level takes a few minutes.

Exit codes: 0 passed, 1 failed or not proved, 2 wrong use, 3 agent not reached.`,
		Example: `  aaep conformance producer http://127.0.0.1:8080 --driver http://127.0.0.1:9100 --level 3
  aaep conformance producer unix:planner --command "./drive --fast" --case asks-first
  aaep conformance producer --list
  aaep conformance producer --explain HS-020`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case p.explain != "":
				return explainCases(cmd.OutOrStdout(), p.explain)
			case p.list:
				return listCases(cmd.OutOrStdout())
			}
			return p.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.driver, "driver", "", "make the agent act by POST to this `URL`")
	f.StringVar(&p.command, "command", "", "make the agent act by running this `COMMAND`, words divided by spaces")
	f.IntVar(&p.level, "level", 1, "the `LEVEL` to prove: 1, 2 or 3, with the lower ones")
	f.StringSliceVar(&p.cases, "case", nil, "judge only these cases, by `NAME` or requirement")
	f.BoolVar(&p.list, "list", false, "print the cases and do nothing")
	f.StringVar(&p.explain, "explain", "", "say what a case, or the cases of a `REQUIREMENT`, want")
	f.BoolVar(&p.json, "json", false, "print the report as JSON")
	p.reach = reachingFlags(cmd)
	return cmd
}

func (p *proof) run(cmd *cobra.Command, args []string) error {
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	run := conformance.Run{Level: p.level, Only: p.cases}
	at, err := "", error(nil)
	switch u, bad := url.Parse(p.driver); {
	case len(args) == 0:
		return usage("give the address of the agent.\nSee: aaep conformance producer --help")
	case p.level < 1 || p.level > 3:
		return usage("--level %d is none of 1, 2 and 3", p.level)
	case (p.driver == "") == (p.command == ""):
		return usage("give either --driver or --command, which make the agent act.\nSee: aaep conformance producer --help")
	case p.command != "":
		run.Driver = conformance.CommandDriver{Command: strings.Fields(p.command)}
	case bad != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return usage("--driver %q is no URL such as http://127.0.0.1:9100", p.driver)
	default:
		run.Driver = conformance.HTTPDriver{Base: p.driver}
	}
	for _, name := range p.cases {
		if len(conformance.Find(name)) == 0 {
			return usage("no case is named %q, and none decides it.\nSee: aaep conformance producer --list", name)
		}
	}
	if at, err = address(args[0]); err != nil {
		return &exitError{exitUsage, err}
	}
	ways, err := p.reach.ways(ctx, at)
	if err != nil {
		return err
	}
	status := announcer{out: cmd.ErrOrStderr()}
	run.Dialer, run.Target, run.Transport = ways[0].Dialer, ways[0].Address, ways[0].Transport
	run.Progress = func(play string, n, of int) { status.say("aaep", fmt.Sprintf("%d of %d: %s.", n, of, play)) }
	report, err := run.Producer(ctx)
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.Is(err, conformance.ErrUnreachable):
		return &exitError{exitUnreachable, fmt.Errorf("nothing answers at %s.\nCheck the address", at)}
	case err != nil:
		return &exitError{exitFailed, err}
	}
	write := report.WriteText
	if p.json {
		write = report.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	if report.Verdict != conformance.Pass {
		return &exitError{exitFailed, errors.New(report.Summary())}
	}
	return nil
}

func listCases(out io.Writer) error {
	for _, c := range conformance.Cases() {
		if _, err := fmt.Fprintf(out, "%s: Level %d, %s, %s: %s.\n", c.Name, c.Level, c.Strength, strings.Join(c.Requirements, ", "), c.Rule); err != nil {
			return err
		}
	}
	return nil
}

func explainCases(out io.Writer, name string) error {
	found := conformance.Find(name)
	if len(found) == 0 {
		return usage("no case is named %q, and none decides it.\nSee: aaep conformance producer --list", name)
	}
	for _, c := range found {
		scenario := c.Scenario
		if scenario == "" {
			scenario = "none, for it judges answers to requests"
		}
		if _, err := fmt.Fprintf(out, "%s, %s at Level %d.\nRight is: %s.\nRequirements: %s.\nScenario: %s.\n", c.Name, c.Strength, c.Level, c.Rule,
			strings.Join(c.Requirements, ", "), scenario); err != nil {
			return err
		}
	}
	return nil
}
