// Package serving is what the commands share that serve an agent to listeners: where and to whom
// (serve_flags.go), who may answer (rights.go), what a person is told to type to follow it
// (invite.go), and letting listeners hear the end (drain.go). Begin with AddFlags and
// Flags.ServeEverywhere. What the agent does is the business of the command.
//
// What the log says of listeners and of questions is in operator_log.go, the trail of --audit is
// opened in trail.go, metrics are served in metrics.go, NATS is reached in cluster_flags.go, and
// systemd is told in systemd.go that listeners are served.
package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/metrics"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/subscriber/web"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/auth/oidc"
	"github.com/aaep-go/aaep/transports/ipc"
)

// Flags is where an agent is served, and to whom.
type Flags struct {
	Addrs               []string
	cert, key, clientCA string
	tokens              string
	issuer, audience    string
	hosts, Origins      []string
	proxies             []string // addresses that may say who comes
	below               string   // the name in their path; empty is none
	answer              []string // principals who may; empty is everybody
	root, Web           bool
	sign                string
	Seen                *metrics.RequestCounts // what --metrics counts besides
	lookAtFiles         []func()               // each looks whether a file has changed, and logs what is wrong with it
}

// AddFlags adds to a command the flags of the commands that serve an agent. The result has their
// values once the command runs.
func AddFlags(cmd *cobra.Command) *Flags {
	s := &Flags{Seen: metrics.NewRequestCounts()}
	f := cmd.Flags()
	f.StringArrayVar(&s.Addrs, "listen", []string{"127.0.0.1:8080"},
		"where to serve: `ADDRESS` or "+reach.LocalScheme+"NAME; may be repeated")
	f.StringVar(&s.cert, "tls-cert", "", "the certificate to serve with, a PEM `FILE`; read again when it changes")
	f.StringVar(&s.key, "tls-key", "", "its key, a PEM `FILE`")
	f.StringVar(&s.clientCA, "client-ca", "", "know listeners by certificates of the CAs in this PEM `FILE`")
	f.StringVar(&s.tokens, "tokens", "", "know listeners by tokens: on each line of this `FILE` a name, a space, a token")
	f.StringVar(&s.issuer, "oidc-issuer", "", "know listeners by tokens of the OpenID Connect issuer at this `URL`")
	f.StringVar(&s.audience, "oidc-audience", "", "the `NAME` that the issuer knows this agent by")
	f.StringSliceVar(&s.answer, "may-answer", nil,
		"only these `NAMES` may answer, the others listen (default everybody)")
	f.StringSliceVar(&s.hosts, "host", nil, "the `NAMES` this agent is reached under, and /PATH (default those in the certificate)")
	f.StringSliceVar(&s.Origins, "origin", nil,
		"web pages of these `ORIGINS` may connect, such as https://reader.example")
	f.StringSliceVar(&s.proxies, "trusted-proxy", nil,
		"believe proxies at `ADDRESSES`, such as 127.0.0.1 or 10.1.0.0/16, who comes through")
	f.StringVar(&s.sign, "sign", "", "prove who the agent is with the first key in this `FILE`; all of them are published")
	f.BoolVar(&s.Web, "web", false, "also serve a page that follows the agent in a browser, at /")
	f.BoolVar(&s.root, "root-layout", false, "also serve clients on this machine that know no handshake, at /events and /messages")
	return s
}

// ReadSigners reads the keys of --sign and returns the function that returns the signers that hold
// now, for Config.Signers; nil where the flag is not given. What goes wrong later is logged to
// talk.
func (s *Flags) ReadSigners(talk io.Writer) (func() []*manifest.Signer, error) {
	if s.sign == "" {
		return nil, nil
	}
	signers, err := manifest.SignerFiles(manifest.SignerOptions{Lifetime: 24 * time.Hour}, lineio.LogTo(talk), s.sign)
	if err != nil {
		return nil, exits.CannotTake("--sign", err)
	}
	return signers, nil
}

// findPath finds the path that the agent is below, in --host agent.example/planner, sets s.below
// and leaves the names in s.hosts. All names must have the same path; the error says what would be
// right.
func (s *Flags) findPath() error {
	for i, host := range s.hosts {
		name, path, _ := strings.Cut(host, "/")
		if strings.Contains(host, "://") {
			name, path = host, "" // which is told below
		}
		if i > 0 && path != s.below {
			return exits.UsageError("--host has two paths, and this agent is at one place.\nGive all names the same one: --host %s/%s,%s/%s", s.hosts[0], s.below, name, s.below)
		}
		if canonical, err := serve.Path(path); path != "" && (err != nil || canonical != "/"+path) {
			return exits.UsageError("--host %q has a path that an agent cannot be below: it has one part, of letters, digits, \".\", \"_\" and \"-\".", host)
		}
		s.hosts[i], s.below = name, path
	}
	if s.below == "" {
		return nil
	}
	switch {
	case s.Web:
		return exits.UsageError("--web is for an agent that has a name to itself, and this one is below /%s.\nSee: aaep run --help", s.below)
	case s.root:
		return exits.UsageError("--root-layout is for an agent that has a name to itself, and this one is below /%s.\nSee: aaep run --help", s.below)
	}
	return nil
}

// newServer makes the server for TCP of the flags: names, proxies, certificates and who may come.
// Nothing is opened. The error is a usage error that names the flag.
func (s *Flags) newServer(ctx context.Context, talk io.Writer) (*serve.Server, error) {
	log := lineio.LogTo(talk)
	if err := s.findPath(); err != nil {
		return nil, err
	}
	if err := (httpguard.Rules{Hosts: s.hosts, Origins: s.Origins}).Validate(); err != nil {
		return nil, exits.UsageError("%w.\nSee: aaep run --help", err)
	}
	proxies, err := httpguard.ParseProxies(s.proxies)
	if err != nil {
		return nil, exits.UsageError("--trusted-proxy: %w.\nSee: aaep run --help", err)
	}
	srv := &serve.Server{Hosts: s.hosts, Origins: s.Origins, TrustedProxies: proxies, Refused: s.Seen.CountRefused,
		Logger: log}
	if s.Web {
		srv.Page = web.Handler()
	}
	if s.root {
		srv.RootLayout = &aaep.Capabilities{SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}
	}
	if srv.TLS, err = s.readTLS(log); err != nil {
		return nil, err
	}
	authenticators, err := s.newAuthenticators(ctx, log)
	if err != nil {
		return nil, err
	}
	if len(authenticators) > 0 {
		srv.Authenticate = s.Seen.CountRefusals(auth.Any(authenticators...))
	}
	if err := s.checkReach(len(authenticators) > 0); err != nil {
		return nil, err
	}
	if err := s.checkAnswer(); err != nil {
		return nil, err
	}
	return srv, nil
}

// readTLS returns the TLS settings of --tls-cert, --tls-key and --client-ca, or nil if none of them
// is given. Their files are read again when they change.
func (s *Flags) readTLS(log *slog.Logger) (*tls.Config, error) {
	if s.cert == "" && s.key == "" && s.clientCA == "" {
		return nil, nil
	}
	if s.cert == "" || s.key == "" {
		return nil, exits.UsageError("--tls-cert and --tls-key belong together, and --client-ca needs both.\nSee: aaep run --help")
	}
	conf, err := auth.ServerTLS(s.cert, s.key, s.clientCA, log)
	if err != nil {
		return nil, exits.CannotTake("--tls-cert, --tls-key or --client-ca", err)
	}
	leaf := conf.Certificates[0].Leaf
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 {
		return nil, exits.UsageError("the certificate %s names no machine in its subjectAltName, so nobody can follow this agent.\nGet one that does. If you make it yourself: openssl req -x509 … -addext subjectAltName=DNS:agent.example", s.cert)
	}
	if len(namesIn(leaf)) == 0 && len(s.hosts) == 0 {
		return nil, exits.UsageError("the certificate %s is for many machines, %s.\nSay with --host under which name this agent is reached.", s.cert, strings.Join(leaf.DNSNames, ", "))
	}
	s.Seen.Certificates = func() (*tls.Config, error) { return conf.GetConfigForClient(nil) }
	s.lookAtFiles = append(s.lookAtFiles, func() { conf.GetConfigForClient(nil) })
	return conf, nil
}

// newAuthenticators returns one authenticator for each way in which the flags let listeners say who
// they are: a certificate, a token of a file, a token of an issuer. None means that all may come.
func (s *Flags) newAuthenticators(ctx context.Context, log *slog.Logger) (all []auth.Authenticator, err error) {
	if s.clientCA != "" {
		all = append(all, auth.ClientCertificate)
	}
	if s.tokens != "" {
		byToken, err := auth.TokenFile(s.tokens, log)
		if err != nil {
			return nil, exits.CannotTake("--tokens", err)
		}
		all = append(all, byToken)
		s.lookAtFiles = append(s.lookAtFiles, func() { byToken(&http.Request{}) }) // which shows no token
	}
	if s.issuer == "" && s.audience == "" {
		return all, nil
	}
	byIssuer, err := s.newIssuerAuthenticator(ctx, log)
	if err != nil {
		return nil, err
	}
	return append(all, byIssuer), nil
}

// newIssuerAuthenticator returns what checks the tokens of --oidc-issuer. It asks the issuer for
// its keys, and says in its error whether that could not be reached, or could not be trusted.
func (s *Flags) newIssuerAuthenticator(ctx context.Context, log *slog.Logger) (auth.Authenticator, error) {
	if s.issuer == "" || s.audience == "" {
		return nil, exits.UsageError("--oidc-issuer and --oidc-audience belong together: a token for somebody else is no token for this agent.\nSee: aaep run --help")
	}
	byIssuer, err := oidc.New(ctx, oidc.Config{Issuer: s.issuer, Audience: s.audience, Logger: log})
	switch {
	case err == nil:
		return byIssuer, nil
	case exits.IsUnproven(err):
		return nil, exits.With(exits.Unreachable,
			fmt.Errorf("cannot take --oidc-issuer: nothing here proves that what answers at %s is the issuer: %s.\nLet this machine trust the CA of its certificate, as by update-ca-certificates", s.issuer, words.OneLine(exits.InnermostError(err))))
	case errors.Is(err, aaep.TransportUnavailable):
		return nil, exits.With(exits.Unreachable, fmt.Errorf("cannot take --oidc-issuer: %s", exits.PlainError(err)))
	}
	return nil, exits.CannotTake("--oidc-issuer", err)
}

// checkReach refuses to serve other machines where listeners are not authenticated. Behind a proxy
// a listener on another machine looks like one on this machine.
func (s *Flags) checkReach(authenticated bool) error {
	behindProxy := slices.ContainsFunc(s.hosts, func(name string) bool { return !OfThisMachine(name) })
	overTCP := slices.ContainsFunc(s.Addrs, func(address string) bool { return !reach.IsLocal(address) })
	switch {
	case s.root && behindProxy:
		return exits.UsageError("--root-layout asks nobody who they are, and through the proxy for --host %s everybody would seem to be on this machine.\nLeave one of them out.", strings.Join(s.hosts, ","))
	case authenticated:
		return nil
	case behindProxy:
		return exits.UsageError("--host %s is how other machines reach this agent, through a proxy, and nobody is asked who they are.\nAdd --tokens, --client-ca or --oidc-issuer.", strings.Join(s.hosts, ","))
	case len(s.answer) > 0 && overTCP:
		return exits.UsageError("--may-answer names listeners, and nobody is asked who they are.\nAdd --tokens, --client-ca or --oidc-issuer.")
	}
	return nil
}

// ServeEverywhere serves what begin returns everywhere until it is shut down, and returns how to
// follow it there. Nothing is served, or begun, unless all can be.
func (s *Flags) ServeEverywhere(ctx context.Context, begin func() (*producer.Producer, error),
	talk io.Writer) (invitations []Invitation, served <-chan error, err error) {
	return s.openWith(ctx, talk, begin, func(ctx context.Context, srv *serve.Server, ln net.Listener,
		p *producer.Producer) error {
		if s.below != "" {
			return srv.ServeAll(ctx, ln, map[string]*producer.Producer{s.below: p})
		}
		return srv.Serve(ctx, ln, p)
	})
}

// OpenAll opens all addresses for several agents, each below its name, and serves them until they
// are shut down. It refuses flags that are for one agent. served is closed when nothing is served
// any more.
func (s *Flags) OpenAll(ctx context.Context, agents map[string]*producer.Producer,
	talk io.Writer) (invitations []Invitation,
	served <-chan error, err error) {
	const one = "%s is for one agent; serve each of them with an aaep serve of its own.\nSee: aaep serve --help"
	switch {
	case slices.ContainsFunc(s.Addrs, reach.IsLocal):
		return nil, nil, exits.UsageError(one, "A socket or a pipe")
	case s.Web:
		return nil, nil, exits.UsageError(one, "--web")
	case s.root:
		return nil, nil, exits.UsageError(one, "--root-layout")
	case slices.ContainsFunc(s.hosts, func(host string) bool { return strings.Contains(host, "/") }):
		return nil, nil, exits.UsageError("Several agents are each below their name already; leave the path out of --host %s.", strings.Join(s.hosts, ","))
	}
	for name := range agents {
		if _, err := serve.Path(name); err != nil {
			return nil, nil, exits.UsageError("%s.\nServe it with an aaep serve of its own, and name the others here.",
				exits.PlainError(err))
		}
	}
	noProducer := func() (*producer.Producer, error) { return nil, nil }
	return s.openWith(ctx, talk, noProducer, func(ctx context.Context, srv *serve.Server, ln net.Listener,
		_ *producer.Producer) error {
		return srv.ServeAll(ctx, ln, agents)
	})
}

// openWith opens all addresses, calls begin, which returns the producer, and serves: over TCP by
// overTCP, and locally, where only this user reaches it, by the producer. After an error all is
// closed again. served is closed when nothing is served any more; ctx does not end it.
func (s *Flags) openWith(ctx context.Context, talk io.Writer, begin func() (*producer.Producer, error),
	overTCP func(context.Context, *serve.Server, net.Listener, *producer.Producer) error) (invitations []Invitation,
	served <-chan error, err error) {
	srv, err := s.newServer(ctx, talk)
	if err != nil {
		return nil, nil, err
	}
	var places []place
	defer func() {
		if err != nil {
			for _, at := range places {
				at.listener.Close()
			}
		}
	}()
	for _, addr := range s.Addrs {
		at, err := s.openPlace(ctx, addr, srv, overTCP)
		if err != nil {
			return nil, nil, err
		}
		places = append(places, at)
		invitations = append(invitations, at.invitation)
	}
	p, err := begin()
	if err != nil {
		return nil, nil, err
	}
	for _, at := range places {
		if at.local {
			p.AddEndpoint(discover.LocalTransport, manifest.Endpoint{Address: at.invitation.at, Framing: reach.LocalFraming})
		}
	}
	return invitations, s.servePlaces(context.WithoutCancel(ctx), places, p, &lineio.Printer{Out: talk}), nil
}

// place is an address that is open, and how a producer is served and invited to there.
type place struct {
	listener   io.Closer
	local      bool // a socket or a pipe of this machine
	invitation Invitation
	serve      func(context.Context, *producer.Producer) error
}

// openPlace opens an address, which is a socket or pipe of this machine, served by the producer
// itself, or one of TCP, served by overTCP.
func (s *Flags) openPlace(ctx context.Context, addr string, srv *serve.Server,
	overTCP func(context.Context, *serve.Server, net.Listener, *producer.Producer) error) (place, error) {
	if reach.IsLocal(addr) {
		l, err := listenLocally(addr)
		if err != nil {
			return place{}, err
		}
		return place{l, true, Invitation{command: "aaep listen", at: reach.LocalScheme + l.Addr()},
			func(ctx context.Context, p *producer.Producer) error { return p.Serve(ctx, l) }}, nil
	}
	ln, err := ListenChecked(ctx, addr, srv)
	if err != nil {
		return place{}, err
	}
	return place{ln, false, s.newInvitation(ln.Addr(), srv),
		func(ctx context.Context, p *producer.Producer) error { return overTCP(ctx, srv, ln, p) }}, nil
}

// servePlaces serves p at all places, and looks at the files of the flags meanwhile. It returns a
// channel that is closed when no place is served any more. A place that fails is told to the person
// who started the command, and the others go on.
func (s *Flags) servePlaces(ctx context.Context, places []place, p *producer.Producer,
	status *lineio.Printer) <-chan error {
	var serving sync.WaitGroup
	for _, at := range places {
		serving.Go(func() {
			if err := at.serve(ctx, p); err != nil && !errors.Is(err, producer.ErrClosed) {
				status.PrintLabelled("aaep", "Nobody can come any more at "+at.invitation.at+": "+
					words.Sentence(exits.PlainError(err)))
			}
		})
	}
	watching, stop := context.WithCancel(ctx)
	go s.watchFiles(watching)
	done := make(chan error, 1)
	go func() { serving.Wait(); stop(); close(done) }()
	return done
}

// watchFiles looks every ten seconds whether a file of tokens or certificates has changed, until
// ctx ends, so that what is wrong with one is in the log before a listener comes. It is a goroutine
// of its own.
func (s *Flags) watchFiles(ctx context.Context) {
	for ticker := time.NewTicker(10 * time.Second); ; {
		select {
		case <-ticker.C:
			for _, look := range s.lookAtFiles {
				look()
			}
		case <-ctx.Done():
			ticker.Stop()
			return
		}
	}
}

// listenLocally opens the socket, or on Windows the pipe, of an address such as unix:planner. The
// error has the exit code.
func listenLocally(addr string) (*ipc.Listener, error) {
	path, err := reach.LocalPath(addr)
	if err != nil {
		return nil, exits.UsageError("--listen %s", err)
	}
	l, err := ipc.Listen(path, nil)
	if err != nil {
		return nil, exits.With(exits.Failed, fmt.Errorf("cannot serve on %s: %s", path, exits.PlainError(err)))
	}
	return l, nil
}

// ListenChecked listens at a TCP address, if it is one of this machine, or srv encrypts and knows
// its peers. Any other is a usage error that says what to add.
func ListenChecked(ctx context.Context, addr string, srv *serve.Server) (net.Listener, error) {
	const such = "Use one such as 127.0.0.1:8080, or 127.0.0.1:0 for any free port."
	address, err := net.ResolveTCPAddr("tcp", addr)
	switch {
	case err != nil:
		return nil, exits.UsageError("--listen %q is not an address of this machine.\n"+such, addr)
	case address.IP.IsLoopback():
	case srv.TLS == nil:
		return nil, exits.UsageError("--listen %q could be reached from other machines, which is not protected.\n"+such+
			"\nFor others, encrypt with --tls-cert and --tls-key, and know them by --tokens, --client-ca or --oidc-issuer.", addr)
	case srv.Authenticate == nil:
		return nil, exits.UsageError("--listen %q could be reached from other machines, and nobody is asked who they are.\nAdd --tokens, --client-ca or --oidc-issuer.", addr)
	}
	return ListenTCP(ctx, addr, "End it, or take any free port: --listen 127.0.0.1:0")
}

// ListenTCP listens at a TCP address; advice says what to do where another program does.
func ListenTCP(ctx context.Context, addr, advice string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, exits.With(exits.Failed, fmt.Errorf("another program serves on %s already.\n%s", addr, advice))
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		_, port, _ := net.SplitHostPort(addr)
		return nil, exits.With(exits.Failed, fmt.Errorf("cannot serve on %s: this machine has no such address.\n"+
			"Use one of its own, or 0.0.0.0:%s for all of them", addr, port))
	case err != nil:
		return nil, exits.With(exits.Failed, fmt.Errorf("cannot serve on %s: %s", addr, exits.InnermostError(err)))
	}
	return ln, nil
}
