package oidc

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
)

// Keys come and go at the issuer while the listener runs, and it is not asked more often than it
// should be. T-STORM
func TestKeyRotation(t *testing.T) {
	i := newIssuer(t)
	first, second, third := newKey(t, "1", "ES256"), newKey(t, "2", "ES256"), newKey(t, "3", "ES256")
	i.set(nil, first)
	v, pass := i.verifier(i.config())
	var refused error
	expect := func(what string, k jose.JSONWebKey, ok bool, fetches int) {
		t.Helper()
		// What is fetched may have changed the clock's hour: each token is made when the verifier's
		// clock says so.
		at := v.now().Unix()
		_, err := v.authenticateRequest(with(i.token(k, map[string]any{"iat": at, "exp": at + 60})))
		if (err == nil) != ok || i.fetched() != fetches {
			t.Errorf("%s: %v, want it to be good: %v; %d fetches, want %d", what, err, ok, i.fetched(), fetches)
		}
		refused = err
	}
	come := func(what string, k jose.JSONWebKey) {
		t.Helper()
		at := v.now().Unix()
		if _, err := v.authenticateRequest(with(i.token(k, map[string]any{"iat": at, "exp": at + 60}))); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A peer that comes with a key that may be there by now is not told that the token is bad, but
	// when to come again.
	told := func(what string, later bool) {
		t.Helper()
		var r *aaep.Rejection
		if is := errors.As(refused, &r) && r.Code == aaep.TransportUnavailable; is != later || is &&
			(r.RetryAfter <= 0 || r.RetryAfter > credentials.FetchPace) {
			t.Errorf("%s: %v, want to come again: %v", what, refused, later)
		}
	}
	expect("at first", first, true, 1)
	i.set(nil, first, second)
	expect("a new key", second, true, 2)
	expect("the old key still", first, true, 2)
	for range 5 {
		expect("a key nobody knows, at once", third, false, 2)
		told("a key nobody knows, at once", true)
	}
	pass(credentials.FetchPace)
	expect("a key nobody knows, later", third, false, 3)
	told("a key nobody knows, later", false)
	i.set(nil, second, third)
	expect("a new key, too soon", third, false, 3)
	told("a new key, too soon", true)
	pass(credentials.FetchPace)
	expect("a new key, later", third, true, 4)
	i.set(nil, third)
	expect("withdrawn, but not seen", second, true, 4)
	pass(credentials.FetchAfter + time.Second)
	expect("withdrawn", second, false, 5)

	i.set(nil, first)
	before := i.jwks()
	// Whatever the issuer answers that is no set of keys, those from before stay in force.
	for what, answer := range map[string]http.HandlerFunc{
		"down":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); _, _ = w.Write(before) },
		"empty":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) },
		"a page":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"twice":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[],"keys":[]}`)) },
		"hanging up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"without end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte(" "), maxDocument+1))
		},
	} {
		i.set(answer, third)
		pass(credentials.FetchAfter + time.Second)
		n := i.fetched() + 1
		come(what, third)
		looked(v)
		expect(what+", at once", third, true, n)
	}
	i.set(nil, first)
	pass(credentials.FetchAfter + time.Second)
	n := i.fetched() + 1
	come("back, seen by nobody", third)
	looked(v)
	expect("back", third, false, n)
}

// looked waits until no goroutine looks whether the keys are still the same.
func looked(v *verifier) {
	_, _, _ = v.keys.remote.Get(context.Background(), func([]key) bool { return false })
}

// While the issuer cannot be reached the log says that, and why a peer whose key is new is not let
// in.
func TestIssuerDownIsTold(t *testing.T) {
	i := newIssuer(t)
	first, second := newKey(t, "1", "ES256"), newKey(t, "2", "ES256")
	i.set(nil, first)
	var log strings.Builder
	told := func(what string, want ...string) {
		t.Helper()
		lines := slices.DeleteFunc(strings.Split(log.String(), "\n"), func(line string) bool { return line == "" })
		log.Reset()
		if len(lines) != len(want) {
			t.Fatalf("%s: told %q, want %q", what, lines, want)
		}
		for n := range want {
			if !strings.Contains(lines[n], want[n]) || !strings.Contains(lines[n], i.url) {
				t.Errorf("%s: told %q, want %q", what, lines[n], want[n])
			}
		}
	}
	c := i.config()
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	v, pass := i.verifier(c)
	come := func(k jose.JSONWebKey) error {
		at := v.now().Unix()
		_, err := v.authenticateRequest(with(i.token(k, map[string]any{"iat": at, "exp": at + 60})))
		return err
	}
	check(t, come(first))
	told("reached")
	i.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, second)
	for range 30 { // of which each is asked about a new key
		pass(credentials.FetchPace)
		if err := come(second); !errors.Is(err, aaep.TransportUnavailable) ||
			!strings.Contains(err.Error(), "status 503") {
			t.Fatalf("a new key: %v", err)
		}
		check(t, come(first))
		looked(v)
	}
	told("down", "cannot be had")
	pass(time.Hour)
	check(t, come(first))
	looked(v)
	told("down still", "cannot be had")
	i.set(nil, second)
	pass(credentials.FetchPace)
	check(t, come(second))
	told("back", "can be had again")
}

// Many at once make one fetch; those whose key is known do not wait for it.
func TestOneFetchForMany(t *testing.T) {
	i := newIssuer(t)
	first, second := newKey(t, "1", "ES256"), newKey(t, "2", "ES256")
	i.set(nil, first)
	v, pass := i.verifier(i.config())
	pass(credentials.FetchAfter + time.Second) // what is known is old, too
	asked, goOn := make(chan struct{}), make(chan struct{})
	i.set(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-goOn
		_, _ = w.Write(i.jwks())
	}, first, second)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := v.authenticateRequest(with(i.token(second, nil))); err != nil {
				t.Error(err)
			}
		})
	}
	<-asked
	if _, err := v.authenticateRequest(with(i.token(first, nil))); err != nil {
		t.Errorf("a key that is known had to wait: %v", err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	if _, err := v.authenticateRequest(with(i.token(second, nil)).WithContext(ctx)); err == nil {
		t.Error("who has hung up still waits")
	}
	close(goOn)
	all.Wait()
	if n := i.fetched(); n != 2 {
		t.Errorf("%d fetches, want the first and one for all", n)
	}
}

// A peer that asks and hangs up does not use up the one fetch that others wait for.
func TestFetchOutlivesItsRequest(t *testing.T) {
	i := newIssuer(t)
	first, second := newKey(t, "1", "ES256"), newKey(t, "2", "ES256")
	i.set(nil, first)
	v, _ := i.verifier(i.config())
	ctx, hangUp := context.WithCancel(t.Context())
	i.set(func(w http.ResponseWriter, _ *http.Request) {
		hangUp()
		_, _ = w.Write(i.jwks())
	}, second)
	_, _ = v.authenticateRequest(with(i.token(second, nil)).WithContext(ctx))
	if _, err := v.authenticateRequest(with(i.token(second, nil))); err != nil || i.fetched() != 2 {
		t.Errorf("%v after %d fetches, want the key of the second", err, i.fetched())
	}
}

// Keys in a file, and keys at an address, without discovery.
func TestKeysElsewhere(t *testing.T) {
	i := newIssuer(t)
	first, second := newKey(t, "1", "ES256"), newKey(t, "2", "EdDSA")
	i.set(nil, first)
	path := file(t, i.jwks())
	v, err := newVerifier(t.Context(), Config{Issuer: "https://login.example", Audience: audience1, Keys: path})
	check(t, err)
	ours := map[string]any{"iss": "https://login.example"}
	knows := func(v *verifier, k jose.JSONWebKey, want bool) {
		t.Helper()
		if who, err := v.authenticateRequest(with(i.token(k, ours))); (who == "https://login.example#ada") != want {
			t.Errorf("%q, %v; want it to be good: %v", who, err, want)
		}
	}
	knows(v, first, true)
	knows(v, second, false)
	i.set(nil, second)
	replace(t, path, i.jwks())
	knows(v, first, false)
	knows(v, second, true)
	replace(t, path, []byte("{"))
	knows(v, second, true)
	if n := i.fetched(); n != 0 {
		t.Errorf("%d fetches", n)
	}
	v, err = newVerifier(t.Context(),
		Config{Issuer: "https://login.example", Audience: audience1, Keys: i.url + "/keys", TLS: i.tls()})
	check(t, err)
	knows(v, second, true)
}

// Which keys of a set count, and when it is clear which is meant. INV-40, T-JWS
func TestParseKeys(t *testing.T) {
	es, rs := newKey(t, "a", "ES256"), newKey(t, "b", "RS256")
	twin := newKey(t, "a", "ES256")
	open, encrypts, other := newKey(t, "a", "ES256"), newKey(t, "a", "ES256"), newKey(t, "c", "ES384")
	open.Algorithm, other.Algorithm, encrypts.Use = "", "", "enc"
	shared := jose.JSONWebKey{Key: []byte(strings.Repeat("s", 32)), KeyID: "a", Algorithm: "HS256"}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	check(t, err)
	weak := jose.JSONWebKey{Key: small.Public(), KeyID: "a", Algorithm: "RS256"}
	text := func(keys ...jose.JSONWebKey) []string {
		var all []string
		for _, k := range keys {
			b, err := k.MarshalJSON()
			check(t, err)
			all = append(all, string(b))
		}
		return all
	}
	pub := func(k jose.JSONWebKey) jose.JSONWebKey { return k.Public() }
	for _, tt := range []struct {
		name    string
		keys    []string
		id, alg string
		ok      bool
	}{
		{"by its id", text(pub(es), pub(rs)), "a", "ES256", true},
		{"for another algorithm", text(pub(es), pub(rs)), "a", "RS256", false},
		{"for another of its kind", text(pub(rs)), "b", "PS256", false},
		{"for any of its kind", text(pub(open)), "a", "ES256", true},
		{"of another curve", text(pub(other)), "c", "ES256", false},
		{"without an id", text(pub(es), pub(rs)), "", "RS256", true},
		{"without an id, two that fit", text(pub(es), pub(open)), "", "ES256", false},
		{"twins", text(pub(es), pub(twin)), "a", "ES256", false},
		{"for encryption", text(pub(encrypts), pub(rs)), "a", "ES256", false},
		{"a private key", text(es, pub(rs)), "a", "ES256", false},
		{"a shared key", text(shared, pub(rs)), "a", "HS256", false},
		{"1024 bits", text(weak, pub(es)), "a", "RS256", false},
		{"beside one of an unknown kind",
			append(text(pub(es)), `{"kty":"NEW","kid":"a"}`, `{"kty":"OKP","crv":"Ed448","x":"AA","kid":"z"}`, `7`),
			"a", "ES256", true},
		{"not to verify",
			append(text(pub(rs)), strings.Replace(text(pub(es))[0], `"use":"sig"`, `"key_ops":["encrypt"]`, 1)), "a",
			"ES256", false},
		{"to verify",
			append(text(pub(rs)), strings.Replace(text(pub(es))[0], `"use":"sig"`, `"key_ops":["verify"]`, 1)), "a",
			"ES256", true},
	} {
		set, err := parseKeys([]byte(`{"keys":[` + strings.Join(tt.keys, ",") + `]}`))
		check(t, err)
		if key, err := pickKey(set, tt.id, tt.alg); (err == nil) != tt.ok || (key != nil) != tt.ok {
			t.Errorf("%s: %v, want one: %v", tt.name, err, tt.ok)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"keys":[]}`, `{"keys":{}}`, `{"keys":[` + text(shared)[0] + `]}`,
		`{"keys":[` + text(es)[0] + `]}`, `{"Keys":[` + text(pub(es))[0] + `]}`} {
		if set, err := parseKeys([]byte(bad)); err == nil {
			t.Errorf("%s gave %d keys", bad, len(set))
		}
	}
}

// A listener that could let no peer in, or any, does not start; and it says why within a bounded
// time. INV-42
func TestNewRefused(t *testing.T) {
	i := newIssuer(t)
	i.set(nil, newKey(t, "1", "ES256"))
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	defer elsewhere.Close()
	answers := map[string]http.HandlerFunc{
		"/away/": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"/lies/": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"https://evil.example","jwks_uri":"https://evil.example"}`))
		},
		"/large/": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte(" "), maxDocument+1))
		},
		"/rude/": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = w.Write([]byte("\x1b[2J\nlog: fine"))
		},
		"/hangs/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for at, answer := range answers {
		mux.HandleFunc(at, answer)
	}
	said := func(path, keys string) {
		mux.HandleFunc(path+"/", func(w http.ResponseWriter, _ *http.Request) {
			check(t, json.NewEncoder(w).Encode(map[string]string{"issuer": srv.URL + path, "jwks_uri": keys}))
		})
	}
	said("/clear", "http://login.example/keys")
	said("/nowhere", "")
	for _, tt := range []struct {
		name, says string
		c          Config
	}{
		{"no audience", "the audience is empty", Config{Issuer: i.url, TLS: i.tls()}},
		{"no issuer", "issuer's address", Config{Audience: "a"}},
		{"an issuer in clear", "not https", Config{Issuer: "http://login.example", Audience: "a"}},
		{"an issuer with a password", "issuer's address",
			Config{Issuer: "https://a:secret@login.example", Audience: "a"}},
		{"an issuer with a fragment", "issuer's address", Config{Issuer: "https://login.example#x", Audience: "a"}},
		{"an issuer not trusted", "certificate", Config{Issuer: i.url, Audience: "a"}},
		{"keys in clear", "not https", Config{Issuer: i.url, Audience: "a", Keys: "http://login.example/keys"}},
		{"no file", "no such file", Config{Issuer: i.url, Audience: "a", Keys: "gone.json"}},
		{"a file without keys", "JWK set", Config{Issuer: i.url, Audience: "a", Keys: file(t, []byte("<html>"))}},
		{"nobody there", "does not say", Config{Issuer: "http://127.0.0.1:1", Audience: "a"}},
		{"another origin", "another origin", Config{Issuer: srv.URL + "/away", Audience: "a"}},
		{"another issuer", "evil.example", Config{Issuer: srv.URL + "/lies", Audience: "a"}},
		{"too much", "too large", Config{Issuer: srv.URL + "/large", Audience: "a"}},
		{"an error", "500", Config{Issuer: srv.URL + "/rude", Audience: "a"}},
		{"says keys are in clear", "not https", Config{Issuer: srv.URL + "/clear", Audience: "a"}},
		{"says keys are nowhere", "address of the keys", Config{Issuer: srv.URL + "/nowhere", Audience: "a"}},
	} {
		_, err := New(t.Context(), tt.c)
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.ContainsAny(err.Error(), "\x1b\n") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.says)
		}
		silent := slices.Contains([]string{"an issuer not trusted", "nobody there", "another origin", "too much",
			"an error"}, tt.name)
		if errors.Is(err, aaep.TransportUnavailable) != silent {
			t.Errorf("%s: %v, want that it did not answer: %v", tt.name, err, silent)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := New(ctx, Config{Issuer: srv.URL + "/hangs", Audience: "a"}); err == nil ||
		errors.Is(t.Context().Err(), context.Canceled) {
		t.Errorf("an issuer that never answers: %v", err)
	}
	if c := newClient(nil); c.Timeout <= 0 || c.Timeout > 10*time.Second {
		t.Errorf("a request may last %v", c.Timeout)
	}
}
