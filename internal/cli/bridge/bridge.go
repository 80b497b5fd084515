// Package bridge is the commands that stand between programs of others and AAEP: acp, hook, agui,
// tap and bridge with a2a, akashik, mcp, rap and wake, a file for each. What passes is translated
// by the packages under bridges; here are flags with their defaults, processes and addresses. Begin
// with the command's file.
//
// Acp has package acp for what its person types, and hook has package hook for its server and
// the settings of agents.
//
// What the bridges share is in bridge.go and served_agent.go, programs that a bridge stands between
// are in between.go, and an address that only programs of this machine reach is opened in
// programs.go.
package bridge

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/auth"
)

// BridgeCommand makes "aaep bridge", with a command for each protocol.
func BridgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Make an agent of another protocol accessible",
		Long: `bridge follows what agents of other protocols do, and serves it to assistive technology: "aaep listen" hears it, and
answers what it asks. Nothing is followed but what the command names.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(bridgeA2ACommand(), bridgeAkashikCommand(), bridgeMCPCommand(), bridgeRAPCommand(),
		bridgeWakeCommand())
	return cmd
}

// bridgeFlags are what the commands of "bridge" share.
type bridgeFlags struct {
	servedAgent
	name    string
	hookAt  string // where messages of the other system are taken; empty is none
	hookURL string // how that system reaches it
	wait    bool
	status  lineio.Printer
	cfg     producer.Config // what else the agent is
}

// addFlags adds the flags that all bridges have; nameSource says in their help where the name comes
// from without --name.
func (b *bridgeFlags) addFlags(cmd *cobra.Command, nameSource string) {
	f := cmd.Flags()
	f.StringVar(&b.name, "name", "", "the agent's name (default is "+nameSource+")")
	f.BoolVar(&b.wait, "wait", false, "wait for somebody to listen before starting")
	b.servedAgent.addFlags(cmd)
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

// readToken reads the bearer token in the file of --token-file; without a file it is "". The error
// names the flag.
func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	header, err := auth.BearerFile(file)(context.Background())
	if err != nil {
		return "", exits.CannotTake("--token-file", err)
	}
	return strings.TrimPrefix(header.Get("Authorization"), "Bearer "), nil
}

// serveBridge serves an agent, calls begin once it is served, and then work, which returns when
// there is nothing more to follow. begin may be nil; the handler that it returns takes the messages
// that come to hook, and both are nil where none come. It returns when work does, or the command is
// told to end, and all listeners have heard the end.
func (b *bridgeFlags) serveBridge(cmd *cobra.Command, name string, hook net.Listener,
	begin func(*producer.Producer) (http.Handler, error),
	work func(context.Context, *producer.Producer) error) (err error) {
	ctx, stop := exits.WithServiceStop(cmd.Context(), b.status.PrintLabelled)
	defer stop()
	cfg := b.cfg
	cfg.Admit = b.where.RightsOf(&b.status)
	p, served, end, err := b.serveAgent(ctx, cmd, name, cfg, &b.status)
	if err != nil {
		return err
	}
	defer end(&err)
	defer func() { <-served }()
	defer serving.DrainListeners(ctx, p, serving.DrainTime, &b.status)
	var take http.Handler
	if begin != nil {
		if take, err = begin(p); err != nil {
			return err
		}
	}
	if hook != nil {
		defer b.takeMessages(hook, take).Close()
	}
	if b.wait {
		b.status.PrintLabelled("aaep", "Waiting for somebody to listen.")
		if err := p.WaitSubscriber(ctx); err != nil {
			return exits.StopError(ctx)
		}
	}
	if err = work(ctx, p); ctx.Err() != nil {
		return exits.StopError(ctx)
	}
	return err
}

// takeMessages has take handle what comes to hook, until the returned server is closed, and prints
// the address.
func (b *bridgeFlags) takeMessages(hook net.Listener, take http.Handler) *http.Server {
	server := &http.Server{Handler: httpguard.WithDeadlines(take), ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes: 16 << 10}
	httpguard.BoundIdle(server)
	go server.Serve(hook)
	b.status.PrintLabelled("aaep", "Messages for it are taken at "+b.hookURL)
	return server
}

// firstOf returns a name that another system gave, in one line, or other where it is empty.
func firstOf(name, other string) string {
	if name = words.OneLine(aaep.SafeText(name)); name != "" {
		return name
	}
	return other
}
