package oidc

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
)

// A token that was good is known again, for as long as the issuer has its key and its time is not
// over.
func TestGoodToken(t *testing.T) {
	i := newIssuer(t)
	first, second, impostor := newKey(t, "1", "ES256"), newKey(t, "2", "RS256"), newKey(t, "1", "ES256")
	i.set(nil, first, second)
	v, pass := i.verifier(i.config())
	var verified *verifiedToken
	expect := func(what, token string, ok, known bool) {
		t.Helper()
		before, _ := v.verified.lookup(token)
		if _, err := v.authenticateRequest(with(token)); (err == nil) != ok {
			t.Errorf("%s: %v, want it to be good: %v", what, err, ok)
		}
		verified, _ = v.verified.lookup(token)
		if (verified != nil) != ok || known != (ok && before == verified) {
			t.Errorf("%s: verified anew: %v, want %v", what, before != verified, !known)
		}
	}
	one, two := i.token(first, nil), i.token(second, map[string]any{"exp": time.Now().Add(6 * time.Hour).Unix()})
	expect("at first", one, true, false)
	expect("again", one, true, true)
	expect("another of the same principal", two, true, false)
	expect("again", two, true, true)
	expect("with another end", one[:len(one)-4]+"AAAA", false, false)

	i.set(nil, impostor, second)
	pass(credentials.FetchAfter + time.Second)
	expect("another key of that name", one, false, false)
	expect("the other's key is there still", two, true, true)
	i.set(nil, first, second)
	pass(credentials.FetchAfter + time.Second)
	expect("the key is back", one, true, false)
	i.set(nil, first)
	pass(credentials.FetchAfter + time.Second)
	expect("withdrawn", two, false, false)
	pass(time.Hour)
	expect("expired", one, false, false)
}

// Who has the last word about a token is asked each time, and cannot spoil it for the next.
func TestGoodTokenAllowed(t *testing.T) {
	i := newIssuer(t)
	k := newKey(t, "1", "EdDSA")
	i.set(nil, k)
	c := i.config()
	asked := 0
	c.Allow = func(claims map[string]any) error {
		asked++
		if claims["groups"] != "readers" || asked > 2 {
			return errors.New("no reader")
		}
		maps.DeleteFunc(claims, func(string, any) bool { return true })
		return nil
	}
	v, _ := i.verifier(c)
	token := i.token(k, map[string]any{"groups": "readers"})
	for n := range 4 {
		_, err := v.authenticateRequest(with(token))
		if ok := n < 2; (err == nil) != ok || !ok && !errors.Is(err, aaep.AuthorizationDenied) {
			t.Errorf("%d: %v, want it to be good: %v", n, err, ok)
		}
	}
	if asked != 4 {
		t.Errorf("asked %d times, want 4", asked)
	}
}

// Tokens that come and go do not take more and more memory.
func TestGoodTokensAreBounded(t *testing.T) {
	var g verifiedTokens
	for n := range maxVerified + 10 {
		g.rememberToken(fmt.Sprint(n), &verifiedToken{})
	}
	if _, known := g.lookup(fmt.Sprint(maxVerified + 9)); len(g.bySum) != maxVerified || !known {
		t.Errorf("%d tokens are remembered, the last: %v; want %d", len(g.bySum), known, maxVerified)
	}
}

// What it costs to be asked again who a peer is, as each stream is every five seconds, and what it
// costs at first.
func BenchmarkAuthenticate(b *testing.B) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		i := newIssuer(b)
		k := newKey(b, "k", alg)
		i.set(nil, k)
		v, _ := i.verifier(i.config())
		token := i.token(k, nil)
		run := func(name string, before func()) {
			b.Run(alg+"/"+name, func(b *testing.B) {
				r := with(token).WithContext(b.Context())
				for b.Loop() {
					before()
					if _, err := v.authenticateRequest(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("first", func() { v.verified.forget(token) })
		run("again", func() {})
	}
}
