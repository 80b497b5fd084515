package bridge

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// servedAgent is where the agent of a command is served, and where it is put on record what is
// asked of its listeners.
type servedAgent struct {
	where *serving.Flags
	trail string // the name of the file; empty is none
}

// addFlags adds the flags about that.
func (a *servedAgent) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.trail, "audit", "", "put on record in this `FILE` what is asked and answered")
	a.where = serving.AddFlags(cmd)
}

// serveAgent makes the producer of an agent, and serves it at the addresses of --listen, if there
// are any. served is closed when nothing is served any more, and at once where there are none. end
// closes the trail, if there is one, and has to be called last; it adds its error to the one it
// gets.
func (a *servedAgent) serveAgent(ctx context.Context, cmd *cobra.Command, name string, cfg producer.Config,
	status *lineio.Printer) (p *producer.Producer, served <-chan error, end func(*error), err error) {
	talk := cmd.ErrOrStderr()
	cfg.Observer, cfg.MaxSubscriptions = a.where.Seen, serving.MaxBesideAgent
	cfg.Logger = a.where.ConnectionLog(talk, cmp.Or(cfg.Logger, lineio.ErrorsTo(talk)))
	if cfg.Signers, err = a.where.ReadSigners(talk); err != nil {
		return nil, nil, nil, err
	}
	end = func(*error) {}
	if a.trail != "" {
		trail, err := serving.OpenTrail(a.trail)
		if err != nil {
			return nil, nil, nil, err
		}
		cfg.Audit = trail
		end = func(err *error) { serving.CloseTrail(trail, a.trail, err) }
	}
	begin := func() (*producer.Producer, error) { p, err = serving.NewProducer(name, cfg); return p, err }
	if len(a.where.Addrs) == 0 {
		never := make(chan error)
		close(never)
		served = never
		_, err = begin()
	} else {
		var invitations []serving.Invitation
		if invitations, served, err = a.where.ServeEverywhere(ctx, begin, talk); err == nil {
			serving.PrintInvitations(status, name, "", invitations)
			serving.NotifyReady()
		}
	}
	if err != nil {
		end(new(error))
		return nil, nil, nil, err
	}
	return p, served, end, nil
}

// ownLink is the link of the person at the keyboard to the agent that runs in this program.
type ownLink struct {
	p         *producer.Producer
	principal string
}

// Dial connects to the producer within this program, as the principal of the link.
func (o *ownLink) Dial(ctx context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go o.p.ServeConn(ownConn{ours, o.principal})
	return theirs, ctx.Err()
}

// admitOwnLink returns the function for producer.Config.Admit that lets the person at this program
// answer, and asks others about all other peers. Where others is nil, everyone may answer, and it
// returns nil.
func (o *ownLink) admitOwnLink(others func(string, *aaep.SubscriptionRequest) (producer.Rights, error)) func(string,
	*aaep.SubscriptionRequest) (producer.Rights, error) {
	if others == nil {
		return nil
	}
	return func(principal string, req *aaep.SubscriptionRequest) (producer.Rights, error) {
		if principal == o.principal {
			return producer.Rights{Reply: true}, nil
		}
		return others(principal, req)
	}
}

type ownConn struct {
	transports.Conn
	principal string
}

func (c ownConn) Principal() string { return c.principal }
