package httpguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// INV-44, D-66; the rebinding rows are what comparing Origin with Host alone would let pass.
func TestCheck(t *testing.T) {
	listed := Rules{Hosts: []string{"bank.example", "10.0.0.1:9000", "[fd00::1]"},
		Origins: []string{"https://reader.example", "null"}}
	for _, tt := range []struct {
		name    string
		rules   Rules
		host    string
		tls     bool
		origins []string
		site    string
		ok      bool
	}{
		{"loopback name", Rules{}, "localhost:8080", false, nil, "", true},
		{"loopback name, any case, no port", Rules{}, "LOCALHOST", false, nil, "", true},
		{"loopback address", Rules{}, "127.0.0.1:8080", false, nil, "", true},
		{"IPv6 loopback", Rules{}, "[::1]:8080", false, nil, "none", true},
		{"another loopback address", Rules{}, "127.0.0.2:8080", false, nil, "", false},
		{"another port", Rules{}, "localhost:8081", false, nil, "", false},
		{"padded port", Rules{}, "localhost:08080", false, nil, "", false},
		{"empty port", Rules{}, "localhost:", false, nil, "", false},
		{"no brackets", Rules{}, "::1", false, nil, "", false},
		{"trailing dot", Rules{}, "localhost.", false, nil, "", false},
		{"no Host", Rules{}, "", false, nil, "", false},
		{"user in Host", Rules{}, "localhost@evil.example", false, nil, "", false},
		{"rebound", Rules{}, "evil.example:8080", false, []string{"http://evil.example:8080"}, "same-origin", false},
		{"suffix", listed, "evilbank.example", false, nil, "", false},
		{"prefix", listed, "bank.example.evil", false, nil, "", false},
		{"listed", listed, "Bank.Example", false, nil, "", true},
		{"listed, with the connection's port", listed, "bank.example:8080", false, nil, "", true},
		{"listed, with another port", listed, "bank.example:9000", false, nil, "", false},
		{"listed with a port", listed, "10.0.0.1:9000", false, nil, "", true},
		{"listed with a port, without", listed, "10.0.0.1", false, nil, "", false},
		{"listed IPv6", listed, "[fd00::1]:8080", false, nil, "", true},
		{"loopback where others are listed", listed, "localhost:8080", false, nil, "", false},

		{"own page", Rules{}, "localhost:8080", false, []string{"http://localhost:8080"}, "same-origin", true},
		{"own page behind a TLS proxy", listed, "bank.example", false, []string{"https://bank.example"}, "", true},
		{"plain page of a TLS listener", listed, "bank.example", true, []string{"http://bank.example"}, "", false},
		{"own page over TLS", listed, "bank.example", true, []string{"https://bank.example"}, "", true},
		{"another name for the same place", Rules{}, "localhost:8080", false, []string{"http://127.0.0.1:8080"},
			"", false},
		{"other scheme", Rules{}, "localhost:8080", false, []string{"ftp://localhost:8080"}, "", false},
		{"origin with a path", Rules{}, "localhost:8080", false, []string{"http://localhost:8080/"}, "", false},
		{"origin with a query", Rules{}, "localhost:8080", false, []string{"http://localhost:8080?"}, "", false},
		{"origin with a user", Rules{}, "localhost:8080", false, []string{"http://a@localhost:8080"}, "", false},
		{"origin that is no URL", Rules{}, "localhost:8080", false, []string{"http://%zz"}, "", false},
		{"empty origin", Rules{}, "localhost:8080", false, []string{""}, "", false},
		{"null origin", Rules{}, "localhost:8080", false, []string{"null"}, "", false},
		{"null origin, even if listed", listed, "bank.example", false, []string{"null"}, "", false},
		{"listed page", listed, "bank.example", false, []string{"https://reader.example"}, "same-site", true},
		{"listed page, other letters", listed, "bank.example", false, []string{"https://Reader.example"}, "", false},
		{"page under a listed one", listed, "bank.example", false, []string{"https://reader.example.evil"}, "", false},
		{"two origins", listed, "bank.example", false, []string{"https://reader.example", "https://reader.example"},
			"", false},
		{"listed page of another site", listed, "bank.example", false, []string{"https://reader.example"},
			"cross-site", true},
		{"page of another site", listed, "bank.example", false, []string{"https://evil.example"}, "cross-site", false},
		{"page of the same site, another origin", listed, "bank.example", false, []string{"https://www.bank.example"},
			"same-site", false},
		{"own page that was led through another site", listed, "bank.example", false, []string{"https://bank.example"},
			"cross-site", false},
		{"null origin of another site", listed, "bank.example", false, []string{"null"}, "cross-site", false},
		{"two origins, one listed", listed, "bank.example", false,
			[]string{"https://reader.example", "https://evil.example"}, "cross-site", false},
		{"two origins in one line", listed, "bank.example", false,
			[]string{"https://reader.example, https://evil.example"}, "cross-site", false},
		{"listed page, another port", listed, "bank.example", false, []string{"https://reader.example:8443"},
			"cross-site", false},
		{"listed page, its usual port", listed, "bank.example", false, []string{"https://reader.example:443"},
			"cross-site", false},
		{"listed page, other scheme", listed, "bank.example", false, []string{"http://reader.example"},
			"cross-site", false},
		{"listed page, dot at the end", listed, "bank.example", false, []string{"https://reader.example."},
			"cross-site", false},
		{"listed page under a foreign Host", listed, "evil.example", false, []string{"https://reader.example"},
			"cross-site", false},
		{"picture in a page of the same site", Rules{}, "localhost:8080", false, nil, "same-site", false},
		{"cross-site, where pages are listed", listed, "bank.example", false, nil, "cross-site", false},
		{"cross-site", Rules{}, "localhost:8080", false, nil, "cross-site", false},
		{"Cross-Site", Rules{}, "localhost:8080", false, nil, " Cross-Site ", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
				&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}))
			r.Host = tt.host
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			for _, o := range tt.origins {
				r.Header.Add("Origin", o)
			}
			if tt.site != "" {
				r.Header.Set("Sec-Fetch-Site", tt.site)
			}
			if err := tt.rules.Check(r); (err == nil) != tt.ok {
				t.Errorf("Check = %v, want allowed: %v", err, tt.ok)
			}
		})
	}
}

// A client that asks for localhost where that is no name of the listener is not told to ask for
// localhost.
func TestCheckSaysWhatToDo(t *testing.T) {
	r := httptest.NewRequest("GET", "http://localhost:8443/", nil)
	if err := (Rules{Hosts: []string{"bank.example"}}).Check(r); err == nil ||
		strings.Contains(err.Error(), "use localhost") || strings.Contains(err.Error(), "bank") ||
		!strings.Contains(err.Error(), "--host") {
		t.Errorf("Check = %v", err)
	}
	r.Host = "bank.example"
	if err := (Rules{}).Check(r); err == nil || !strings.Contains(err.Error(), "use localhost on loopback, or add it") {
		t.Errorf("Check = %v", err)
	}
}

// Without a TCP address there is no port that could fit.
func TestCheckWithoutPort(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	for host, ok := range map[string]bool{"localhost": true, "localhost:80": false} {
		r.Host = host
		if err := (Rules{}).Check(r); (err == nil) != ok {
			t.Errorf("%s: %v, want allowed: %v", host, err, ok)
		}
	}
}

// INV-47, INV-49: only an address or a name of this machine counts as loopback.
func TestLoopback(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	for _, tt := range []struct {
		addr any
		want bool
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 9, 9, 9)}, true}, {&net.TCPAddr{IP: net.IPv6loopback}, true},
		{&net.UnixAddr{Net: "unix"}, true}, {near.LocalAddr(), true},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, false}, {&net.TCPAddr{}, false},
		{&net.UDPAddr{IP: net.IPv6loopback}, false}, {nil, false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, tt.addr))
		if got := Loopback(r); got != tt.want {
			t.Errorf("Loopback over %v = %v, want %v", tt.addr, got, tt.want)
		}
	}
	for name, want := range map[string]bool{"localhost": true, "LocalHost": true, "127.0.0.1": true, "::1": true,
		"localhost.evil": false, "10.0.0.1": false, "": false} {
		if got := LoopbackName(name); got != want {
			t.Errorf("LoopbackName(%q) = %v, want %v", name, got, want)
		}
	}
}

// INV-47: names and origins that no request can have are refused instead of keeping everybody out
// without a word.
func TestValid(t *testing.T) {
	for _, c := range []struct {
		rules Rules
		valid bool
	}{
		{Rules{}, true},
		{Rules{Hosts: []string{"agent.example", "agent.example:8443", "127.0.0.1:0", "[::1]", "[fd00::1]:9000",
			"build_box"}}, true},
		{
			Rules{Origins: []string{"https://reader.example", "http://localhost:3000", "http://[::1]:3000",
				"chrome-extension://abcdefgh"}}, true},
		{Rules{Hosts: []string{"agent.example", "https://agent.example"}}, false},
		{Rules{Hosts: []string{"agent.example/planner"}}, false},
		{Rules{Hosts: []string{"user@agent.example"}}, false},
		{Rules{Hosts: []string{"*.example"}}, false},
		{Rules{Hosts: []string{"a b"}}, false},
		{Rules{Hosts: []string{":8080"}}, false},
		{Rules{Hosts: []string{""}}, false},
		{Rules{Origins: []string{"https://10.0.0.1", "https://xn--bcher-kva.example", "moz-extension://6e4f3a-11",
			"tauri://localhost", "https://reader.example:80"}}, true},
		{Rules{Origins: []string{"https://reader.example."}}, false},
		{Rules{Origins: []string{"https://reader.example:"}}, false},
		{Rules{Origins: []string{"https://reader.example:08443"}}, false},
		{Rules{Origins: []string{"https://reader.example:65536"}}, false},
		{Rules{Origins: []string{"https://reader.example?"}}, false},
		{Rules{Origins: []string{"https://reader.example#"}}, false},
		{Rules{Origins: []string{"https://a@reader.example"}}, false},
		{Rules{Origins: []string{"https://bücher.example"}}, false},
		{Rules{Origins: []string{"http://127.1:3000"}}, false},
		{Rules{Origins: []string{"http://[0:0::1]:3000"}}, false},
		{Rules{Origins: []string{"wss://reader.example"}}, false},
		{Rules{Origins: []string{"file://"}}, false},
		{Rules{Origins: []string{"localhost:3000"}}, false},
		{Rules{Origins: []string{"//reader.example"}}, false},
		{Rules{Origins: []string{""}}, false},
		{Rules{Origins: []string{"https://reader.example https://a.example"}}, false},
		{Rules{Origins: []string{"reader.example"}}, false},
		{Rules{Origins: []string{"https://Reader.example"}}, false},
		{Rules{Origins: []string{"https://reader.example/"}}, false},
		{Rules{Origins: []string{"https://reader.example:443"}}, false},
		{Rules{Origins: []string{"http://reader.example:80"}}, false},
		{Rules{Origins: []string{"https://*.example"}}, false},
		{Rules{Origins: []string{"*"}}, false},
		{Rules{Origins: []string{"null"}}, false},
	} {
		if err := c.rules.Validate(); (err == nil) != c.valid {
			t.Errorf("%+v: %v", c.rules, err)
		}
	}
}

// An origin that is nearly right is refused with what would be.
func TestValidSaysWhatToWrite(t *testing.T) {
	for origin, want := range map[string]string{
		"https://Reader.example./": "here https://reader.example:", "HTTP://LOCALHOST:080/": "here http://localhost:",
		"http://[0:0::1]:03000": "here http://[::1]:3000:", "https://*.example": "without a wildcard",
		"reader.example": "such as https://reader.example",
	} {
		if err := (Rules{Origins: []string{origin}}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", origin, err, want)
		}
	}
}

// A person who follows a link from a page of the same site comes as a browser's navigation; a
// page's picture does not.
func TestCheckFollowedLink(t *testing.T) {
	r := httptest.NewRequest("GET", "http://localhost/", nil)
	r.Header.Set("Sec-Fetch-Site", "same-site")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	if err := (Rules{}).Check(r); err != nil {
		t.Error(err)
	}
}
