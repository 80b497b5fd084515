// Package httpguard is what listeners over HTTP share. Host and Origin checks keep web pages and
// rebound names away (INV-44, INV-47, D-66), and bounds keep what strangers cause small: in memory,
// connections and the log.
//
// Hosts, origins and CORS are judged in guard.go. Which proxies are trusted is read in proxies.go,
// and so are the addresses behind them. Memory for messages is bounded in large.go, idle
// connections in idle_conns.go, and the log in limit_log.go; refusals are counted in refusals.go.
package httpguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rules say under which names a listener may be addressed and which pages may do so. The zero Rules
// allow loopback names and no foreign page. Rules may be used by many goroutines at once.
type Rules struct {
	// Hosts are the allowed values of Host, "name" or "name:port", as clients write them. A name
	// without a port also fits the port of the connection. If empty, localhost, 127.0.0.1 and [::1]
	// are allowed, with the port of the connection or none.
	Hosts []string
	// Origins are the pages of other origins that are allowed, such as "https://reader.example".
	// They are compared letter for letter.
	Origins []string
	// FixedHosts and FixedOrigins say that no setting adds to them, so that no error names one.
	FixedHosts, FixedOrigins bool
}

// Check returns an error for a request that names a host that g does not have, or comes from a page
// that g does not allow. It is called before any state is made, whatever the method. The error says
// what was wrong and what would be right.
func (g Rules) Check(r *http.Request) error {
	if !g.isAllowedHost(r) {
		instead := "add it as it stands with --host, or in Go to the Hosts of the Server or of its options"
		switch {
		case g.FixedHosts:
			instead = "its names are " + strings.Join(g.Hosts, ", ")
		case len(g.Hosts) == 0: // otherwise localhost is no name of it either, unless it was given that
			instead = "use localhost on loopback, or " + instead
		}
		return fmt.Errorf("the Host %q is not a name of this listener; %s", r.Host, instead)
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return errors.New("the request names more than one Origin; send one or none")
	}
	if len(origins) == 1 && g.IsListed(origins[0]) {
		return nil // whatever the browser says of its site: the list is there for other sites
	}
	site := strings.ToLower(strings.Join(r.Header.Values("Sec-Fetch-Site"), ","))
	if strings.Contains(site, "cross-site") {
		return errors.New(
			"the browser says that this request comes from another site, and it names no Origin that is allowed; " +
				g.allowOrigin("that of the page"))
	}
	if len(origins) == 1 {
		if sameOrigin(origins[0], r) {
			return nil
		}
		return fmt.Errorf(
			"the Origin %q is not allowed; %s", origins[0], g.allowOrigin("it"))
	}
	if strings.Contains(site, "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return errors.New(
			"the browser says that this request comes from a page of another origin, and it does not name that; " +
				"only pages of this origin may send it")
	}
	return nil // a program, a page's own plain GET, or a link that a person followed
}

// allowOrigin returns the end of an error's text that says how the origin, "it" or "that of the
// page", would be allowed; with FixedOrigins, that it cannot be.
func (g Rules) allowOrigin(origin string) string {
	if g.FixedOrigins {
		return "no web page is allowed here, and no option changes that"
	}
	return "add " + origin + " with --origin, or in Go to the Origins of the Server or of its options"
}

// IsListed reports whether origin is one of g.Origins.
func (g Rules) IsListed(origin string) bool {
	return origin != "null" && slices.Contains(g.Origins, origin)
}

// SetCORS sets the headers of CORS by which a browser lets a page of g.Origins read the answer to
// r, and reports whether such a page asks. Call it after Check.
func (g Rules) SetCORS(w http.ResponseWriter, r *http.Request) bool {
	if len(g.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !g.IsListed(origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true") // cookies are why the list is exact (D-66)
	h.Set("Access-Control-Expose-Headers", "Location, Retry-After")
	return true
}

// Preflight answers the OPTIONS request by which a browser asks whether a page of an allowed
// origin, for which SetCORS reported true, may send a request of one of methods with headers. It
// reports false, and writes nothing, if r is another request.
func Preflight(w http.ResponseWriter, r *http.Request, methods, headers string) bool {
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", headers)
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" { // the page is public, this machine is not
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// Validate returns an error for a host or an origin that no request could have: with it, every
// request would be refused without a hint at the setting.
func (g Rules) Validate() error {
	for _, h := range g.Hosts {
		if u, err := url.Parse("http://" + h); err != nil || u.Host != h || u.Hostname() == "" ||
			strings.ContainsAny(h, "* ") {
			return fmt.Errorf(
				"the host %q must be a name, with its port if it has one, such as agent.example or agent.example:8443",
				h)
		}
	}
	for _, o := range g.Origins {
		as := asSent(o)
		if as == o && as != "" {
			continue
		}
		perhaps := "such as https://reader.example or http://localhost:3000"
		if as != "" {
			perhaps = "here " + as
		}
		return fmt.Errorf(
			"the origin %q must be as browsers send it, %s: in lower case, without a path or a dot at the end, "+
				"without a wildcard, without the port that is usual, and with xn-- for letters that are not English",
			o, perhaps)
	}
	return nil
}

// asSent returns the Origin that browsers send for the pages that o means, however o is spelled; ""
// if there are no such pages.
func asSent(o string) string {
	u, err := url.Parse(o)
	if err != nil || !namesOnlyOrigin(u) {
		return ""
	}
	host, ok := hostAsSent(u)
	if !ok {
		return ""
	}
	port, ok := portAsSent(u)
	if !ok {
		return ""
	}
	return u.Scheme + "://" + host + port
}

// namesOnlyOrigin reports whether a URL has nothing behind its host and port, and a scheme that
// pages can have.
func namesOnlyOrigin(u *url.URL) bool {
	ofPages := u.Scheme != "ws" && u.Scheme != "wss" && u.Scheme != "file"
	hasMore := u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != ""
	return ofPages && !hasMore
}

// hostAsSent returns the host of a URL as browsers write it, or false if it is no address and no
// name that a browser would send.
func hostAsSent(u *url.URL) (host string, ok bool) {
	host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return host, true
	}
	isName := host != "" && strings.Trim(host, nameLetters) == "" && !numericName.MatchString(host)
	return host, isName && u.Scheme != ""
}

// portAsSent returns the port of a URL as browsers write it, with its colon: nothing for that of
// the scheme. It returns false for what is no number of a port.
func portAsSent(u *url.URL) (port string, ok bool) {
	if u.Port() == "" {
		return "", true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return "", false
	}
	ofScheme := u.Scheme == "https" && n == 443 || u.Scheme == "http" && n == 80
	if ofScheme {
		return "", true
	}
	return ":" + strconv.FormatUint(n, 10), true
}

// nameLetters are those that a browser leaves in a name; it writes the others as xn--.
const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-._"

// numericName matches names that a browser takes for addresses in another spelling.
var numericName = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)

// isAllowedHost reports whether the request's Host is one of g.Hosts or of those that WithHosts
// added for its connection. Without Hosts, the names of this machine are allowed. A name without a
// port stands for the port that the request came to.
func (g Rules) isAllowedHost(r *http.Request) bool {
	name, port := splitHost(r.Host)
	if name == "" {
		return false
	}
	local := localPort(r)
	hosts := g.Hosts
	if len(hosts) == 0 {
		hosts = []string{"localhost", "127.0.0.1", "[::1]"}
	}
	matches := func(h string) bool {
		wantName, wantPort := splitHost(h)
		return strings.EqualFold(h, r.Host) || strings.EqualFold(wantName, name) && wantPort == "" && local != "" &&
			port == local
	}
	if slices.ContainsFunc(hosts, matches) {
		return true
	}
	connNames, ok := r.Context().Value(alsoKey{}).(func() []string)
	return ok && slices.ContainsFunc(connNames(), matches)
}

// alsoKey is the key of WithHosts's names in a context.
type alsoKey struct{}

// WithHosts returns a context for http.Server.ConnContext: over that connection the listener may
// also be addressed by the names that the function returns. It is called for each request that
// comes under another name.
func WithHosts(ctx context.Context, names func() []string) context.Context {
	return context.WithValue(ctx, alsoKey{}, names)
}

// sameOrigin reports whether origin, of the page that sent r, is that of the Host that r names,
// which was allowed already. An origin that is none, or http for a request over TLS, is not.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" ||
		strings.HasSuffix(origin, "?") || strings.HasSuffix(origin, "#") {
		return false
	}
	if u.Scheme != "https" && (u.Scheme != "http" || r.TLS != nil) {
		return false
	}
	return strings.EqualFold(u.Host, r.Host)
}

// splitHost parts "name:port"; an address in brackets keeps them. The name is "" where hostport is
// malformed.
func splitHost(hostport string) (name, port string) {
	i := strings.LastIndexByte(hostport, ':')
	if i < 0 || strings.HasSuffix(hostport, "]") {
		return hostport, ""
	}
	name, port = hostport[:i], hostport[i+1:]
	if port == "" || strings.Trim(port, "0123456789") != "" ||
		(strings.Contains(name, ":") && !strings.HasPrefix(name, "[")) {
		return "", ""
	}
	return name, port
}

// localPort returns the port that the request's connection came to; "" where it came over something
// else than TCP.
func localPort(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return fmt.Sprint(a.Port)
	}
	return ""
}

// Loopback reports whether the request came over a connection that never leaves this machine: to a
// loopback address, a Unix socket or a pipe within this process. A request whose connection is not
// known is not.
func Loopback(r *http.Request) bool {
	switch a := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	case net.Addr:
		return a.Network() == "pipe"
	}
	return false
}

// WebAddress parses the address of a server on the web; ok is false for one that names no host, or
// is not of http or https.
func WebAddress(text string) (address *url.URL, ok bool) {
	address, err := url.Parse(text)
	return address, err == nil && address.Host != "" && (address.Scheme == "http" || address.Scheme == "https")
}

// LoopbackName reports whether a URL's host name (no port, no brackets) is this machine's loopback.
func LoopbackName(name string) bool {
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// LoopbackHost is LoopbackName for a value of Rules.Hosts.
func LoopbackHost(host string) bool {
	name, _ := splitHost(host)
	return LoopbackName(strings.Trim(name, "[]"))
}

const (
	// answerTimeout is how long a peer of WithDeadlines has to read the response.
	answerTimeout = time.Minute
	// UnreadTimeout is how long a connection waits for the rest of a body that no handler reads.
	UnreadTimeout = time.Second
)

// WithDeadlines serves h with deadlines for reading and writing: http.Server itself waits for ever
// for a body that no handler reads, and for a peer that does not read. A handler that waits,
// streams, or reads the body sets deadlines of its own, which hold instead.
func WithDeadlines(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if r.ContentLength != 0 { // without a body, the deadline would end the watch for a hang-up
			_ = rc.SetReadDeadline(time.Now().Add(UnreadTimeout))
		}
		_ = rc.SetWriteDeadline(time.Now().Add(answerTimeout))
		h.ServeHTTP(w, r)
	})
}
