package manifest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// INV-42: what is fetched is small, in time, JSON by its type, and from where it was asked for.
func TestDiscover(t *testing.T) {
	var asked *http.Request
	answer := func(w http.ResponseWriter) {}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Clone(context.Background())
		answer(w)
	}))
	defer srv.Close()
	typed := func(typ, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.Header().Set("Content-Type", typ); io.WriteString(w, body) }
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		says   string
	}{
		"good":    {typed("application/json; charset=utf-8", "{}"), ""},
		"signed":  {typed("application/jose", "a.b.c\n"), ""},
		"none":    {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, ErrNone.Error()},
		"page":    {typed("text/html", "<p>"), "Content-Type"},
		"no type": {typed("", "{}"), "Content-Type"},
		"huge":    {typed("application/json", strings.Repeat(" ", MaxSize+1)), "more than"},
		"redirect": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusFound)
		}, "302"},
		"broken": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, "500"},
	} {
		answer = c.answer
		data, err := Discover(t.Context(), srv.URL+"/?x=1", nil)
		if c.says == "" && (err != nil || len(bytes.TrimSpace(data)) != max(len(data), 1)) || c.says != "" &&
			(err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %q, %v; want %q", name, data, err, c.says)
		}
		if asked.URL.Path != Path || asked.URL.RawQuery != "" || asked.Header.Get("Authorization")+
			asked.Header.Get("Cookie") != "" {
			t.Errorf("%s: asked for %s with %v", name, asked.URL, asked.Header)
		}
	}
	for address, says := range map[string]string{
		"http://bank.example": "use https", "ftp://bank.example": "no", "bank.example": "not an http",
		"https://user:pw@bank.example": "credentials", "https:///x": "host",
	} {
		if _, err := Discover(t.Context(), address, nil); err == nil || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "pw") {
			t.Errorf("Discover(%q) = %v, want that it says %q", address, err, says)
		}
	}
}

// INV-42, SEC-006: what a peer names is never asked for on this machine or its network, whatever
// the name is.
func TestFetchStaysOutside(t *testing.T) {
	asked := 0
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer srv.Close()
	conf := &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
		ServerName: "example.com"}
	_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "https://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433",
		"0x7f.1", "0"} {
		_, err := Fetch(t.Context(), "https://"+host+":"+port+"/m", conf)
		if err == nil || asked != 0 {
			t.Errorf("Fetch from %s = %v after %d requests", host, err, asked)
		}
	}
	if _, err := Fetch(t.Context(), "http://127.0.0.1:"+port, nil); err == nil ||
		!strings.Contains(err.Error(), "https") {
		t.Errorf("Fetch over http = %v", err)
	}
	if _, err := Discover(t.Context(), srv.URL, conf); errors.Is(err, ErrNone) || asked != 1 {
		// the same, named by the user
		t.Errorf("Discover = %v after %d requests, want one", err, asked)
	}
}

// Only addresses of the public internet are public, also where one is written inside another.
func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:4700::1111": true, "8.8.8.8": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"0.0.0.0":    false,
		"100.64.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false, "240.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fc00::1": false, "ff02::1": false, "::ffff:10.0.0.1": false,
		"::ffff:8.8.8.8": true,
		"64:ff9b::a00:1": false, "64:ff9b:1::1": false, "2002:a00:1::1": false, "2001::1": false, "2001:db8::1": false,
		"fec0::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("public(%s) = %t", address, got)
		}
	}
}
