package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

func runCommand() *cobra.Command {
	var language, name, trail, logDir, metrics string
	var where *serving
	var nats *shared
	var wait, parent, crashOnly bool
	cmd := &cobra.Command{
		Use:   "run [--listen ADDRESS | --stdio] [-- PROGRAM ARGUMENTS]",
		Short: "Make any program that prints text an accessible agent",
		Long: `run starts PROGRAM and serves what it prints, as it prints it, to assistive technology. Without a program
it serves its own standard input. The text also goes to standard output.

When the program ends, so does run, with the same exit code; any other than 0 is told as an error.
Ctrl-C cancels in the user's name. Whoever begins to listen in the middle hears all of it. A service manager ends run
with SIGTERM, which is no failure: it ends with 0, once the program has ended and all have heard it.

With --stdio it serves the program that started it, over its own standard input and output. PROGRAM then has no
input, and its text goes nowhere else. It is started once that program listens, and ended when it leaves.

Listeners on other machines need --tls-cert and --tls-key, and are known by --tokens, --client-ca or --oidc-issuer.

With --log what is said is kept in a folder: whoever listened finds their place again after a restart, also one after
a crash, and what was open then is told to have ended. It is kept for a day.

With --nats it is kept by NATS servers instead, and listeners can be served on any machine: aaep serve. The agent is
known there by its --name. If it ends or its machine dies, start it again on another.

With --audit it is put on record which program was started, when it ended and how, and all that the agent asks. What
cannot be put on record is not started. Read the record with: aaep audit show FILE`,
		Example: `  aaep run --listen 127.0.0.1:8080 -- some-llm "Plan my week"
  some-llm "Plan my week" | aaep run --listen 127.0.0.1:8080
  aaep listen --exec "aaep run --stdio -- some-llm 'Plan my week'"
  aaep run --audit trail.jsonl -- some-llm "Plan my week"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if parent {
				if err := stdioMisused(cmd.InOrStdin(), cmd.OutOrStdout(), args, cmd.Flags().Changed("listen")); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
					return usage("nothing to run: name a program after --, or pipe text in.\nSee: aaep run --help")
				}
			}
			if !aaep.ValidLanguageTag(language) {
				return usage("--language must be a language tag such as en-US; it is %q.\nSee: aaep run --help", language)
			}
			if trail != "" && len(args) == 0 {
				return usage("--audit puts on record which program is started: name it after --.\nSee: aaep run --help")
			}
			if nats.servers != "" && logDir != "" {
				return usage("--log and --nats are two places to keep what is said; give one of them.\nSee: aaep run --help")
			}
			if err := nats.alone(cmd.Flags()); err != nil {
				return err
			}
			if crashOnly && logDir == "" {
				return usage("--log-crash-only says what the log must survive: name its folder with --log.\nSee: aaep run --help")
			}
			if name == "" {
				name = "pipe"
				if len(args) > 0 {
					name = filepath.Base(args[0])
				}
			}
			if name = words.OneLine(strings.ToValidUTF8(name, "?")); name == "" {
				name = "program"
			}
			r := &runner{args: args, name: name, wait: wait, metrics: metrics, trail: trail, log: logDir, crashOnly: crashOnly, nats: nats, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), status: announcer{out: cmd.ErrOrStderr()}, errs: cmd.ErrOrStderr()}
			if parent {
				r.parent, r.wait, r.in, r.out = true, true, nil, io.Discard
			}
			return r.run(cmd.Context(), where, language)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the program's name is the program's
	where, nats = servingFlags(cmd), sharedFlags(cmd)
	f.StringVar(&language, "language", "en-US", "the tag of the language the program prints")
	f.StringVar(&name, "name", "", "the agent's name (default is the program's)")
	f.StringVar(&trail, "audit", "", "put on record in this `FILE` what is asked and done")
	f.StringVar(&logDir, "log", "", "keep what is said in this `FOLDER`, so that listeners find their place after a restart")
	f.BoolVar(&crashOnly, "log-crash-only", false, "the log need not survive a power cut, only a crash of the program: faster")
	f.StringVar(&metrics, "metrics", "", "tell programs on this machine, at this `ADDRESS`, how many events and listeners there are")
	f.BoolVar(&parent, "stdio", false, "serve the program that started this one")
	f.BoolVar(&wait, "wait", false, "wait for somebody to listen before starting")
	return cmd
}

type runner struct {
	args      []string
	name      string
	wait      bool
	parent    bool   // serve whoever started us
	metrics   string // an address; empty is none
	trail     string // the name of the file; empty is none
	audit     *audit.File
	log       string // the folder; empty is none
	crashOnly bool   // it need not survive a power cut
	nats      *shared
	in        io.Reader
	out       io.Writer
	errs      io.Writer
	status    announcer
}

const (
	heedTime   = 2 * time.Second // for a program to heed a Ctrl-C that came from the terminal
	lastChance = 5 * time.Second // for a program that was told to end, before it is killed
)

func (r *runner) run(ctx context.Context, where *serving, language string) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if len(r.args) > 0 {
		if _, err := exec.LookPath(r.args[0]); err != nil {
			return &exitError{exitFailed, fmt.Errorf("cannot run %q: %s.\nCheck its name, or give its whole path", r.args[0], whyNot(err))}
		}
	}
	cfg := producer.Config{Language: language, Admit: where.admit()}
	if cfg.Signers, err = where.signers(); err != nil {
		return err
	}
	if r.trail != "" {
		if r.audit, err = openTrail(r.trail); err != nil {
			return err
		}
		cfg.Audit = r.audit
		defer func() {
			if failed := r.audit.Close(); failed != nil && err == nil {
				err = &exitError{exitFailed, fmt.Errorf("the trail %s may not be whole: %s", r.trail, innermost(failed))}
			}
		}()
	}
	var counts net.Listener
	if r.metrics != "" {
		if counts, err = listenMetrics(ctx, r.metrics); err != nil {
			return err
		}
		defer counts.Close()
	}
	var kept log.Store
	letGo := func() {}
	defer func() { letGo() }()
	var p *producer.Producer
	begin := func() (*producer.Producer, error) { // last, for it leaves a log that others find
		store, done, err := r.openLog(ctx)
		if err != nil {
			return nil, err
		}
		kept, letGo, cfg.Log = store, done, store
		p, err = newProducer(r.name, cfg)
		if kept != nil && err != nil {
			err = &exitError{exitFailed, fmt.Errorf("cannot go on with the log in %s: %s", cmp.Or(r.log, "NATS"), plain(err))}
		} else if err != nil {
			err = usage("cannot be an agent: %s", plain(err))
		}
		return p, err
	}
	var at []invitation
	var served <-chan error
	if !r.parent {
		at, served, err = where.open(ctx, begin, r.errs)
	} else if _, err = begin(); err == nil {
		ctx, served, err = serveParent(ctx, p)
	}
	if err != nil {
		return err
	}
	if kept != nil {
		defer r.watchLog(ctx, p)()
	}
	counted := ""
	if counts != nil {
		var stop func()
		counted, stop = serveMetrics(counts, p)
		defer stop()
	}
	defer func() {
		rest := drainLong
		if kept != nil {
			rest = drainTime // they go on at the next start
		}
		drain(ctx, p, rest, &r.status)
		<-served
	}()
	if !r.parent { // who reads our standard error is followed by whoever started us
		invite(&r.status, r.name, "", at)
		ready()
		if counted != "" {
			r.status.say("aaep", "Metrics are at "+counted)
		}
	}
	if r.wait {
		if !r.parent {
			r.status.say("aaep", "Waiting for somebody to listen.")
		}
		if err := p.WaitSubscriber(ctx); err != nil {
			return stopped(ctx)
		}
	}
	return r.session(ctx, p)
}

// openTrail opens the file that things are put on record in.
func openTrail(name string) (*audit.File, error) {
	f, err := audit.Open(name, audit.Options{})
	var fault *audit.Fault
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, audit.ErrInUse):
		err = fmt.Errorf("another program writes to the trail %s.\nName another file. To read this one: aaep audit verify %s", name, name)
	case errors.As(err, &fault):
		err = fmt.Errorf("the trail %s is not as it was written, so nothing is added to it.\nName another file. To see what is wrong: aaep audit verify %s", name, name)
	default:
		err = fmt.Errorf("cannot open the trail %s: %s", name, innermost(err))
	}
	return nil, &exitError{exitFailed, err}
}

// session runs the program, or reads standard input, as one session.
func (r *runner) session(ctx context.Context, p *producer.Producer) error {
	s, err := p.StartSession(context.WithoutCancel(ctx), aaep.Say("Running "+r.name+"."))
	if err != nil {
		return &exitError{exitFailed, err}
	}
	defer s.Close()
	text := &textWriter{out: s.Output(), tee: r.out}
	var failed error
	if len(r.args) == 0 {
		failed = copyInterruptible(ctx, text, r.in)
	} else {
		failed = r.recorded(s, func() error { return r.program(ctx, text) })
	}
	if err := text.Close(); err != nil && failed == nil {
		failed = err
	}
	if text.strange > 0 {
		r.status.say("aaep", words.Count(text.strange, "byte")+" of the output could not be read as text. Listeners are told a replacement character for each.")
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		by := aaep.CancelledBySystem
		if context.Cause(ctx) == (signalled{os.Interrupt}) {
			by = aaep.CancelledByUser
		}
		s.Cancel(by, aaep.Say(r.name+" was stopped."))
		if err := stopped(ctx); err != nil || !errors.As(failed, &exit) || !killed(exit) {
			return err
		}
		return &exitError{exitFailed, errors.New(r.name + " did not end when it was told to, and was killed")}
	case errors.As(failed, &exit):
		code, how := ending(exit)
		s.Fail(failed, aaep.Say(r.name+" "+how+"."))
		return &exitError{code, errors.New(r.name + " " + how)}
	case errors.Is(failed, producer.ErrNotRecorded):
		s.Fail(failed, aaep.Say(r.name+" was not run, because that could not be put on record."))
		return &exitError{exitFailed, fmt.Errorf("%s was not run: the trail %s cannot be written", r.name, r.trail)}
	case failed != nil:
		s.Fail(failed, aaep.Say(r.name+" could not be run."))
		return &exitError{exitFailed, fmt.Errorf("cannot run %s: %s", r.name, whyNot(failed))}
	}
	if err := s.Complete(aaep.Say(r.name + " finished.")); err != nil {
		return &exitError{exitFailed, err}
	}
	return nil
}

// recorded runs the program, and puts on record before that it is started, and then how it ended.
func (r *runner) recorded(s *producer.Session, run func() error) error {
	if r.audit == nil {
		return run()
	}
	if r.audit.Record(audit.Record{Kind: audit.Invoked, SessionID: s.ID(), Tool: r.name}) != nil {
		return producer.ErrNotRecorded
	}
	began := time.Now()
	err := run()
	status := aaep.ToolSuccess
	if err != nil {
		status = aaep.ToolError
	}
	ended := audit.Record{Kind: audit.Completed, SessionID: s.ID(), Tool: r.name, Status: status, DurationMS: new(time.Since(began).Milliseconds())}
	if r.audit.Record(ended) != nil {
		r.status.say("aaep", "The trail does not say that "+r.name+" ended: it cannot be written.")
	}
	return err
}

// innermost is the cause at the end of a chain.
func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
