package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/bridges/wake"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/auth"
)

func bridgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Make an agent of another protocol accessible",
		Long: `bridge follows what agents of other protocols do, and serves it to assistive technology: "aaep listen" hears it, and
answers what it asks. Nothing is followed but what the command names.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(bridgeA2ACommand(), bridgeAkashikCommand(), bridgeMCPCommand(), bridgeRAPCommand(), bridgeWakeCommand())
	return cmd
}

// bridgeFlags are what the commands of "bridge" share.
type bridgeFlags struct {
	where       *serveFlags
	name, trail string
	hookAt      string // where messages of the other system are taken; empty is none
	hookURL     string // how that system reaches it
	wait        bool
	status      announcer
	cfg         producer.Config // what else the agent is
}

func (b *bridgeFlags) addFlags(cmd *cobra.Command, whose string) {
	f := cmd.Flags()
	f.StringVar(&b.name, "name", "", "the agent's name (default is "+whose+")")
	f.StringVar(&b.trail, "audit", "", "put on record in this `FILE` what is asked and answered")
	f.BoolVar(&b.wait, "wait", false, "wait for somebody to listen before starting")
	b.where = servingFlags(cmd)
}

// openHook opens the address at which the other system's messages are taken; nil where none is
// wanted. They come from other machines through a proxy, which has the certificate.
func (b *bridgeFlags) openHook(ctx context.Context) (net.Listener, error) {
	if b.hookAt == "" {
		return nil, nil
	}
	ln, err := listenForPrograms(ctx, "--hook", b.hookAt)
	if err != nil {
		return nil, err
	}
	if b.hookURL == "" {
		b.hookURL = "http://" + ln.Addr().String() + "/"
	}
	return ln, nil
}

// readToken reads the token in a file; "" is none.
func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	header, err := auth.BearerFile(file)(context.Background())
	if err != nil {
		return "", cannotTake("--token-file", err)
	}
	return strings.TrimPrefix(header.Get("Authorization"), "Bearer "), nil
}

// serveBridge serves an agent and does work, which returns when there is nothing more to follow.
// What begin returns takes the messages that come to hook; it is nil where none come.
func (b *bridgeFlags) serveBridge(cmd *cobra.Command, name string, hook net.Listener,
	begin func(*producer.Producer) (http.Handler, error),
	work func(context.Context, *producer.Producer) error) (err error) {
	ctx, stop := withServiceStop(cmd.Context(), b.status.printLabelled)
	defer stop()
	shared := &acpOptions{where: b.where, trail: b.trail}
	cfg := b.cfg
	cfg.Admit = b.where.rightsOf(&b.status)
	p, served, end, err := shared.serveAgent(ctx, cmd, name, cfg, &b.status)
	if err != nil {
		return err
	}
	defer end(&err)
	defer func() { <-served }()
	defer drainListeners(ctx, p, drainTime, &b.status)
	var take http.Handler
	if begin != nil {
		if take, err = begin(p); err != nil {
			return err
		}
	}
	if hook != nil {
		server := &http.Server{Handler: httpguard.WithDeadlines(take), ReadHeaderTimeout: 10 * time.Second,
			MaxHeaderBytes: 16 << 10}
		httpguard.BoundIdle(server)
		go server.Serve(hook)
		defer server.Close()
		b.status.printLabelled("aaep", "Messages for it are taken at "+b.hookURL)
	}
	if b.wait {
		b.status.printLabelled("aaep", "Waiting for somebody to listen.")
		if err := p.WaitSubscriber(ctx); err != nil {
			return stopError(ctx)
		}
	}
	if err = work(ctx, p); ctx.Err() != nil {
		return stopError(ctx)
	}
	return err
}

// a2aOptions are what the flags of "bridge a2a" say.
type a2aOptions struct {
	bridgeFlags
	send, endpoint, token string
	seen                  string
	tasks                 []string
	records, approval     string
}

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
		Args: cobra.ExactArgs(1),
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

func (o *a2aOptions) runA2A(cmd *cobra.Command, args []string) error {
	const see = "\nSee: aaep bridge a2a --help"
	if at, err := url.Parse(args[0]); err != nil || at.Host == "" {
		return usageError("%q is not the address of an agent, such as https://agent.example."+see, args[0])
	}
	switch {
	case o.hookURL != "" && o.hookAt == "":
		return usageError("--hook-url leads to --hook: give that, too." + see)
	case o.records != "" && (o.send != "" || len(o.tasks) > 0 || o.seen != ""):
		return usageError("--records follows records, and --send, --task and --seen follow tasks; give one of them." + see)
	case o.approval != "" && o.records == "":
		return usageError("--approval is asked of records: name them with --records." + see)
	}
	token, err := readToken(o.token)
	if err != nil {
		return err
	}
	cfg := a2a.Config{Endpoint: o.endpoint, Token: token, Seen: o.seen, Logger: logTo(cmd.ErrOrStderr())}
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
		return exitWith(exitUnreachable, errors.New(strings.TrimPrefix(err.Error(), "a2a: ")))
	}
	defer agent.Close()
	if o.name == "" {
		o.name = agent.Name()
	}
	o.status.out = cmd.ErrOrStderr()
	return o.bridgeFlags.serveBridge(cmd, firstOf(o.name, "remote agent"), hook,
		func(*producer.Producer) (http.Handler, error) { return agent, nil },
		func(ctx context.Context, p *producer.Producer) error {
			return o.followTasks(ctx, agent, p, cmd.InOrStdin())
		})
}

func firstOf(name, other string) string {
	if name = words.OneLine(aaep.SafeText(name)); name != "" {
		return name
	}
	return other
}

// followTasks follows the tasks that are asked for, until all of them have ended.
func (o *a2aOptions) followTasks(ctx context.Context, agent *a2a.Agent, p *producer.Producer, in io.Reader) error {
	if o.records != "" {
		err := agent.FollowRecords(ctx, p, a2a.RecordConfig{Prefix: strings.TrimPrefix(o.records, "/"),
			Approval: o.approval})
		return exitWith(exitFailed, errors.New(strings.TrimPrefix(err.Error(), "a2a: ")))
	}
	f := &remoteTasks{agent: agent, status: &o.status, open: map[*a2a.Task]bool{}}
	resumed, err := agent.Resume(ctx, p)
	if err != nil {
		return exitWith(exitFailed, errors.New(plainError(err)))
	}
	again := map[string]bool{}
	for _, task := range resumed {
		again[task.ID()] = true
		f.taskStarter(ctx)(task, nil)
	}
	for _, id := range o.tasks {
		if again[id] {
			continue
		}
		if err := f.taskStarter(ctx)(agent.Follow(ctx, p, id)); err != nil {
			return exitWith(exitFailed, errors.New(plainError(err)))
		}
	}
	if o.send != "" {
		if err := f.taskStarter(ctx)(agent.Send(ctx, p, o.send)); err != nil {
			return exitWith(exitFailed, errors.New(plainError(err)))
		}
	}
	if o.send != "" || len(o.tasks) > 0 {
		f.running.Wait()
		return f.failed
	}
	o.status.printLabelled("aaep", "Type a message and press Enter. /stop cancels what the agent does.")
	defer f.running.Wait()
	for lines := linesOf(ctx, in); ; {
		select {
		case line, ok := <-lines:
			switch {
			case !ok:
				return nil
			case strings.TrimSpace(line) == "/stop":
				f.cancelAll(ctx)
			case strings.HasPrefix(line, "/"):
				o.status.printLabelled("aaep", aaep.SafeText(line)+" is no command, and was not sent. /stop cancels what the agent does; to send a line that begins with a slash, put a space before it.")
			case strings.TrimSpace(line) != "":
				if err := f.taskStarter(ctx)(agent.Send(ctx, p, strings.TrimSpace(line))); err != nil {
					o.status.printLabelled("aaep", "The message was not sent: "+words.Sentence(plainError(err)))
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// remoteTasks are the tasks of a remote agent that are followed.
type remoteTasks struct {
	agent   *a2a.Agent
	status  *announcer
	running sync.WaitGroup
	mu      sync.Mutex
	open    map[*a2a.Task]bool
	failed  error // one of them did not reach its aim, which was said
}

// taskStarter returns a function that takes over a task that begins, or the error why it does not.
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
				r.status.printLabelled("aaep",
					strings.TrimSpace("The task "+words.OneLine(aaep.SafeText(task.ID())))+" did not reach its aim: "+words.Sentence(strings.TrimPrefix(err.Error(), "a2a: ")))
				r.failed = exitWith(exitFailed, errors.New(""))
			}
		})
		return nil
	}
}

// cancelAll cancels all of them.
func (r *remoteTasks) cancelAll(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for task := range r.open {
		r.running.Go(func() {
			if err := task.Cancel(ctx); err != nil {
				r.status.printLabelled("aaep",
					"It was not cancelled: "+words.Sentence(strings.TrimPrefix(err.Error(), "a2a: ")))
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

// wakeOptions are what the flags of "bridge wake" say.
type wakeOptions struct {
	bridgeFlags
	keys, seen, identity string
	only                 []string
	window               time.Duration
	server               wake.Server
	token                string
}

func bridgeWakeCommand() *cobra.Command {
	o := &wakeOptions{}
	cmd := &cobra.Command{
		Use:   "wake [flags]",
		Short: "Hear what wakes the agents of a Neo swarm",
		Long: `wake takes the wake messages of a Neo agent swarm: messages to an identity, changes of its tasks, permissions, and digests
of those. Whoever listens hears the first at once, and what follows within --window as one digest; a task that waits for
somebody is told at once. A digest that counts nothing, as of a heartbeat, is not told.

With --keys wakes are taken as the swarm's webhook delivery posts them. They are signed: the file holds the key that the swarm
gave out for each subscription. With --server the swarm's memory server is followed, which speaks the Model Context Protocol:
its notifications are taken, and what came while the link was cut. Both may be given.

Wake has no way to answer: what waits for an answer is told with who waits.`,
		Example: `  aaep bridge wake --keys keys.txt --hook 127.0.0.1:9090
  aaep bridge wake --server https://swarm.example/mcp --token-file token.txt
  aaep bridge wake --keys keys.txt --identity @ada --only task_state_changed --window 150s --seen seen.db`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = o.runWake
	o.addFlags(cmd, "Swarm")
	f := cmd.Flags()
	f.StringVar(&o.hookAt, "hook", "127.0.0.1:9090", "take wakes at this `ADDRESS` of this machine")
	f.StringVar(&o.keys, "keys", "", "the signing keys: on each line of this `FILE` a subscription's id, a space, its key")
	f.StringVar(&o.server.URL, "server", "", "follow the swarm's memory server at this `URL`")
	f.StringVar(&o.token, "token-file", "", "show that server the bearer token in this `FILE`")
	f.StringArrayVar(&o.server.Subscriptions, "subscription", nil,
		"follow the subscription with this `ID` there; may be repeated (default all that are sent by notifications)")
	f.DurationVar(&o.server.Poll, "poll", 30*time.Second,
		"ask that server every `TIME` for what its notifications did not bring; 0 never does")
	f.StringVar(&o.identity, "identity", "", "take only the wakes of this `IDENTITY`, such as @ada")
	f.StringSliceVar(&o.only, "only", nil, "tell only these `KINDS`: sent_to_me, task_state_changed, permission_granted")
	f.DurationVar(&o.window, "window", 30*time.Second,
		"what follows a wake for this `TIME` is one digest, up to 5m; 0 tells each at once")
	f.StringVar(&o.seen, "seen", "", "remember in this `FILE` what was told, so that nothing is told again after a restart")
	return cmd
}

func (o *wakeOptions) runWake(cmd *cobra.Command, _ []string) (err error) {
	const see = "\nSee: aaep bridge wake --help"
	switch {
	case o.keys == "" && o.server.URL == "":
		return usageError("--keys or --server is missing: a wake counts only if it is signed, or comes from a server that you name." + see)
	case o.server.URL == "" && (o.token != "" || len(o.server.Subscriptions) > 0):
		return usageError("--token-file and --subscription are of a server: name it with --server." + see)
	case o.server.Poll < 0 || o.server.Poll > 0 && o.server.Poll < time.Second:
		return usageError("--poll must be 0, or a second at least; it is %v."+see, o.server.Poll)
	}
	if at, err := url.Parse(o.server.URL); o.server.URL != "" && (err != nil || at.Host == "") {
		return usageError("%q is not the address of a server, such as https://swarm.example/mcp."+see, o.server.URL)
	}
	cfg := wake.Config{Identity: o.identity, Only: o.only, Window: o.window, Seen: o.seen,
		Logger: logTo(cmd.ErrOrStderr())}
	if o.server.Token, err = readToken(o.token); err != nil {
		return err
	}
	o.status.out = cmd.ErrOrStderr()
	var hook net.Listener
	if o.keys != "" {
		if cfg.Keys, err = wake.ReadKeys(o.keys); err != nil {
			return cannotTake("--keys", errors.New(strings.TrimPrefix(err.Error(), "wake: ")))
		}
		if hook, err = o.openHook(cmd.Context()); err != nil {
			return err
		}
		defer hook.Close()
	}
	var bridge *wake.Bridge
	begin := func(p *producer.Producer) (_ http.Handler, err error) {
		if bridge, err = wake.New(p, cfg); err != nil {
			return nil, cannotTake("--window or --seen", errors.New(strings.TrimPrefix(plainError(err), "wake: ")))
		}
		return bridge, nil
	}
	return o.bridgeFlags.serveBridge(cmd, firstOf(o.name, "Swarm"), hook, begin,
		func(ctx context.Context, _ *producer.Producer) (err error) {
			if o.server.URL != "" {
				err = bridge.Follow(ctx, o.server)
			} else {
				<-ctx.Done()
			}
			closed := bridge.Close()
			if ctx.Err() == nil {
				return exitWith(exitUnreachable, errors.New(strings.TrimPrefix(err.Error(), "wake: ")))
			}
			return closed
		})
}
