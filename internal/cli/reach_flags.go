package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports/auth"
)

// reachFlags say how agents are reached.
type reachFlags struct {
	startsHooks   bool // what is followed is the server of hooks, which is started again where it is gone
	transports    []string
	token         string
	ca, cert, key string
	keys          []string
	firstUse      string
	known         func() (*manifest.FirstUse, error) // what is in that file, for all agents
	languages     []string                           // of the person who is told why an agent is not reached
}

const caHelp = "trust agents with certificates of the CAs in this PEM `FILE`, and no others"

// addReachFlags adds the flags of how an agent is reached.
func addReachFlags(cmd *cobra.Command) *reachFlags {
	r := &reachFlags{}
	r.known = sync.OnceValues(func() (*manifest.FirstUse, error) { return manifest.OpenFirstUse(r.firstUse) })
	f := cmd.Flags()
	f.StringSliceVar(&r.transports, "transport", nil,
		"the `NAMES` of the transports to use, best first: "+strings.Join(wireNames(), ", "))
	f.StringVar(&r.token, "token-file", "", "show the token in this `FILE`; read again when it changes")
	f.StringVar(&r.ca, "ca", "", caHelp)
	f.StringVar(&r.cert, "cert", "", "show the certificate in this PEM `FILE`")
	f.StringVar(&r.key, "key", "", "its key, a PEM `FILE`")
	return r
}

// addTrustFlags are for those who follow an agent only if it proves who it is.
func (r *reachFlags) addTrustFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&r.keys, "trust", nil, "follow only an agent that proves who it is with one of the keys in these `FILES`")
	f.StringVar(&r.firstUse, "trust-first-use", "",
		"follow only an agent that has the key it had the first time, kept in this `FILE`")
}

// checkChild refuses what means nothing for an agent that listen starts itself.
func (r *reachFlags) checkChild() error {
	if len(r.transports) > 0 || r.token+r.ca+r.cert+r.key+r.firstUse != "" {
		return usageError("--exec starts the agent and needs no way to it; of the flags about that, only --trust goes with it.\nSee: aaep listen --help")
	}
	return nil
}

// checkOneAgent refuses to show to several agents what only one of them may learn.
func (r *reachFlags) checkOneAgent(urls []string) error {
	if r.token != "" && len(urls) > 1 {
		return usageError("--token-file would show the token of one agent to the others.\nFollow each with a command of its own, or know them by --cert")
	}
	return nil
}

// readTrust returns whose proof counts, or nil if none is asked for.
func (r *reachFlags) readTrust(at string) (*manifest.Trust, error) {
	if len(r.keys) == 0 && r.firstUse == "" {
		return nil, nil
	}
	t := &manifest.Trust{}
	var err error
	if len(r.keys) > 0 {
		if t.Keys, err = manifest.ReadKeys(r.keys...); err != nil {
			return nil, cannotTake("--trust", err)
		}
	}
	if r.firstUse == "" {
		return t, nil
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError("--trust-first-use needs the http or https address of an agent, where it publishes its keys")
	}
	if t.FirstUse, err = r.known(); err != nil {
		return nil, cannotTake("--trust-first-use", err)
	}
	conf, err := r.tlsConfig()
	if err != nil {
		return nil, err
	}
	keys, err := manifest.Beside(at, manifest.KeysPath)
	if err == nil {
		t.Address = strings.TrimSuffix(keys, manifest.KeysPath)
		t.Source, err = manifest.RemoteKeys(keys, conf)
	}
	if err != nil {
		return nil, usageError("cannot take --trust-first-use: %s", plainError(err))
	}
	return t, nil
}

// tlsConfig returns how network connections are encrypted; nil is as usual.
func (r *reachFlags) tlsConfig() (*tls.Config, error) {
	if r.ca+r.cert+r.key == "" {
		return nil, nil
	}
	conf, err := auth.ClientTLS(r.ca, r.cert, r.key, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, cannotTake("--ca, --cert or --key", err)
	}
	return conf, nil
}

// wires are the transports as people call them.
var wires = []struct{ name, transport, words string }{
	{"sse", manifest.SSE, "Server-Sent Events"},
	{"websocket", manifest.WebSocket, "WebSocket"},
	{"unix", manifest.Unix, "a Unix socket"},
	{"pipe", manifest.Pipe, "a named pipe"},
}

// wireNames returns the names that --transport takes.
func wireNames() (names []string) {
	for _, w := range wires {
		names = append(names, w.name)
	}
	return names
}

// wireWords is how a transport is spoken of.
func wireWords(transport string) string {
	for _, w := range wires {
		if w.transport == transport {
			return w.words
		}
	}
	return transport
}

// findWays returns the ways to the agent at an address that checkAddress has checked.
func (r *reachFlags) findWays(ctx context.Context, at string) ([]discover.Way, error) {
	o := discover.Options{RootLayout: true}
	for _, name := range r.transports {
		i := slices.Index(wireNames(), strings.ToLower(name))
		if i < 0 {
			return nil, usageError("--transport %q is none of %s.\nSee: aaep listen --help", name,
				strings.Join(wireNames(), ", "))
		}
		o.Transports = append(o.Transports, wires[i].transport)
	}
	if r.token != "" {
		o.Credentials = auth.BearerFile(r.token)
		if _, err := o.Credentials(ctx); err != nil {
			return nil, cannotTake("--token-file", err)
		}
	}
	conf, err := r.tlsConfig()
	if err != nil {
		return nil, err
	}
	o.TLS = conf
	ways, err := discover.Ways(ctx, at, o)
	if err != nil {
		return nil, dialError(ctx, at, err, r.languages...)
	}
	if only := ways[0].Transport; len(o.Transports) > 0 &&
		!slices.Contains(o.Transports, only) { // an address that names a way
		also := ""
		if u, err := url.Parse(at); err == nil && only == manifest.SSE &&
			slices.Contains(o.Transports, manifest.WebSocket) {
			also = "\nFor WebSocket give " + strings.Replace(u.JoinPath("ws").String(), "http", "ws", 1)
		}
		return nil, usageError("%s is an address of %s, which --transport %s rules out.%s", at, wireWords(only),
			strings.Join(r.transports, ","), also)
	}
	return ways, nil
}

// isLocal reports whether an address is one that only the agent's own user can reach, on this
// system or another.
func isLocal(at string) bool {
	return strings.HasPrefix(at, localScheme) || strings.HasPrefix(at, foreignScheme)
}

// localPath completes "unix:" or "pipe:" and a name, or a path, to a path.
func localPath(at string) (string, error) {
	name, ok := strings.CutPrefix(at, localScheme)
	switch {
	case !ok:
		return "", fmt.Errorf("%q is for other systems.\nHere an agent is at a %s, such as %splanner", at, localThing,
			localScheme)
	case name == "":
		return "", fmt.Errorf("%q names no %s.\nGive a name or a path, such as %splanner or %s", at, localThing,
			localScheme, localExample)
	}
	return discover.LocalPath(name)
}
