package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/stdio"
)

// childAgent is a program that listen starts. It keeps the link, which knows how the program ended.
type childAgent struct {
	stdio.Dialer
	conn transports.Conn
}

// Dial starts the program, and keeps the connection to say later how it ended.
func (s *childAgent) Dial(ctx context.Context) (transports.Conn, error) {
	conn, err := s.Dialer.Dial(ctx)
	if err == nil {
		s.conn = conn
	}
	return conn, err
}

// listenToChild starts the agent of --exec and follows it, for runListen. talk is where its
// standard error goes. The flags in route that are about a link to elsewhere are refused.
func (l *Listener) listenToChild(ctx context.Context, route *reach.Flags, command string, wanted aaep.Capabilities,
	talk io.Writer) (err error) {
	if err := route.CheckChild(); err != nil {
		return err
	}
	f := &FollowedAgent{Listener: l, wanted: wanted}
	if f.trust, err = route.ReadTrust(""); err != nil {
		return err
	}
	return f.listenTo(ctx, command, talk)
}

// listenTo starts an agent with a command line, and follows it until one of the two ends. The error
// is nil where the person, or the agent, ended as it should; else it says how the agent ended, or
// that the command is no command line. An agent that ended is not started again.
func (f *FollowedAgent) listenTo(ctx context.Context, command string, stderr io.Writer) error {
	args, err := subprocess.SplitWords(command)
	if err != nil {
		return exits.UsageError("--exec %s.\nSee: aaep listen --help", err)
	}
	agent := &childAgent{Dialer: stdio.Dialer{Command: func() *exec.Cmd {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stderr, cmd.Env = stderr, subprocess.Environment()
		return cmd
	}}}
	// Reaching the agent again would start it again, and do again what it has done.
	sub, err := subscriber.Dial(ctx, agent, f.subscriberConfig(true))
	if err != nil {
		return agent.notFollowed(ctx, args[0], err, f.wanted.Languages)
	}
	f.sub = sub
	err = f.followAgents(ctx, f)
	left := ctx.Err() != nil || f.IsUnread()
	sub.Close()
	if left {
		return err
	}
	if ending := subprocess.HowEnded(agent.conn.Close()); ending != "" {
		return exits.With(exits.Failed, errors.New("the agent "+ending))
	}
	if end, _ := sub.Status(); errors.Is(end.Err, aaep.ProducerShutdown) || errors.Is(end.Err, subscriber.ErrEnded) ||
		err == nil {
		f.informPerson(f.PhraseText(phrase.AgentHasEnded, ""))
		return nil
	}
	return err
}

// notFollowed returns the error that says why an agent that was to be started is not followed: it
// could not be run, ended, refused, said nothing, or does not speak AAEP. It ends the agent's
// process.
func (s *childAgent) notFollowed(ctx context.Context, program string, err error, languages []string) error {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	if ctx.Err() != nil || errors.As(err, &invalid) {
		return reach.DialError(ctx, program, err)
	}
	if s.conn == nil {
		return exits.With(exits.Unreachable, errors.New(subprocess.CannotStart(program, err)))
	}
	ending := subprocess.HowEnded(s.conn.Close())
	switch {
	case errors.Is(err, aaep.CapabilitiesIncompatible):
		return exits.With(exits.Failed, fmt.Errorf("the agent %s cannot be followed: %s\n%s", program,
			words.Sentence(exits.PlainError(err)), reach.OtherTerms(err, languages)))
	case errors.As(err, &refused):
		return exits.With(exits.Failed, fmt.Errorf("the agent %s cannot be followed: %s", program,
			words.Sentence(exits.PlainError(err))))
	case ending != "" && !errors.Is(err, context.DeadlineExceeded):
		return exits.With(exits.Unreachable, fmt.Errorf("the agent %s", ending))
	case errors.Is(err, context.DeadlineExceeded): // "go run" builds first
		return exits.With(exits.Unreachable, fmt.Errorf("%s has said nothing so far.\nIf it was still being built or loaded, try again; else make any program an agent: aaep listen --exec \"aaep run --stdio -- %s\"", program, program))
	}
	return exits.With(exits.Unreachable, fmt.Errorf("%s does not speak AAEP on its standard output.\nStart it so that it does, or make any program an agent: aaep listen --exec \"aaep run --stdio -- %s\"", program, program))
}
