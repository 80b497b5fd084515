// Package discover finds the ways to an agent: it reads the address that a user gave, asks the
// agent's manifest which transports there are (§5.10.2), and makes a dialer of each, in the user's
// order.
//
//	ways, err := discover.Ways(ctx, "https://bank.example", discover.Options{})
//	sub, err := subscriber.Dial(ctx, ways[0].Dialer, subscriber.Config{…, Fallback: discover.Dialers(ways[1:])})
//
// A way never leaves the machine, the host or the encryption of the address that the user gave:
// what the manifest says beyond that is passed over.
//
// All of it but which names of local sockets there are (local_other.go, local_windows.go) is in
// discover.go.
package discover

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// Options say what the user wants, and who they are. The zero Options take the usual order.
type Options struct {
	// Transports are the names of those that may be used, best first. Nil is manifest.SSE, which
	// goes on after a cut, manifest.WebSocket and LocalTransport.
	Transports []string
	// Credentials and TLS are for transports over the network; see sse.Dialer.
	Credentials func(context.Context) (http.Header, error)
	TLS         *tls.Config
	// RootLayout also follows agents that know no handshake; see sse.Dialer. Nothing is agreed with
	// them.
	RootLayout bool
	// More makes dialers for transports of other modules, such as gRPC, by their names: of the
	// endpoint in the manifest.
	More map[string]func(at *url.URL) transports.Dialer
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// Way is one way to an agent.
type Way struct {
	// Transport is its name, as in a manifest.
	Transport string
	// Address is where it leads.
	Address string
	Dialer  transports.Dialer
}

// Dialers returns the dialers of the ways, in their order, for subscriber.Config.Fallback; nil for
// none.
func Dialers(ways []Way) []transports.Dialer {
	var dialers []transports.Dialer
	for _, w := range ways {
		dialers = append(dialers, w.Dialer)
	}
	return dialers
}

// Ways returns the ways to the agent at an address: at least one, or an error that says what was
// wrong and what would be right. "https://bank.example" asks for a manifest, which takes at most
// ten seconds, and does without where there is none; http is for this machine only. An address with
// a path, "wss://…" and LocalScheme with an agent's id or a path are the one way they name.
// Connections are made by the dialers.
func Ways(ctx context.Context, address string, o Options) ([]Way, error) {
	o.Logger = shield.Logger(o.Logger)
	if o.Transports == nil {
		o.Transports = []string{manifest.SSE, manifest.WebSocket, LocalTransport}
	}
	if name, ok := strings.CutPrefix(address, LocalScheme); ok {
		way, err := o.localWay(name)
		return []Way{way}, err
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" ||
		!slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme):
		return nil, fmt.Errorf("discover: %q is no address such as http://127.0.0.1:8080, wss://agent.example or "+
			"%splanner", address, LocalScheme)
	case u.User != nil:
		return nil, fmt.Errorf("discover: an address holds no credentials; give them in another way")
	case (u.Scheme == "http" || u.Scheme == "ws") && !httpguard.LoopbackName(u.Hostname()):
		return nil, errkind.NotEncrypted.Mark(fmt.Errorf(
			"discover: %s is not this machine and %s is not encrypted; use %ss", u.Host, u.Scheme, u.Scheme))
	case strings.HasPrefix(u.Scheme, "ws"):
		return []Way{o.webSocketWay(u)}, nil
	case u.Path != "" && u.Path != "/":
		return []Way{o.sseWay(u)}, nil
	}
	return o.publishedWays(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host})
}

// publishedWays returns the ways to the agent at an origin, in the order of Options.Transports, as
// its manifest or the usual paths say. One that leads elsewhere is passed over. That none is left
// is an error.
func (o *Options) publishedWays(ctx context.Context, origin *url.URL) ([]Way, error) {
	published, err := o.publishedEndpoints(ctx, origin)
	if err != nil {
		return nil, err
	}
	var ways []Way
	for _, name := range o.Transports {
		endpoint, ok := published[name]
		if !ok {
			continue
		}
		if way, ok := o.endpointWay(name, endpoint, origin); ok {
			ways = append(ways, way)
		} else {
			o.Logger.Warn("discover: a way was passed over", "transport", name, "address",
				fmt.Sprintf("%.200q", endpoint.Address))
		}
	}
	if ways == nil {
		return nil, errkind.NotOffered.Mark(fmt.Errorf("discover: the agent at %s is not reached over %s; the "+
			"transports_supported of its manifest are %s", origin, strings.Join(o.Transports, ", "),
			strings.Join(quoteNames(published), ", ")))
	}
	return ways, nil
}

// localWay returns the way to an agent on this machine, by its id or the path of its socket or
// pipe.
func (o *Options) localWay(name string) (Way, error) {
	path, err := LocalPath(name)
	return Way{LocalTransport, LocalScheme + path, ipc.Dialer{Path: path}}, err
}

// LocalPath completes an agent's id to the path of its socket, or pipe on Windows; a name with a
// separator of folders is a path, and stays as it is. An empty name is an error.
func LocalPath(name string) (string, error) {
	switch {
	case name == "":
		return "", fmt.Errorf("discover: give the id of an agent or a path, such as %splanner", LocalScheme)
	case strings.ContainsRune(name, filepath.Separator):
		return name, nil
	}
	return ipc.Path(name)
}

// sseWay returns the way over Server-Sent Events whose endpoints are below a URL.
func (o *Options) sseWay(u *url.URL) Way {
	dialed := *u
	if dialed.Path == sse.DefaultPrefix { // which the dialer adds, and looks above it where there is no handshake
		dialed.Path = ""
	}
	return Way{manifest.SSE, u.String(), sse.Dialer{URL: dialed.String(), Credentials: o.Credentials, TLS: o.TLS,
		RootLayout: o.RootLayout, Logger: o.Logger}}
}

// webSocketWay returns the way over the WebSocket at a URL.
func (o *Options) webSocketWay(u *url.URL) Way {
	return Way{manifest.WebSocket, u.String(), websocket.Dialer{URL: u.String(), Credentials: o.Credentials,
		TLS: o.TLS}}
}

// publishedEndpoints returns where the transports of the agent at an origin are, by their names, as
// its manifest says. An agent without a manifest, or with one that names none, has its transports
// at the usual paths, if any. The error is that of ctx.
func (o *Options) publishedEndpoints(ctx context.Context, origin *url.URL) (map[string]manifest.Endpoint, error) {
	usual := map[string]manifest.Endpoint{manifest.SSE: {Address: sse.DefaultPrefix},
		manifest.WebSocket: {Address: websocket.DefaultPath}}
	data, err := manifest.Discover(ctx, origin.String(), o.TLS)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var m *manifest.Manifest
	if err == nil {
		m, _, err = manifest.ParseUnverified(data) // it says where to knock, and not who opens
	}
	if err != nil {
		o.Logger.Info("discover: no manifest", "error", err)
		return usual, nil
	}
	if len(m.TransportsSupported) == 0 {
		o.Logger.Warn("discover: the manifest names no transport", "member", "transports_supported")
		return usual, nil
	}
	served, err := m.Endpoints()
	if err != nil {
		o.Logger.Warn("discover: the manifest does not say where the transports are", "error", err)
	}
	published := map[string]manifest.Endpoint{}
	for _, name := range m.TransportsSupported {
		if endpoint, ok := served[name]; ok {
			published[name] = endpoint
		} else if endpoint, ok := usual[name]; ok {
			published[name] = endpoint
		}
	}
	return published, nil
}

// endpointWay returns the way over the transport with a name that an endpoint of the manifest at
// origin leads to, if it stays where the user was: on this machine, or on that host and encrypted.
// ok is false for any other: another host, a port that is not the origin's, credentials in the
// address, or a transport that is not known here.
func (o *Options) endpointWay(name string, endpoint manifest.Endpoint, origin *url.URL) (Way, bool) {
	isLocal := httpguard.LoopbackName(origin.Hostname())
	if path, ok := strings.CutPrefix(endpoint.Address, LocalScheme); ok {
		way, err := o.localWay(path)
		return way, isLocal && err == nil && name == LocalTransport
	}
	ref, err := url.Parse(endpoint.Address)
	if err != nil {
		return Way{}, false
	}
	u := origin.ResolveReference(ref)
	secure := u.Scheme == "https" || u.Scheme == "wss"
	mayBePlain := isLocal && origin.Scheme != "https"
	isSameHost := strings.EqualFold(u.Hostname(), origin.Hostname()) && u.User == nil && u.Opaque == ""
	if !isSameHost || !secure && !mayBePlain {
		return Way{}, false
	}
	isSamePort := portOf(u) == portOf(origin)
	switch newDialer := o.More[name]; {
	case name == manifest.SSE && (u.Scheme == "https" || u.Scheme == "http") && isSamePort:
		return o.sseWay(u), true
	case name == manifest.WebSocket && isSamePort:
		u.Scheme = "ws"
		if secure {
			u.Scheme = "wss"
		}
		return o.webSocketWay(u), true
	case newDialer != nil: // a transport of another module may have a port of its own
		return Way{name, u.String(), newDialer(u)}, true
	}
	return Way{}, false
}

// portOf returns the port of a URL, or the usual one of its scheme: 443 where that is encrypted,
// else 80.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https" || u.Scheme == "wss":
		return "443"
	}
	return "80"
}

// quoteNames returns the names of the published transports, sorted and quoted, for an error.
func quoteNames(published map[string]manifest.Endpoint) []string {
	var quoted []string
	for name := range published {
		quoted = append(quoted, fmt.Sprintf("%.40q", name)) // any program may have written it
	}
	slices.Sort(quoted)
	return quoted
}
