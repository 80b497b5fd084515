// Package reach is the way from an address that a person typed to an agent: which addresses there
// are (address.go), the flags about transports, credentials and trust, and, where an agent is not
// reached, why, and what to do about it (problem.go). Begin with AddFlags and DialError. It
// subscribes to nothing itself.
package reach

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports/auth"
)

// Flags say how agents are reached.
type Flags struct {
	StartsHooks   bool // what is followed is the server of hooks, which is started again where it is gone
	Transports    []string
	Token         string
	Credentials   func(context.Context) (http.Header, error) // in the place of Token, which counts where both are set
	Ca, Cert, key string
	Keys          []string
	FirstUse      string
	known         func() (*manifest.FirstUse, error) // what is in that file, for all agents
	Languages     []string                           // of the person who is told why an agent is not reached
}

const CAHelp = "trust agents with certificates of the CAs in this PEM `FILE`, and no others"

// AddFlags adds the flags of how an agent is reached to cmd, and returns what they will hold once
// they are parsed.
func AddFlags(cmd *cobra.Command) *Flags {
	r := &Flags{}
	r.known = sync.OnceValues(func() (*manifest.FirstUse, error) { return manifest.OpenFirstUse(r.FirstUse) })
	f := cmd.Flags()
	f.StringSliceVar(&r.Transports, "transport", nil,
		"the `NAMES` of the transports to use, best first: "+strings.Join(wireNames(), ", "))
	f.StringVar(&r.Token, "token-file", "", "show the token in this `FILE`; read again when it changes")
	f.StringVar(&r.Ca, "ca", "", CAHelp)
	f.StringVar(&r.Cert, "cert", "", "show the certificate in this PEM `FILE`")
	f.StringVar(&r.key, "key", "", "its key, a PEM `FILE`")
	return r
}

// AddTrustFlags are for those who follow an agent only if it proves who it is.
func (r *Flags) AddTrustFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&r.Keys, "trust", nil, "follow only an agent that proves who it is with one of the keys in these `FILES`")
	f.StringVar(&r.FirstUse, "trust-first-use", "",
		"follow only an agent that has the key it had the first time, kept in this `FILE`")
}

// CheckChild returns a usage error for flags that mean nothing for an agent that listen starts
// itself.
func (r *Flags) CheckChild() error {
	if len(r.Transports) > 0 || r.Token+r.Ca+r.Cert+r.key+r.FirstUse != "" {
		return exits.UsageError("--exec starts the agent and needs no way to it; of the flags about that, only --trust goes with it.\nSee: aaep listen --help")
	}
	return nil
}

// CheckOneAgent returns a usage error where the token of one agent would be shown to several.
func (r *Flags) CheckOneAgent(urls []string) error {
	if r.Token != "" && len(urls) > 1 {
		return exits.UsageError("--token-file would show the token of one agent to the others.\nFollow each with a command of its own, or know them by --cert")
	}
	return nil
}

// ReadTrust returns whose proof counts, by --trust and --trust-first-use, or nil if neither is
// given. address is that of the agent, at which --trust-first-use finds its keys. The error names
// the flag.
func (r *Flags) ReadTrust(address string) (*manifest.Trust, error) {
	if len(r.Keys) == 0 && r.FirstUse == "" {
		return nil, nil
	}
	t := &manifest.Trust{}
	var err error
	if len(r.Keys) > 0 {
		if t.Keys, err = manifest.ReadKeys(r.Keys...); err != nil {
			return nil, exits.CannotTake("--trust", err)
		}
	}
	if r.FirstUse == "" {
		return t, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, exits.UsageError("--trust-first-use needs the http or https address of an agent, where it publishes its keys")
	}
	if t.FirstUse, err = r.known(); err != nil {
		return nil, exits.CannotTake("--trust-first-use", err)
	}
	conf, err := r.TLSConfig()
	if err != nil {
		return nil, err
	}
	keys, err := manifest.Beside(address, manifest.KeysPath)
	if err == nil {
		t.Address = strings.TrimSuffix(keys, manifest.KeysPath)
		t.Source, err = manifest.RemoteKeys(keys, conf)
	}
	if err != nil {
		return nil, exits.UsageError("cannot take --trust-first-use: %s", exits.PlainError(err))
	}
	return t, nil
}

// TLSConfig returns how network connections are encrypted, by --ca, --cert and --key; nil, which is
// as usual, where none is given. The error names the flags.
func (r *Flags) TLSConfig() (*tls.Config, error) {
	if r.Ca+r.Cert+r.key == "" {
		return nil, nil
	}
	conf, err := auth.ClientTLS(r.Ca, r.Cert, r.key, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, exits.CannotTake("--ca, --cert or --key", err)
	}
	return conf, nil
}

// Wires are the transports as people call them.
var Wires = []struct{ Name, transport, Words string }{
	{"sse", manifest.SSE, "Server-Sent Events"},
	{"websocket", manifest.WebSocket, "WebSocket"},
	{"unix", manifest.Unix, "a Unix socket"},
	{"pipe", manifest.Pipe, "a named pipe"},
}

// wireNames returns the names that --transport takes.
func wireNames() (names []string) {
	for _, w := range Wires {
		names = append(names, w.Name)
	}
	return names
}

// WireWords returns the name of a transport in words, or the name itself where there are none.
func WireWords(transport string) string {
	for _, w := range Wires {
		if w.transport == transport {
			return w.Words
		}
	}
	return transport
}

// FindWays returns the ways to the agent at an address that CheckAddress has checked, in the order
// of --transport, at least one. It asks the agent's manifest. The error is a usage error for the
// flags, or DialError's.
func (r *Flags) FindWays(ctx context.Context, address string) ([]discover.Way, error) {
	o := discover.Options{RootLayout: true}
	for _, name := range r.Transports {
		i := slices.Index(wireNames(), strings.ToLower(name))
		if i < 0 {
			return nil, exits.UsageError("--transport %q is none of %s.\nSee: aaep listen --help", name,
				strings.Join(wireNames(), ", "))
		}
		o.Transports = append(o.Transports, Wires[i].transport)
	}
	o.Credentials = r.Credentials
	if r.Token != "" {
		o.Credentials = auth.BearerFile(r.Token)
		if _, err := o.Credentials(ctx); err != nil {
			return nil, exits.CannotTake("--token-file", err)
		}
	}
	conf, err := r.TLSConfig()
	if err != nil {
		return nil, err
	}
	o.TLS = conf
	ways, err := discover.Ways(ctx, address, o)
	if err != nil {
		return nil, DialError(ctx, address, err, r.Languages...)
	}
	named := ways[0].Transport // by an address such as ws://; else it is one of those asked for
	if len(o.Transports) == 0 || slices.Contains(o.Transports, named) {
		return ways, nil
	}
	suffix := ""
	if u, err := url.Parse(address); err == nil && named == manifest.SSE &&
		slices.Contains(o.Transports, manifest.WebSocket) {
		suffix = "\nFor WebSocket give " + strings.Replace(u.JoinPath("ws").String(), "http", "ws", 1)
	}
	return nil, exits.UsageError("%s is an address of %s, which --transport %s rules out.%s", address, WireWords(named),
		strings.Join(r.Transports, ","), suffix)
}
