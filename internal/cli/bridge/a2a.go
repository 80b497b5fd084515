package bridge

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// a2aOptions are what the flags of "bridge a2a" say.
type a2aOptions struct {
	bridgeFlags
	send, endpoint, token string
	seen                  string
	tasks                 []string
	records, approval     string
}

// bridgeA2ACommand makes "aaep bridge a2a"; runA2A does its work.
func bridgeA2ACommand() *cobra.Command {
	o := &a2aOptions{}
	cmd := &cobra.Command{
		Use:   "a2a [flags] URL",
		Short: "Hear and answer a remote agent that speaks A2A",
		Long: `a2a is the client of the agent at URL, which speaks the Agent2Agent protocol, 1.0 or 0.3. Each line that is typed, or
read from standard input, is a message to it. What the agent makes of that is heard by whoever listens: its progress, its
results as they grow, its end. What it needs to go on is asked, and the answer sent. /stop cancels what it does; no other line
that begins with a slash is sent, unless a space is before it.

With --send it sends one message, and ends when the agent has. With --task it follows a task that the agent has already.
With --records it follows the records of an agent that offers them (Engram): what there is, and each change.

A link that is cut is taken up again, for ten minutes. With --seen a bridge that was stopped or killed goes on with its tasks
when it is started again, and tells nothing twice. With --hook the agent can also say by a push notification that there
is news. Silence is no answer: nothing is sent then, and the task waits at the agent.`,
		Example: `  aaep bridge a2a https://agent.example
  aaep bridge a2a --send "Find the newest report" --token-file token.txt https://agent.example
  aaep bridge a2a --records plan/ --approval /approval https://store.example
  aaep bridge a2a --task 7f3c --hook 127.0.0.1:9090 --hook-url https://me.example/push https://agent.example`,
		Args: exits.Arguments(1, 1),
	}
	cmd.RunE = o.runA2A
	o.addFlags(cmd, "what its card says")
	f := cmd.Flags()
	f.StringVar(&o.send, "send", "", "send this `MESSAGE`, and end when the agent has")
	f.StringArrayVar(&o.tasks, "task", nil, "follow the task with this `ID`; may be repeated")
	f.StringVar(&o.seen, "seen", "", "remember in this `FILE` which tasks are followed and what of them was told, and go on there")
	f.StringVar(&o.records, "records", "", "follow the agent's records whose keys begin with `PREFIX`; / follows all of them")
	f.StringVar(&o.approval, "approval", "", "ask where a record has \"pending\" at this JSON `POINTER`, such as /approval")
	f.StringVar(&o.token, "token-file", "", "show the agent the bearer token in this `FILE`")
	f.StringVar(&o.endpoint, "endpoint", "", "speak with the agent at this `URL`, whatever its card says")
	f.StringVar(&o.hookAt, "hook", "", "take push notifications at this `ADDRESS` of this machine")
	f.StringVar(&o.hookURL, "hook-url", "", "the `URL` by which the agent reaches that (default http://ADDRESS/)")
	return cmd
}

// runA2A follows an agent that speaks A2A, once its flags are checked, until its tasks are over or
// the command is stopped. The error has the exit code: 2 for the flags, 3 for an agent that is not
// there, 1 for a task that failed.
func (o *a2aOptions) runA2A(cmd *cobra.Command, args []string) error {
	const see = "\nSee: aaep bridge a2a --help"
	if address, err := url.Parse(args[0]); err != nil || address.Host == "" {
		return exits.UsageError("%q is not the address of an agent, such as https://agent.example."+see, args[0])
	}
	switch {
	case o.hookURL != "" && o.hookAt == "":
		return exits.UsageError("--hook-url leads to --hook: give that, too." + see)
	case o.records != "" && (o.send != "" || len(o.tasks) > 0 || o.seen != ""):
		return exits.UsageError("--records follows records, and --send, --task and --seen follow tasks; give one of them." + see)
	case o.approval != "" && o.records == "":
		return exits.UsageError("--approval is asked of records: name them with --records." + see)
	}
	token, err := readToken(o.token)
	if err != nil {
		return err
	}
	cfg := a2a.Config{Endpoint: o.endpoint, Token: token, Seen: o.seen, Logger: lineio.LogTo(cmd.ErrOrStderr())}
	hook, err := o.openHook(cmd.Context())
	if err != nil {
		return err
	}
	if hook != nil {
		defer hook.Close()
		cfg.PushURL = o.hookURL
	}
	agent, err := a2a.Dial(cmd.Context(), args[0], cfg)
	if err != nil {
		return exits.With(exits.Unreachable, errors.New(exits.TrimPackageNames(err.Error())))
	}
	defer agent.Close()
	if o.name == "" {
		o.name = agent.Name()
	}
	o.status.Out = cmd.ErrOrStderr()
	return o.bridgeFlags.serveBridge(cmd, firstOf(o.name, "remote agent"), hook,
		func(*producer.Producer) (http.Handler, error) { return agent, nil },
		func(ctx context.Context, p *producer.Producer) error {
			return o.followTasks(ctx, agent, p, cmd.InOrStdin())
		})
}

// followTasks follows the records, or the tasks that the flags and earlier runs name, until all of
// them have ended; without any it sends the lines that are typed, until the input or ctx ends. The
// error has the exit code.
func (o *a2aOptions) followTasks(ctx context.Context, agent *a2a.Agent, p *producer.Producer, in io.Reader) error {
	if o.records != "" {
		err := agent.FollowRecords(ctx, p, a2a.RecordConfig{Prefix: strings.TrimPrefix(o.records, "/"),
			Approval: o.approval})
		return exits.With(exits.Failed, errors.New(exits.TrimPackageNames(err.Error())))
	}
	f := &remoteTasks{agent: agent, status: &o.status, open: map[*a2a.Task]bool{}}
	if err := o.startTasks(ctx, f, p); err != nil {
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	if o.send != "" || len(o.tasks) > 0 {
		f.running.Wait()
		return f.failed
	}
	o.status.PrintLabelled("aaep", "Type a message and press Enter. /stop cancels what the agent does.")
	defer f.running.Wait()
	lines := linesOf(ctx, in)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			o.handleLine(ctx, f, p, line)
		case <-ctx.Done():
			return nil
		}
	}
}

// startTasks follows the tasks that an earlier run left open, those that are named, each once, and
// that of the message to send, if there is one.
func (o *a2aOptions) startTasks(ctx context.Context, f *remoteTasks, p *producer.Producer) error {
	resumed, err := f.agent.Resume(ctx, p)
	if err != nil {
		return err
	}
	followed := map[string]bool{}
	for _, task := range resumed {
		followed[task.ID()] = true
		f.taskStarter(ctx)(task, nil)
	}
	for _, id := range o.tasks {
		if followed[id] {
			continue
		}
		if err := f.taskStarter(ctx)(f.agent.Follow(ctx, p, id)); err != nil {
			return err
		}
	}
	if o.send == "" {
		return nil
	}
	return f.taskStarter(ctx)(f.agent.Send(ctx, p, o.send))
}

// handleLine sends a line that was typed to the agent, or does what it says if it begins with a
// slash.
func (o *a2aOptions) handleLine(ctx context.Context, f *remoteTasks, p *producer.Producer, line string) {
	text := strings.TrimSpace(line)
	switch {
	case text == "":
	case text == "/stop":
		f.cancelAll(ctx)
	case strings.HasPrefix(line, "/"):
		o.status.PrintLabelled("aaep", aaep.SafeText(line)+" is no command, and was not sent. /stop cancels what the agent does; to send a line that begins with a slash, put a space before it.")
	default:
		if err := f.taskStarter(ctx)(f.agent.Send(ctx, p, text)); err != nil {
			o.status.PrintLabelled("aaep", "The message was not sent: "+words.Sentence(exits.PlainError(err)))
		}
	}
}

// remoteTasks are the tasks of a remote agent that are followed.
type remoteTasks struct {
	agent   *a2a.Agent
	status  *lineio.Printer
	running sync.WaitGroup
	mu      sync.Mutex
	open    map[*a2a.Task]bool
	failed  error // one of them did not reach its aim, which was said
}

// taskStarter returns a function that takes over a task that begins, or returns the error why it
// does not. How the task ends is waited for on a goroutine; a failure is printed, and kept for the
// exit code.
func (r *remoteTasks) taskStarter(ctx context.Context) func(*a2a.Task, error) error {
	return func(task *a2a.Task, err error) error {
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.open[task] = true
		r.mu.Unlock()
		r.running.Go(func() {
			err := task.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.open, task)
			if err != nil && ctx.Err() == nil {
				r.status.PrintLabelled("aaep",
					strings.TrimSpace("The task "+words.OneLine(aaep.SafeText(task.ID())))+" did not reach its aim: "+words.Sentence(exits.TrimPackageNames(err.Error())))
				r.failed = exits.With(exits.Failed, errors.New(""))
			}
		})
		return nil
	}
}

// cancelAll asks the agent to cancel all open tasks, on a goroutine for each. A task that was not
// cancelled is printed.
func (r *remoteTasks) cancelAll(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for task := range r.open {
		r.running.Go(func() {
			if err := task.Cancel(ctx); err != nil {
				r.status.PrintLabelled("aaep",
					"It was not cancelled: "+words.Sentence(exits.TrimPackageNames(err.Error())))
			}
		})
	}
}

// linesOf are the lines of in, until it ends. The reading goroutine ends with ctx, once in has
// another line.
func linesOf(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			select {
			case lines <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
