package manifest

import (
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// publisher is an agent's origin.
type publisher struct {
	*httptest.Server
	text  atomic.Pointer[string]
	asked atomic.Int32
}

func publish(t *testing.T) *publisher {
	p := &publisher{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		w.Header().Set("Content-Type", "application/jwk-set+json")
		io.WriteString(w, *p.text.Load())
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) set(t *testing.T, signers ...*Signer) {
	text, err := PublicKeys(signers...)
	check(t, err)
	s := string(text)
	p.text.Store(&s)
}

func signer(t *testing.T, key crypto.Signer, o SignerOptions) *Signer {
	t.Helper()
	s, err := NewSigner(key, o)
	check(t, err)
	return s
}

func sign(t *testing.T, s *Signer, m *Manifest) string {
	t.Helper()
	token, err := s.Sign(m, time.Now())
	check(t, err)
	return token
}

// SEC-006, T6: keys from where the agent publishes them, rotated under way, and remembered from the
// first use on.
func TestTrust(t *testing.T) {
	k := keysOf()
	old, next := signer(t, k.es, SignerOptions{}), signer(t, k.rs, SignerOptions{})
	p := publish(t)
	p.set(t, old)
	source, err := RemoteKeys(p.URL+KeysPath, nil)
	check(t, err)
	store := filepath.Join(t.TempDir(), "met.json")
	first, err := OpenFirstUse(store)
	check(t, err)
	trust := &Trust{Source: source, FirstUse: first}
	expect := Expect{AgentID: "planner"}
	for range 3 {
		if _, id, err := trust.Verify(t.Context(), sign(t, old, plannerManifest(t)), expect); err != nil ||
			id.LooksLike != "" {
			t.Fatalf("%+v, %v", id, err)
		}
	}
	if p.asked.Load() != 1 {
		t.Errorf("asked for keys %d times, want once", p.asked.Load())
	}
	// What is refused anyway causes no fetch, and what is unknown not more than one.
	for _, token := range []string{"a.b.c", mint(t, `{"alg":"HS256","kid":"x"}`, planner, k.es),
		mint(t, `{"alg":"ES256"}`, planner, k.es)} {
		if _, _, err := trust.Verify(t.Context(), token, expect); err == nil {
			t.Errorf("%s was taken", token)
		}
	}
	if p.asked.Load() != 1 {
		t.Errorf("asked for keys %d times, want once", p.asked.Load())
	}
	p.set(t, old, next)
	_, _, err = trust.Verify(t.Context(), sign(t, next, plannerManifest(t)), expect)
	var changed *KeyChangedError
	if !errors.Is(err, ErrKeyChanged) || !errors.As(err, &changed) || changed.Known != thumbprintOf(k.es.Public()) ||
		changed.Presented != thumbprintOf(k.rs.Public()) ||
		changed.File != store || !strings.Contains(err.Error(), changed.Known) ||
		!strings.Contains(err.Error(), changed.Presented) {
		t.Fatalf("another key: %v", err)
	}
	if _, _, err := trust.Verify(t.Context(), sign(t, old, plannerManifest(t)), expect); err != nil {
		t.Errorf("the key of before: %v", err)
	}
	check(t, first.Accept("planner", changed.Presented))
	if _, _, err := trust.Verify(t.Context(), sign(t, next, plannerManifest(t)), expect); err != nil {
		t.Errorf("the key that was accepted: %v", err)
	}
	if _, _, err := trust.Verify(t.Context(), sign(t, old, plannerManifest(t)), expect); !errors.Is(err,
		ErrKeyChanged) {
		t.Errorf("the key that was given up: %v", err)
	}
	for range 9 {
		if _, _, err := trust.Verify(t.Context(), mint(t, `{"alg":"ES256","kid":"nobody's"}`, planner, k.es),
			expect); !errors.Is(err, ErrUnknownKey) {
			t.Error(err)
		}
	}
	if p.asked.Load() != 2 {
		t.Errorf("asked for keys %d times, want twice", p.asked.Load())
	}
	pinned := &Trust{Verifier: Verifier{Keys: set(t, jwk(t, k.other, nil))}, Source: source, FirstUse: first}
	if _, _, err := pinned.Verify(t.Context(), sign(t, signer(t, k.other, SignerOptions{}), plannerManifest(t)),
		expect); err != nil {
		t.Errorf("a key that the caller named: %v", err)
	}
	if _, _, err := pinned.Verify(t.Context(), sign(t, next, plannerManifest(t)), expect); !errors.Is(err,
		ErrKeyChanged) {
		t.Errorf("the agent's own key after that: %v", err)
	}
	if err := first.Accept("someone", changed.Presented); err == nil {
		t.Error("a key of an agent that nobody met was accepted")
	}
	for _, no := range []string{"", "x", changed.Presented[1:], changed.Presented + "=", changed.Presented + "\n"} {
		if err := first.Accept("planner", no); err == nil {
			t.Errorf("%q was accepted as the thumbprint of a key", no)
		}
	}
	if info, err := os.Stat(store); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// T-NAME, SEC-006: an agent that comes later and looks like one that is known is told apart; the
// known one is not.
func TestFirstUseLookalike(t *testing.T) {
	k := keysOf()
	first, err := OpenFirstUse(filepath.Join(t.TempDir(), "met.json"))
	check(t, err)
	trust := &Trust{Verifier: Verifier{Keys: set(t, jwk(t, k.es, nil))}, FirstUse: first}
	s := signer(t, k.es, SignerOptions{})
	for range 2 { // each time, also when it was met before
		for _, c := range []struct{ id, name, like string }{
			{"planner", "Planner", ""},
			{"plаnner", "Travel", "planner"}, // with a Cyrillic а
			{"p2", "PIanner", "planner"},     // with a capital I
			{"p3", "Planner", "planner"},
			{"other", "", ""},
			{"other2", "", ""},
		} {
			m := plannerManifest(t)
			m.AgentID, m.AgentName = c.id, c.name
			_, id, err := trust.Verify(t.Context(), sign(t, s, m), Expect{AgentID: c.id})
			if err != nil || id.LooksLike != c.like {
				t.Errorf("%s, %s: %+v, %v; want that it looks like %q", c.id, c.name, id, err, c.like)
			}
		}
	}
}

// T-NAME: a name that is taken later passes for no other agent either; to go by another one, or to
// be copied, is no offence.
func TestFirstUseRenamed(t *testing.T) {
	first, err := OpenFirstUse(filepath.Join(t.TempDir(), "met.json"))
	check(t, err)
	for _, c := range []struct{ id, name, like string }{
		{"games", "Games", ""},
		{"bank", "Bank", ""},
		{"bаnk", "Weather", "bank"}, // with a Cyrillic а
		{"games", "Bank", "bank"},
		{"games", "Ваnk", "bank"}, // with a Cyrillic В
		{"games", "Games", ""},
		{"bank", "Bank", ""},
		{"bank", "My Bank", ""},
		{"bank", "", ""},
		{"bank", "Weather", "bаnk"},
	} {
		like, _, err := first.meetAgent(&Manifest{AgentID: c.id, AgentName: c.name}, "key", "", false, now)
		if err != nil || like != c.like {
			t.Errorf("%s as %s: it looks like %q, want %q; %v", c.id, c.name, like, c.like, err)
		}
	}
}

// A file that cannot be used is no reason to trust.
func TestFirstUseFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "met.json")
	for _, text := range []string{"", "{}", `[{"agent_id":"a","agent_id":"b"}]`, `[{"agent_id":"a","pinned":true}]`} {
		check(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := OpenFirstUse(path); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	check(t, os.WriteFile(path, []byte("[]"), 0o600))
	first, err := OpenFirstUse(path)
	check(t, err)
	if runtime.GOOS != "windows" {
		check(t, os.Chmod(path, 0o666))
		if _, _, err := first.meetAgent(plannerManifest(t), "k", "", false, now); err == nil ||
			!strings.Contains(err.Error(), "0666") {
			t.Errorf("a file that anybody may write: %v", err)
		}
		check(t, os.Chmod(path, 0o600))
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			m := plannerManifest(t)
			m.AgentID = strings.Repeat("a", i+1)
			if _, _, err := first.meetAgent(m, "k", "", false, now); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if met, err := first.readFile(); err != nil || len(met) != 8 {
		t.Errorf("%d agents are in the file, want 8; %v", len(met), err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("there are %v", names)
	}
	gone, err := OpenFirstUse(filepath.Join(dir, "none", "met.json"))
	check(t, err)
	if _, _, err := gone.meetAgent(plannerManifest(t), "k", "", false, now); err == nil {
		t.Error("it cannot be kept, and that is not told")
	}
}

// A Source that fails takes nothing away from keys that are there, nor from certificates.
func TestTrustWithoutSource(t *testing.T) {
	k := keysOf()
	down := publish(t)
	down.Close()
	source, err := RemoteKeys(down.URL+KeysPath, nil)
	check(t, err)
	trust := &Trust{Verifier: Verifier{Keys: set(t, jwk(t, k.es, nil))}, Source: source}
	if _, _, err := trust.Verify(t.Context(), sign(t, signer(t, k.es, SignerOptions{}), plannerManifest(t)),
		Expect{AgentID: "planner"}); err != nil {
		t.Error(err)
	}
	byRSA := sign(t, signer(t, k.rs, SignerOptions{}), plannerManifest(t))
	_, _, err = trust.Verify(t.Context(), byRSA, Expect{AgentID: "planner"})
	if !errors.Is(err, ErrUnknownKey) || !strings.Contains(err.Error(), down.URL) {
		t.Errorf("%v, want that it names %s", err, down.URL)
	}
	trust.Roots = x509.NewCertPool()
	authority := certify(t, &x509.Certificate{DNSNames: []string{"planner"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour)}, k.rs, nil, nil)
	trust.Roots.AddCert(authority)
	byCert := sign(t, signer(t, k.rs, SignerOptions{Certificates: []*x509.Certificate{authority}}), plannerManifest(t))
	if _, _, err := trust.Verify(t.Context(), byCert, Expect{AgentID: "planner"}); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	for _, address := range []string{"http://bank.example/keys", "keys.json", "https://user:pw@bank.example/",
		"ftp://bank.example"} {
		if _, err := RemoteKeys(address, nil); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("RemoteKeys(%q): %v", address, err)
		}
	}
}

// INV-42: keys are small, JSON by their type, and from where they were asked for.
func TestRemoteKeysRefuses(t *testing.T) {
	k := keysOf()
	text, err := json.Marshal(jwk(t, k.es, nil))
	check(t, err)
	elsewhere := publish(t)
	good := string(text)
	elsewhere.text.Store(&good)
	for says, answer := range map[string]http.HandlerFunc{
		"302": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(302)
		},
		"Content-Type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Write(text)
		},
		"more than": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(append(text, strings.Repeat(" ", MaxSize)...))
		},
		"there is none": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
	} {
		srv := httptest.NewServer(answer)
		source, err := RemoteKeys(srv.URL, nil)
		check(t, err)
		if keys, err := source(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, %v; want that it says %q", keys, err, says)
		}
		srv.Close()
	}
	if elsewhere.asked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// Whatever strangers call themselves, those who were met stay known.
func TestFirstUseIsNotFilledUp(t *testing.T) {
	first, err := OpenFirstUse(filepath.Join(t.TempDir(), "met.json"))
	if err != nil {
		t.Fatal(err)
	}
	meet := func(id, name string) error {
		_, _, err := first.meetAgent(&Manifest{AgentID: id, AgentName: name}, "key", "", false, time.Now())
		return err
	}
	if err := meet("bank", "Bank"); err != nil {
		t.Fatal(err)
	}
	if err := meet("stranger", strings.Repeat("n", 1<<16)); !errors.Is(err, errPayload) {
		t.Errorf("a name of 64 KiB: %v", err)
	}
	full := false
	for i := 0; i < 1000 && !full; i++ {
		err := meet(fmt.Sprint("stranger", i), strings.Repeat("n", 4000))
		full = err != nil && strings.Contains(err.Error(), "no room")
		if err != nil && !full {
			t.Fatal(err)
		}
	}
	if !full {
		t.Error("a thousand long names were all kept")
	}
	if err := meet("bank", "Bank"); err != nil {
		t.Error(err)
	}
}

// T-NAME, T6: a first meeting is one until the program ends; an address that is known has no other
// agent with another key, unless a person accepts it; and a file of an older version, without
// addresses, still counts.
func TestFirstUseAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "met.json")
	check(t,
		os.WriteFile(path, []byte(`[{"agent_id":"old","agent_name":"Old","key":"k0","since":"2026-01-02T03:04:05Z"}]`),
			0o600))
	print := func(c string) string { return strings.Repeat(c, 42) + "A" }
	open := func() *FirstUse {
		f, err := OpenFirstUse(path)
		check(t, err)
		return f
	}
	f := open()
	meet := func(id, key, address string, settled, first bool, known string) {
		t.Helper()
		_, is, err := f.meetAgent(&Manifest{AgentID: id}, key, canonicalAddress(address), settled, now)
		var changed *KeyChangedError
		if errors.As(err, &changed); err != nil && changed == nil || (changed != nil) != (known != "") ||
			changed != nil && (changed.AgentID != known || changed.Presented != key) || is != first {
			t.Errorf("%s with %.3s at %s: first %v, %v; want %v, and that %q is known", id, key, address, is, err,
				first, known)
		}
	}
	meet("old", "k0", "https://old.example", false, false, "") // it was met by the older version
	meet("old", "k1", "https://old.example", false, false, "old")
	meet("new", "k1", "https://OLD.example:443/", false, false, "old") // and its address is known from now on
	bank, mallory := print("B"), print("M")
	meet("bank", bank, "https://bank.example", false, true, "")
	meet("bank", bank, "https://bank.example", false, true, "") // also after a cut
	f = open()
	meet("bank", bank, "https://bank.example/", false, false, "")
	meet("mallory", mallory, "https://mallory.example", false, true, "")
	meet("mallory", mallory, "https://bank.example", false, false, "bank") // although it was met elsewhere
	meet("other", mallory, "https://bank.example", false, false, "bank")
	meet("bank", bank, "https://bank.example/agents/2", false, false, "")
	meet("given", mallory, "https://bank.example", true, false, "") // by a key that the person gave
	f = open()
	check(t, f.Accept("bank", mallory))
	meet("other", mallory, "https://bank.example", false, false, "")
	meet("bank", bank, "https://bank.example", false, false, "bank")
}

// An agent that proves nothing, where one that proved who it is was met, is told as that.
func TestCheckUnsigned(t *testing.T) {
	f, err := OpenFirstUse(filepath.Join(t.TempDir(), "met.json"))
	check(t, err)
	trust := Trust{Address: "https://bank.example/", FirstUse: f}
	for _, want := range []error{ErrUnsigned, ErrProvedBefore} {
		if err := trust.CheckUnsigned(); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		_, _, err := f.meetAgent(&Manifest{AgentID: "bank"}, "k", canonicalAddress("https://BANK.example"), false, now)
		check(t, err)
	}
	if err := trust.CheckUnsigned(); !strings.Contains(err.Error(), `"bank" is known since`) {
		t.Error(err)
	}
	for name, other := range map[string]Trust{"elsewhere": {Address: "https://other.example", FirstUse: f}, "no address": {FirstUse: f},
		"no file": {Address: "https://bank.example"}} {
		if err := other.CheckUnsigned(); !errors.Is(err, ErrUnsigned) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
