package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/check"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/input"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// ReplayCommand makes "aaep replay"; runReplay does its work.
func ReplayCommand() *cobra.Command {
	r := &replayer{}
	var addr string
	cmd := &cobra.Command{
		Use:   "replay FILE | -",
		Short: "Play a recording again, as the agent that it was recorded from",
		Long: `replay serves the events of a recording at the pace at which they were said. Each listener gets them at its own rate
and boundaries. Sessions, events and times are new ones; what was said stays. Questions are heard again, but they
were answered long ago: a reply has no effect.`,
		Example: `  aaep replay session.jsonl --listen 127.0.0.1:8080
  aaep replay session.jsonl --speed 4 --loop`,
		Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.speed <= 0 {
				return exits.With(exits.Usage, errors.New("--speed must be above 0; 1 is as it was, 2 twice as fast"))
			}
			if r.loop && args[0] == "-" {
				return exits.With(exits.Usage, errors.New("--loop needs a file; standard input can be read only once"))
			}
			r.status = lineio.Printer{Out: cmd.ErrOrStderr()}
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			return r.runReplay(ctx, args[0], addr, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "listen", "127.0.0.1:8080", "where to serve; it must be a loopback address")
	f.Float64Var(&r.speed, "speed", 1, "how many times as fast as it was")
	f.BoolVar(&r.loop, "loop", false, "begin again at the end")
	f.BoolVar(&r.wait, "wait", false, "wait for somebody to listen before starting")
	return cmd
}

type replayer struct {
	speed      float64
	loop, wait bool
	status     lineio.Printer
}

// runReplay does the work of "aaep replay": it serves a recording as if its agent spoke now, once
// or, with --loop, until ctx is done. The error has the exit code: for a recording without events,
// an address of other machines, or an interruption.
func (r *replayer) runReplay(ctx context.Context, name, addr string, stdin io.Reader) error {
	agent, err := r.firstProducer(ctx, name)
	if err != nil {
		return err
	}
	p, err := producer.New(producer.Config{Agent: agent, AnyLanguage: true})
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	if address, err := net.ResolveTCPAddr("tcp", addr); err == nil && !address.IP.IsLoopback() {
		return exits.UsageError("--listen %q could be reached from other machines, and a recording is played on this one only.\nUse one such as 127.0.0.1:8080, or 127.0.0.1:0 for any free port.", addr)
	}
	srv := new(serve.Server)
	ln, err := serving.ListenChecked(ctx, addr, srv)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.WithoutCancel(ctx), ln, p) }()
	defer func() {
		serving.DrainListeners(ctx, p, serving.DrainLong, &r.status)
		<-served
	}()
	r.status.PrintLabelled("aaep", fmt.Sprintf("Playing %s. Follow it with: aaep listen http://%s", name, ln.Addr()))
	if r.wait {
		r.status.PrintLabelled("aaep", "Waiting for somebody to listen.")
		if err := p.WaitSubscriber(ctx); err != nil {
			return exits.With(exits.Interrupted, errors.New("interrupted"))
		}
	}
	for {
		played, err := r.playRecording(ctx, p, name, stdin)
		switch {
		case ctx.Err() != nil:
			return exits.With(exits.Interrupted, errors.New("interrupted"))
		case err != nil:
			return exits.With(exits.Failed, err)
		case played == 0:
			return exits.With(exits.Failed, fmt.Errorf("%s holds no event", name))
		case !r.loop:
			return nil
		}
	}
}

// firstProducer returns the producer of a recording's first event. Standard input cannot be read
// twice: its producer is "replay". A recording that cannot be opened, or has no event, is an error.
func (r *replayer) firstProducer(ctx context.Context, name string) (aaep.Agent, error) {
	if name == "-" {
		return aaep.Agent{AgentID: "replay"}, nil
	}
	in, _, err := input.Open(ctx, name, nil, nil)
	if err != nil {
		return aaep.Agent{}, exits.With(exits.Unreachable, err)
	}
	defer in.Close()
	for _, data := range check.Messages(in, &err) {
		if m, err := aaep.Decode(data); err == nil {
			if ev, ok := m.(*aaep.Event); ok {
				return ev.Producer, nil
			}
		}
	}
	return aaep.Agent{}, exits.With(exits.Failed,
		fmt.Errorf("%s holds no event; record one with: aaep capture URL", name))
}

// playRecording appends the events of the recording in their own time, in sessions with new ids,
// and returns how many there were. What is no event is left out, and so, with a word to the person,
// is what cannot be read, or not be sent again. The error is that of ctx, or of reading.
func (r *replayer) playRecording(ctx context.Context, p *producer.Producer, name string,
	stdin io.Reader) (played int, err error) {
	in, _, err := input.Open(ctx, name, nil, stdin)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var first, began time.Time
	sessions := map[string]string{} // by the recorded id
	var broken error
	for line, data := range check.Messages(in, &broken) {
		m, err := aaep.Decode(data)
		ev, ok := m.(*aaep.Event)
		if err != nil {
			r.status.PrintLabelled("aaep", fmt.Sprintf("%s:%d is left out: %v", name, line, err))
			continue
		}
		if !ok { // what was said about the subscription that recorded it
			continue
		}
		if first.IsZero() {
			first, began = ev.Timestamp, time.Now()
		}
		due := began.Add(time.Duration(float64(ev.Timestamp.Sub(first)) / r.speed))
		if err := sleepUntil(ctx, due); err != nil {
			return played, err
		}
		if sessions[ev.SessionID] == "" {
			sessions[ev.SessionID] = newSessionID()
		}
		sent := *ev
		sent.SessionID = sessions[ev.SessionID]
		if name == "-" {
			sent.Producer = aaep.Agent{AgentID: "replay"}
		}
		makeSendable(&sent)
		if err := p.Republish(&sent); err != nil {
			r.status.PrintLabelled("aaep", fmt.Sprintf("%s:%d is left out: %v", name, line, err))
			continue
		}
		played++
		if ev.Type().Terminal() {
			delete(sessions, ev.SessionID)
		}
	}
	return played, broken
}

// makeSendable changes what was read liberally to what may be sent, as the subscribers of the
// recorded agent received it too.
func makeSendable(ev *aaep.Event) {
	ev.Unknown = nil
	switch p := ev.Payload.(type) {
	case *aaep.OutputStreaming:
		ev.Summary = aaep.Text{}
		return
	case *aaep.AwaitingConfirmation:
		if p.IsIrreversible() { // as either of the two says (D-21)
			copied := *p
			copied.Irreversible, copied.Reversibility, ev.Payload = nil, aaep.Irreversible, &copied
		}
	}
	if ev.Summary.Normal == "" {
		ev.Summary.Normal = ev.Text(aaep.VerbosityNormal)
	}
}

// sleepUntil sleeps until due, which may be past, or returns ctx's error if that is done first.
func sleepUntil(ctx context.Context, due time.Time) error {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newSessionID returns a random session id.
func newSessionID() string {
	var b [16]byte
	rand.Read(b[:])
	return "sess_" + hex.EncodeToString(b[:])
}
