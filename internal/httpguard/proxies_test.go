package httpguard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Who comes through a trusted proxy is known by the address that the proxy added, and no client can
// pass for another: not a client that comes directly, nor by what they put in front of it, nor by
// the header that the proxy does not set.
func TestBehind(t *testing.T) {
	trusted, err := ParseProxies([]string{"127.0.0.1", "10.1.0.0/16", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ peer, x, f, want string }{
		"directly":                   {"203.0.113.9:1234", "", "", "203.0.113.9:1234"},
		"directly, with a claim":     {"203.0.113.9:1234", "192.0.2.7", "for=192.0.2.7", "203.0.113.9:1234"},
		"through one":                {"127.0.0.1:5", "203.0.113.9", "", "203.0.113.9:0"},
		"through one, no header":     {"127.0.0.1:5", "", "", "127.0.0.1:5"},
		"with a claim in front":      {"127.0.0.1:5", "192.0.2.7, 203.0.113.9", "", "203.0.113.9:0"},
		"with a claim to be a proxy": {"127.0.0.1:5", "192.0.2.7, 10.1.2.3, 203.0.113.9", "", "203.0.113.9:0"},
		"in two headers":             {"127.0.0.1:5", "192.0.2.7\n203.0.113.9", "", "203.0.113.9:0"},
		"through two":                {"10.1.0.1:5", "203.0.113.9, 10.1.0.2", "", "203.0.113.9:0"},
		"only proxies":               {"10.1.0.1:5", "10.1.0.3, 10.1.0.2", "", "10.1.0.3:0"},
		"no address":                 {"127.0.0.1:5", "203.0.113.9, unknown", "", "127.0.0.1:5"},
		"no address behind a proxy":  {"127.0.0.1:5", "unknown, 10.1.0.2", "", "10.1.0.2:0"},
		"with a port":                {"127.0.0.1:5", "203.0.113.9:777", "", "203.0.113.9:0"},
		"IPv6":                       {"[fd00::1]:5", "2001:db8::9", "", "[2001:db8::9]:0"},
		"IPv4 in IPv6":               {"[::ffff:127.0.0.1]:5", "::ffff:203.0.113.9", "", "203.0.113.9:0"},
		"Forwarded": {"127.0.0.1:5", "",
			`for=192.0.2.7, For="[2001:db8::9]:777";proto=https;by=10.1.0.1`, "[2001:db8::9]:0"},
		"Forwarded, hidden":           {"127.0.0.1:5", "", "for=192.0.2.7, for=_hidden", "127.0.0.1:5"},
		"Forwarded, without a for":    {"127.0.0.1:5", "", "for=192.0.2.7, proto=https", "127.0.0.1:5"},
		"both, alike":                 {"127.0.0.1:5", "203.0.113.9", "for=203.0.113.9", "203.0.113.9:0"},
		"both, one of them a claim":   {"127.0.0.1:5", "203.0.113.9", "for=192.0.2.7", "127.0.0.1:5"},
		"both, the other one a claim": {"127.0.0.1:5", "192.0.2.7", "for=203.0.113.9", "127.0.0.1:5"},
		"a socket":                    {"@", "203.0.113.9", "", "@"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tt.peer
		if tt.x != "" {
			r.Header["X-Forwarded-For"] = strings.Split(tt.x, "\n")
		}
		if tt.f != "" {
			r.Header.Set("Forwarded", tt.f)
		}
		got := ""
		TrustProxies(trusted,
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(
			httptest.NewRecorder(), r)
		if got != tt.want || r.RemoteAddr != tt.peer {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for _, wrong := range []string{"", "localhost", "0.0.0.0/0", "::/0", "10.0.0.0/33"} {
		if _, err := ParseProxies([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
