package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/stdio"
)

// childAgent is a program that listen starts. It keeps the link, which knows how the program ended.
type childAgent struct {
	stdio.Dialer
	conn transports.Conn
}

func (s *childAgent) Dial(ctx context.Context) (transports.Conn, error) {
	conn, err := s.Dialer.Dial(ctx)
	if err == nil {
		s.conn = conn
	}
	return conn, err
}

// listenToChild follows the agent that a command starts.
func (l *listener) listenToChild(ctx context.Context, how *reachFlags, command string, wanted aaep.Capabilities,
	talk io.Writer) (err error) {
	if err := how.checkChild(); err != nil {
		return err
	}
	f := &followedAgent{listener: l, wanted: wanted}
	if f.trust, err = how.readTrust(""); err != nil {
		return err
	}
	return f.listenTo(ctx, command, talk)
}

// listenTo starts an agent and follows it until one of the two ends.
func (f *followedAgent) listenTo(ctx context.Context, command string, stderr io.Writer) error {
	args, err := splitWords(command)
	if err != nil {
		return usageError("--exec %s.\nSee: aaep listen --help", err)
	}
	agent := &childAgent{Dialer: stdio.Dialer{Command: func() *exec.Cmd {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stderr, cmd.Env = stderr, agentEnvironment()
		return cmd
	}}}
	// Reaching the agent again would start it again, and do again what it has done.
	sub, err := subscriber.Dial(ctx, agent, f.subscriberConfig(true))
	if err != nil {
		return agent.notFollowed(ctx, args[0], err, f.wanted.Languages)
	}
	f.sub = sub
	err = f.followAgents(ctx, f)
	left := ctx.Err() != nil || f.isUnread()
	sub.Close()
	if left {
		return err
	}
	if how := howEnded(agent.conn.Close()); how != "" {
		return exitWith(exitFailed, errors.New("the agent "+how))
	}
	if end, _ := sub.Status(); errors.Is(end.Err, aaep.ProducerShutdown) || errors.Is(end.Err, subscriber.ErrEnded) ||
		err == nil {
		f.informPerson(f.phraseText(phrase.AgentHasEnded, ""))
		return nil
	}
	return err
}

// notFollowed says why an agent that was to be started is not followed.
func (s *childAgent) notFollowed(ctx context.Context, program string, err error, languages []string) error {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	if ctx.Err() != nil || errors.As(err, &invalid) {
		return dialError(ctx, program, err)
	}
	if s.conn == nil {
		return exitWith(exitUnreachable, fmt.Errorf("cannot run %q: %s.\nCheck its name, or give its whole path",
			program, explainStart(err)))
	}
	how := howEnded(s.conn.Close())
	switch {
	case errors.Is(err, aaep.CapabilitiesIncompatible):
		return exitWith(exitFailed, fmt.Errorf("the agent %s cannot be followed: %s\n%s", program,
			words.Sentence(plainError(err)), otherTerms(err, languages)))
	case errors.As(err, &refused):
		return exitWith(exitFailed, fmt.Errorf("the agent %s cannot be followed: %s", program,
			words.Sentence(plainError(err))))
	case how != "" && !errors.Is(err, context.DeadlineExceeded):
		return exitWith(exitUnreachable, fmt.Errorf("the agent %s", how))
	case errors.Is(err, context.DeadlineExceeded): // "go run" builds first
		return exitWith(exitUnreachable, fmt.Errorf("%s has said nothing so far.\nIf it was still being built or loaded, try again; else make any program an agent: aaep listen --exec \"aaep run --stdio -- %s\"", program, program))
	}
	return exitWith(exitUnreachable, fmt.Errorf("%s does not speak AAEP on its standard output.\nStart it so that it does, or make any program an agent: aaep listen --exec \"aaep run --stdio -- %s\"", program, program))
}

// howEnded says how a program ended that failed, or nothing.
func howEnded(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return "was ended by a signal: " + status.Signal().String()
	}
	return fmt.Sprintf("ended with exit code %d", exit.ExitCode())
}

// splitWords splits a command into its words, without a shell: spaces part them, and what is
// between two single or two double quotes is kept as it is. Nothing else means anything, so that a
// path of Windows does too.
func splitWords(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("has a quote %c that does not end", quote)
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("names no program")
	}
	return words, nil
}

// stdioMisused reports what keeps run from serving on its own standard streams.
func stdioMisused(in io.Reader, out io.Writer, program []string, elsewhere bool) error {
	person := false
	for _, s := range []any{in, out} {
		f, ok := s.(*os.File)
		person = person || ok && term.IsTerminal(int(f.Fd()))
	}
	switch {
	case elsewhere:
		return usageError("--stdio and --listen are two places to serve; give one of them.\nSee: aaep run --help")
	case len(program) == 0:
		return usageError("--stdio needs a program: name it after --.\nSee: aaep run --help")
	case person:
		return usageError("--stdio speaks with the program that started it, and that is you.\nTry: aaep listen --exec \"aaep run --stdio -- %s\"", program[0])
	}
	return nil
}

// serveParent serves p to the parent of this program, on its standard streams. The context ends
// when that one leaves.
func serveParent(ctx context.Context, p *producer.Producer) (context.Context, <-chan error, error) {
	l, err := stdio.Listen(nil)
	if err != nil {
		return ctx, nil, exitWith(exitFailed, fmt.Errorf("cannot serve on standard output: %s", innermostError(err)))
	}
	p.AddEndpoint(manifest.Stdio, manifest.Endpoint{})
	ctx, leave := context.WithCancelCause(ctx)
	served := make(chan error, 1)
	go func() {
		err := p.Serve(context.WithoutCancel(ctx), l)
		leave(signalled{syscall.SIGTERM})
		served <- err
	}()
	return ctx, served, nil
}
