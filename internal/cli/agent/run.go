// Package agent is the commands that make or serve an agent: run (run.go; the program itself in
// program.go), serve (of agents that run elsewhere), replay, and log. run.go also opens the log and
// decides how much that keeps. Begin with runner.runAgent.
// How listeners come is the business of package serving.
//
// Agents that run elsewhere are served in serve.go, recordings are played in replay.go, log.go
// copies a log and puts it back, and stdio.go serves the program that started the command.
package agent

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
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/plaintext"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// RunCommand makes "aaep run"; runAgent does its work.
func RunCommand() *cobra.Command {
	r := &runner{}
	cmd := &cobra.Command{
		Use:   "run [--listen ADDRESS | --stdio] [-- PROGRAM ARGUMENTS]",
		Short: "Make any program that prints text an accessible agent",
		Long: `run starts PROGRAM and serves what it prints, as it prints it, to assistive technology; what it prints on standard
error is told as error output. Without a program it serves its own standard input. The text also goes to standard output
and standard error; listeners wait for who reads standard output only when 16 MiB are unread.

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
			r.args, r.in, r.out, r.errs = args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			r.status.Out = r.errs
			if err := r.checkFlags(cmd.Flags().Changed("listen")); err != nil {
				return err
			}
			if err := r.nats.CheckAlone(cmd.Flags()); err != nil {
				return err
			}
			if r.parent {
				r.wait, r.in, r.out = true, nil, io.Discard
			}
			return r.runAgent(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the program's name is the program's
	r.where, r.nats = serving.AddFlags(cmd), serving.AddClusterFlags(cmd)
	f.IntVar(&r.nats.Opts.Replicas, "nats-replicas", 0, "on how many of them it is kept (default 3 in a cluster)")
	f.StringVar(&r.language, "language", "en-US", "the tag of the language the program prints")
	f.StringVar(&r.name, "name", "", "the agent's name (default is the program's)")
	f.StringVar(&r.trail, "audit", "", "put on record in this `FILE` what is asked and done")
	f.StringVar(&r.log, "log", "", "keep what is said in this `FOLDER`, so that listeners find their place after a restart")
	f.BoolVar(&r.crashOnly, "log-crash-only", false,
		"the log need not survive a power cut, only a crash of the program: faster")
	r.metrics = serving.MetricsFlag(f)
	f.BoolVar(&r.parent, "stdio", false, "serve the program that started this one")
	f.BoolVar(&r.wait, "wait", false, "wait for somebody to listen before starting")
	return cmd
}

// runner is what the flags of "run" say, and what comes of it.
type runner struct {
	args           []string
	language, name string
	wait           bool
	parent         bool    // serve the program that started us
	metrics        *string // an address; empty is none
	trail          string  // the name of the file; empty is none
	log            string  // the folder; empty is none
	crashOnly      bool    // it need not survive a power cut
	where          *serving.Flags
	nats           *serving.ClusterFlags
	in             io.Reader
	out, errs      io.Writer
	status         lineio.Printer

	audit *audit.File
	p     *producer.Producer
	kept  log.Store // of what is said; nil is none
}

// interruptTime is for a program to heed a Ctrl-C that came from the terminal.
const interruptTime = 2 * time.Second

// checkFlags refuses flags that make no sense together, and settles the agent's name: --name, or
// that of the program. listens says that --listen was given. The error says what would be right.
func (r *runner) checkFlags(listens bool) error {
	noProgram := len(r.args) == 0
	if r.parent {
		if err := stdioMisused(r.in, r.out, r.args, listens); err != nil {
			return err
		}
	}
	if in, ok := r.in.(*os.File); noProgram && ok && term.IsTerminal(int(in.Fd())) {
		return exits.UsageError("nothing to run: name a program after --, or pipe text in.\nSee: aaep run --help")
	}
	switch {
	case exits.CheckLanguage(r.language, "run") != nil:
		return exits.CheckLanguage(r.language, "run")
	case r.trail != "" && noProgram:
		return exits.UsageError("--audit puts on record which program is started: name it after --.\nSee: aaep run --help")
	case r.nats.Servers != "" && r.log != "":
		return exits.UsageError("--log and --nats are two places to keep what is said; give one of them.\nSee: aaep run --help")
	case r.crashOnly && r.log == "":
		return exits.UsageError("--log-crash-only says what the log must survive: name its folder with --log.\nSee: aaep run --help")
	case r.name == "" && noProgram:
		r.name = "pipe"
	case r.name == "":
		r.name = filepath.Base(r.args[0])
	}
	r.name = cmp.Or(words.OneLine(strings.ToValidUTF8(r.name, "?")), "program")
	return nil
}

// runAgent does the work of "aaep run": it opens the log, serves the agent's addresses and runs the
// session until the program ends. It ends with the program's exit code.
func (r *runner) runAgent(ctx context.Context) (err error) {
	ctx, stop := exits.WithServiceStop(ctx, r.status.PrintLabelled)
	defer stop()
	if len(r.args) > 0 {
		if _, err := exec.LookPath(r.args[0]); err != nil {
			return exits.UsageError("%s", subprocess.CannotStart(r.args[0], err))
		}
	}
	cfg, err := r.newConfig()
	if err != nil {
		return err
	}
	if r.trail != "" {
		if r.audit, err = serving.OpenTrail(r.trail); err != nil {
			return err
		}
		cfg.Audit = r.audit
		defer serving.CloseTrail(r.audit, r.trail, &err)
	}
	var gauges net.Listener // or nil
	if *r.metrics != "" {
		if gauges, err = serving.ListenMetrics(ctx, *r.metrics, r.where.Addrs); err != nil {
			return err
		}
		defer gauges.Close()
	}
	letGo := func() {}
	defer func() { letGo() }()
	ctx, invitations, served, err := r.serveListeners(ctx, func() (err error) { // last, for it leaves a log that others find
		letGo, err = r.openAgent(ctx, cfg)
		return err
	})
	if err != nil && r.kept == nil && ctx.Err() != nil { // it was told to end while it waited for the servers
		return exits.StopError(ctx)
	}
	if err != nil {
		return err
	}
	metricsAt := ""
	if gauges != nil {
		var stop func()
		metricsAt, stop = serving.ServeMetrics(gauges, map[string]*producer.Producer{"": r.p}, r.where.Seen)
		defer stop()
	}
	printed := lineio.NewAsyncWriter(ctx, r.out)
	r.out = printed
	defer printed.AwaitReader(&err) // when listeners have heard the end
	defer r.drainAgent(ctx, served)
	if !r.parent { // who reads our standard error is followed by the program that started us
		r.printAddresses(invitations, metricsAt)
	}
	if r.wait {
		if err := r.p.WaitSubscriber(ctx); err != nil {
			return exits.StopError(ctx)
		}
	}
	return r.runSession(ctx, r.p)
}

// newConfig returns the producer's configuration by the flags, without a log and a trail. The error
// has the exit code.
func (r *runner) newConfig() (cfg producer.Config, err error) {
	journal := lineio.ErrorsTo(r.errs)
	if r.nats.Servers != "" { // what keeps the agent from those who listen elsewhere is told nowhere else
		journal = lineio.LogTo(r.errs)
	}
	cfg = producer.Config{Language: r.language, Admit: r.where.RightsOf(&r.status),
		MaxSubscriptions: serving.MaxBesideAgent, MaxPerPrincipal: serving.MaxBesideAgent / 2,
		Logger: r.where.ConnectionLog(r.errs, journal), Observer: r.where.Seen}
	cfg.Signers, err = r.where.ReadSigners(r.errs)
	return cfg, err
}

// openAgent opens the log, if there is one, and makes the producer. The caller calls letGo at the
// end, also after an error.
func (r *runner) openAgent(ctx context.Context, cfg producer.Config) (letGo func(), err error) {
	r.kept, letGo, err = r.openLog(ctx)
	if err != nil {
		return func() {}, err
	}
	cfg.Log = r.kept
	r.p, err = serving.NewProducer(r.name, cfg)
	switch {
	case r.kept != nil && err != nil:
		err = exits.With(exits.Failed, fmt.Errorf("cannot go on with the log in %s: %s", cmp.Or(r.log, "NATS"),
			exits.PlainError(err)))
	case err != nil:
		err = exits.UsageError("cannot be an agent: %s", exits.PlainError(err))
	}
	return letGo, err
}

// serveListeners begins and lets listeners come, or serves the program that started us. The context
// it returns ends with them, too.
func (r *runner) serveListeners(ctx context.Context, begin func() error) (_ context.Context, invitations []serving.Invitation,
	served <-chan error, err error) {
	if !r.parent {
		invitations, served, err = r.where.ServeEverywhere(ctx,
			func() (*producer.Producer, error) { err := begin(); return r.p, err }, r.errs)
	} else if err = begin(); err == nil {
		ctx, served, err = serveParent(ctx, r.p)
	}
	return ctx, invitations, served, err
}

// printAddresses prints where the agent can be followed, and tells a service manager that it is
// ready.
func (r *runner) printAddresses(invitations []serving.Invitation, metricsAt string) {
	serving.PrintInvitations(&r.status, r.name, "", invitations)
	serving.NotifyReady()
	if metricsAt != "" {
		r.status.PrintLabelled("aaep", "Metrics are at "+metricsAt)
	}
	if r.wait {
		r.status.PrintLabelled("aaep", "Waiting for somebody to listen.")
	}
}

// drainAgent lets the listeners hear the end, for a shorter while where a log is kept and they can
// go on at the next start, and waits until the server behind served has returned.
func (r *runner) drainAgent(ctx context.Context, served <-chan error) {
	rest := serving.DrainLong
	if r.kept != nil {
		rest = serving.DrainTime // they go on at the next start
	}
	serving.DrainListeners(ctx, r.p, rest, &r.status)
	<-served
}

// runSession runs the program, or reads standard input, as one session, and ends the session as
// that ended. The error has the exit code: that of the program, or the reason why it could not be
// run. ctx ends the program and cancels the session.
func (r *runner) runSession(ctx context.Context, p *producer.Producer) error {
	s, err := p.StartSession(context.WithoutCancel(ctx), inEnglish("Running "+r.name+"."))
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	defer s.Close()
	streams := &programStreams{Output: s.Output(), language: r.language}
	text := &plaintext.Writer{Out: &programStream{of: streams}, Tee: r.out}
	errs := &plaintext.Writer{Out: &programStream{of: streams, errs: true}, Tee: r.errs}
	if r.parent { // who started this hears it
		errs.Tee = nil
	}
	var failed error
	if len(r.args) == 0 {
		failed = subprocess.CopyInterruptible(ctx, text, r.in)
	} else {
		failed = r.runRecorded(ctx, s, func() error { return r.runProgram(ctx, text, errs) })
	}
	for _, end := range []func() error{text.Close, errs.Close, streams.Output.Close} {
		if err := end(); err != nil && failed == nil {
			failed = err
		}
	}
	if strange := text.Strange() + errs.Strange(); strange > 0 {
		r.status.PrintLabelled("aaep", words.Count(strange, "byte")+
			" of the output could not be read as text. Listeners are told a replacement character for each.")
	}
	if ctx.Err() != nil {
		return r.cancelSession(ctx, s, failed)
	}
	return r.endSession(s, failed)
}

// cancelSession cancels the session because the command was stopped, by the user or the system, and
// returns the error for that. It is a failure of its own if the program had to be killed.
func (r *runner) cancelSession(ctx context.Context, s *producer.Session, failed error) error {
	canceller := aaep.CancelledBySystem
	if context.Cause(ctx) == (exits.Signalled{Signal: os.Interrupt}) {
		canceller = aaep.CancelledByUser
	}
	s.Cancel(canceller, inEnglish(r.name+" was stopped."))
	if err := exits.StopError(ctx); err != nil {
		return err
	}
	var exit *exec.ExitError
	if errors.As(failed, &exit) && subprocess.WasKilled(exit) {
		return exits.With(exits.Failed, errors.New(r.name+" did not end when it was told to, and was killed"))
	}
	return nil
}

// endSession ends the session as the program ended, which failed says, and returns the command's
// error: with the program's exit code where it has one, and without words where the listeners were
// told and the program that started this one reads what is printed.
func (r *runner) endSession(s *producer.Session, failed error) error {
	var exit *exec.ExitError
	switch {
	case errors.As(failed, &exit):
		code, ending := subprocess.Ending(exit)
		isTold, problem := s.Fail(failed, inEnglish(r.name+" "+ending+".")) == nil, r.name+" "+ending
		if isTold && r.parent {
			problem = "" // who started this has heard it, and reads what is printed too
		}
		return exits.With(code, errors.New(problem))
	case errors.Is(failed, producer.ErrNotRecorded):
		s.Fail(failed, inEnglish(r.name+" was not run, because that could not be put on record."))
		return exits.With(exits.Failed, fmt.Errorf("%s was not run: the trail %s cannot be written", r.name, r.trail))
	case failed != nil:
		s.Fail(failed, inEnglish(r.name+" could not be run."))
		return exits.With(exits.Failed, fmt.Errorf("cannot run %s: %s", r.name, subprocess.ExplainStart(failed)))
	}
	if err := s.Complete(inEnglish(r.name + " finished.")); err != nil {
		return exits.With(exits.Failed, err)
	}
	return nil
}

// inEnglish is a sentence of this program's, whatever the program prints that it runs.
func inEnglish(text string) aaep.Text { return aaep.Text{}.In("en", aaep.Say(text)) }

// runRecorded calls run, which runs the program, and puts on record before that it is started, and
// after it how it ended. Without a trail it only calls run. A program that cannot be recorded is
// left unstarted, with producer.ErrNotRecorded; otherwise the error is run's.
func (r *runner) runRecorded(ctx context.Context, s *producer.Session, run func() error) error {
	if r.audit == nil {
		return run()
	}
	program, err := exec.LookPath(r.args[0])
	if err != nil {
		program = r.args[0]
	} else if absolute, err := filepath.Abs(program); err == nil {
		program = absolute
	}
	if r.audit.Record(audit.Record{Kind: audit.Invoked, AgentID: r.name, SessionID: s.ID(), Tool: program}) != nil {
		return producer.ErrNotRecorded
	}
	began := time.Now()
	err = run()
	status, ending := describeEnd(err, ctx.Err() != nil)
	ended := audit.Record{Kind: audit.Completed, SessionID: s.ID(), Tool: program, Status: status, Cause: ending,
		DurationMS: new(time.Since(began).Milliseconds())}
	if r.audit.Record(ended) != nil {
		r.status.PrintLabelled("aaep", "The trail does not say that "+r.name+" ended: it cannot be written.")
	}
	return err
}

// describeEnd returns with which status a program ended whose run returned err, and how, in words;
// "" for one that ended well. isStopped says that it was told to end; one that had to be killed
// failed even so.
func describeEnd(err error, isStopped bool) (status aaep.ToolStatus, ending string) {
	var exit *exec.ExitError
	hasExit := errors.As(err, &exit)
	switch {
	case err == nil:
		return aaep.ToolSuccess, ""
	case isStopped && !(hasExit && subprocess.WasKilled(exit)):
		status = "stopped"
	default:
		status = aaep.ToolError
	}
	switch {
	case hasExit:
		_, ending = subprocess.Ending(exit)
	case status == aaep.ToolError:
		ending = "could not be run: " + subprocess.ExplainStart(err)
	}
	return status, ending
}

// openLog opens where what is said is kept: a folder for --log, servers for --nats, or nowhere,
// which is a nil store. letGo closes it again. The error has the exit code.
func (r *runner) openLog(ctx context.Context) (store log.Store, letGo func(), err error) {
	switch {
	case r.log != "":
		folder, err := sqlite.Open(r.log, sqlite.Options{SurvivesCrash: r.crashOnly})
		if err != nil {
			return nil, nil, exits.CannotTake("--log", err)
		}
		return folder, func() { folder.Close() }, nil
	case r.nats.Servers != "":
		cluster, err := r.nats.DialCluster(ctx, &r.status)
		if err != nil {
			return nil, nil, err
		}
		starting, cancel := context.WithTimeout(ctx, serving.StartTime)
		defer cancel()
		stream, err := cluster.Open(starting, r.name)
		if err != nil {
			cluster.Close()
			return nil, nil, exits.With(serving.StartCode(err), err)
		}
		return stream, func() { stream.Close(); cluster.Close() }, nil
	}
	return nil, func() {}, nil
}
