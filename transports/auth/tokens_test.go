package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/transports/auth"
)

// TR-015, SEC-016: a request with one bearer token of the list is its owner, and any other is
// refused.
func TestTokens(t *testing.T) {
	a, err := auth.Tokens(map[string]string{"ada": tokenA, "bob": tokenB})
	requireNoError(t, err)
	for _, tt := range []struct {
		name string
		r    *http.Request
		want string
		none bool
	}{
		{"the first", requestWith("Bearer " + tokenA), "ada", false},
		{"the second", requestWith("bearer " + tokenB), "bob", false},
		{"nothing", requestWith(), "", true},
		{"another scheme", requestWith("Basic " + tokenA), "", true},
		{"a signed token", requestWith("Bearer eyJ9.e30.c2ln"), "", true},
		{"an unknown one", requestWith("Bearer " + tokenC), "", false},
		{"a beginning", requestWith("Bearer " + tokenA[:31]), "", false},
		{"more than one", requestWith("Bearer " + tokenA + "0"), "", false},
		{"other letters", requestWith("Bearer " + strings.ToUpper(tokenA)), "", false},
		{"two headers", requestWith("Bearer "+tokenA, "Bearer "+tokenB), "", false},
		{"the principal", requestWith("Bearer ada"), "", false},
	} {
		got, err := a(tt.r)
		if got != tt.want || (err == nil) != (tt.want != "") || errors.Is(err, auth.ErrNone) != tt.none {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// refused are sets that must not be run with, by what is wrong with them.
var refused = map[string]map[string]string{
	"no tokens":          {},
	"openssl rand":       {"ada": "short-token"},
	"could be guessed":   {"ada": strings.Repeat("0123456789abcdef", 2)[:31]}, // 124 bits
	"be guessed":         {"ada": strings.Repeat("ab", 40)},
	"there twice":        {"ada": tokenA, "bob": tokenA},
	"three parts":        {"ada": "a07Kx2.Lq9Zr4Tt.Wm1VbYc8"},
	"that no token has":  {"ada": tokenA + "\""},
	"name is empty":      {"": tokenA},
	"cannot be seen":     {"a\x1b[2Jda": tokenA},
	"more than 512":      {strings.Repeat("a", 513): tokenA},
	"bearer token is em": {"ada": ""},
}

// Weak sets are refused, with a way out and without repeating a token. INV-37
func TestTokensRefused(t *testing.T) {
	for want, set := range refused {
		_, err := auth.Tokens(set)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", set, err, want)
			continue
		}
		for principal, token := range set {
			if token != "" && strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "\x1b") ||
				len(err.Error()) > 300 {
				t.Errorf("the error tells too much of %q: %v", principal, err)
			}
		}
	}
	for _, token := range []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789abcdef0123456789abcdef",
		"a07Kx2-Lq9_Zr4TtWm1VbY"} {
		// rand.Text, 16 bytes in hex and in base64
		if _, err := auth.Tokens(map[string]string{"ada": token}); err != nil {
			t.Errorf("a token of 128 bits: %v", err)
		}
	}
	many := map[string]string{}
	for i := range 1001 {
		many[fmt.Sprint("p", i)] = fmt.Sprintf("%s%04d", tokenA, i)
	}
	if _, err := auth.Tokens(many); err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("%d tokens: %v", len(many), err)
	}
	delete(many, "p1000")
	if _, err := auth.Tokens(many); err != nil {
		t.Errorf("%d tokens: %v", len(many), err)
	}
}

// Tokens change while the listener runs. What is not right changes nothing.
func TestTokenFile(t *testing.T) {
	log := &journal{}
	path := newFile(t, "# readers\n\nada "+tokenA+"\r\n  bob\t"+tokenB+"  \n")
	a, err := auth.TokenFile(path, log.logger())
	requireNoError(t, err)
	knows := func(what, token, want string) {
		t.Helper()
		if got, err := a(requestWith("Bearer " + token)); got != want {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	knows("the file", tokenA, "ada")
	knows("the file", tokenB, "bob")
	replaceFile(t, path, []byte("ada "+tokenA+"\nada "+tokenC+"\n"))
	knows("while a token is replaced", tokenA, "ada")
	knows("while a token is replaced", tokenC, "ada")
	knows("taken out", tokenB, "")
	replaceFile(t, path, []byte("ada "+tokenC))
	knows("after that", tokenA, "")
	knows("after that", tokenC, "ada")
	for what, text := range map[string]string{
		"empty": "", "comments": "# ada " + tokenA, "half a line": "ada " + tokenA[:10], "no token": "ada",
		"three words": "ada " + tokenA + " x", "a name twice": "ada " + tokenA + "\nbob " + tokenA,
	} {
		before := log.String()
		replaceFile(t, path, []byte(text))
		knows(what, tokenC, "ada")
		knows(what, tokenA, "")
		if told := strings.TrimPrefix(log.String(), before); strings.Count(told, "\n") != 1 ||
			!strings.Contains(told, "level=ERROR") || strings.Contains(told, tokenA[:10]) {
			t.Errorf("%s: the log got %q, want one error without a token", what, told)
		}
		if _, err := auth.TokenFile(path, nil); err == nil || strings.Contains(err.Error(), tokenA[:10]) {
			t.Errorf("%s, at the start: %v", what, err)
		}
	}
	replaceFile(t, path, []byte("bob "+tokenB))
	knows("mended", tokenB, "bob")
	knows("mended", tokenC, "")
	// An operator who takes out the last token wants no peer in; a file that was just written may
	// be about to get more.
	for what, text := range map[string]string{"empty": "", "comments": "# bob " + tokenB,
		"half a line": "bob " + tokenB[:10]} {
		replaceFile(t, path, []byte(text))
		knows(what+", just now", tokenB, "bob")
		before := log.String()
		stood := time.Now().Add(-3 * time.Second)
		requireNoError(t, os.Chtimes(path, stood, stood))
		want := ""
		if what == "half a line" {
			want = "bob"
		}
		knows(what+", for a while", tokenB, want)
		knows(what+", for a while", tokenB, want)
		if told := strings.TrimPrefix(log.String(), before); want == "" &&
			(strings.Count(told, "\n") != 1 || !strings.Contains(told, "level=WARN")) {
			t.Errorf("%s: the log got %q, want one warning", what, told)
		}
		if _, err := auth.TokenFile(path, nil); err == nil {
			t.Errorf("%s, at the start: it is used", what)
		}
		before = log.String()
		replaceFile(t, path, []byte("bob "+tokenB))
		knows("after that", tokenB, "bob")
		if told := strings.TrimPrefix(log.String(), before); strings.Count(told, "the changed files are used now") != 1 {
			t.Errorf("after %s: the log got %q", what, told)
		}
	}
	requireNoError(t, os.Remove(path))
	knows("gone", tokenB, "bob")
	replaceFile(t, path, []byte("bob "+tokenB))
	if runtime.GOOS != "windows" {
		requireNoError(t, os.Chmod(path, 0o644))
		if _, err := auth.TokenFile(path, nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a file that others may read: %v", err)
		}
	}
	const form = "a principal, a space and a token"
	if _, err := auth.TokenFile("", nil); err == nil || !strings.Contains(err.Error(), form) {
		t.Errorf("no file: %v", err)
	}
	if _, err := auth.TokenFile(path+"x", nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), form) {
		t.Errorf("no file: %v", err)
	}
}

// TR-015: a token goes with each request, that of a file as it is at that moment; what is no token
// is an error that does not quote it.
func TestBearer(t *testing.T) {
	h, err := auth.Bearer(tokenA)(t.Context())
	if err != nil || h.Get("Authorization") != "Bearer "+tokenA {
		t.Errorf("%v, %v", h, err)
	}
	for _, bad := range []string{"", "a b", "a\r\nX-Admin: yes"} {
		if h, err := auth.Bearer(bad)(t.Context()); err == nil || len(bad) > 0 && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v, %v", bad, h, err)
		}
	}
	path := newFile(t, tokenA+"\n")
	give := auth.BearerFile(path)
	for _, token := range []string{tokenA, tokenB, tokenC} {
		replaceFile(t, path, []byte(token+"\n"))
		if h, err := give(t.Context()); err != nil || h.Get("Authorization") != "Bearer "+token {
			t.Errorf("%v, %v; want %s", h, err, token)
		}
	}
	replaceFile(t, path, []byte(tokenA+"\n"+tokenB))
	if h, err := give(t.Context()); err == nil || strings.Contains(err.Error(), tokenA) {
		t.Errorf("a file with two tokens: %v, %v", h, err)
	}
	if _, err := auth.BearerFile(path + "x")(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if runtime.GOOS != "windows" {
		requireNoError(t, os.Chmod(path, 0o640))
		if _, err := give(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a file that others may read: %v", err)
		}
	}
}
