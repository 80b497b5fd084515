package credentials

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// TR-015, INV-37
func TestBearer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header []string
		token  string
		none   bool
	}{
		{"none", nil, "", true},
		{"another scheme", []string{"Basic c2VjcmV0"}, "", true},
		{"plain", []string{"Bearer secret"}, "secret", false},
		{"any case, more spaces", []string{"bEARER   secret "}, "secret", false},
		{"all its characters", []string{"Bearer aZ09-._~+/=="}, "aZ09-._~+/==", false},
		{"two headers", []string{"Bearer secret", "Bearer secret"}, "", false},
		{"two tokens", []string{"Bearer secret secret"}, "", false},
		{"a list", []string{"Bearer secret,Bearer secret"}, "", false},
		{"empty", []string{"Bearer "}, "", false},
		{"only the scheme", []string{"Bearer"}, "", false},
		{"only padding", []string{"Bearer =="}, "", false},
		{"padding inside", []string{"Bearer sec=ret"}, "", false},
		{"a line end", []string{"Bearer secret\nX: y"}, "", false},
		{"not ASCII", []string{"Bearer secret\u202e"}, "", false},
		{"too long", []string{"Bearer " + strings.Repeat("secret", 10000)}, "", false},
	} {
		got, err := Bearer(&http.Request{Header: http.Header{"Authorization": tt.header}})
		if got != tt.token || (err == nil) != (tt.token != "") || errors.Is(err, ErrNone) != tt.none {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: the token is in %q", tt.name, err)
		}
	}
}

// Each token is for one kind of authenticator.
func TestSigned(t *testing.T) {
	for token, want := range map[string]bool{"abc": false, "a.b": false, "a.b.c": true, "a..": true, "a.b.c.d": false,
		"a.b.c.d.e": false} {
		if Signed(token) != want {
			t.Errorf("Signed(%q) = %v", token, !want)
		}
	}
}

// INV-36: a principal is fit for a log and for a person.
func TestCheckPrincipal(t *testing.T) {
	for name, ok := range map[string]bool{
		"ada": true, "spiffe://bank.example/agent": true, "https://login.example#Ọlá": true,
		strings.Repeat("a", 512): true,
		"":                       false, strings.Repeat("a", 513): false, "a b": false, "a\tb": false, "a\nb": false,
		"a\x00":    false,
		"a\x1b[2J": false,
		"a\u202eb": false, "a\u2028b": false, "a\x7f": false, "a\u009b": false, "a\xff": false, "a\u200bb": false,
	} {
		if err := CheckPrincipal(name); (err == nil) != ok || err != nil && len(name) > 1 &&
			strings.Contains(err.Error(), name) {
			t.Errorf("CheckPrincipal(%.20q) = %v, want fit: %v", name, err, ok)
		}
	}
}

// INV-36
func TestOneLine(t *testing.T) {
	if got := OneLine("a\nb\t\x1b[2Jc\u202e" + strings.Repeat("x", 1000)); strings.ContainsAny(got, "\n\t\x1b\u202e") ||
		len(got) > 310 || !strings.HasPrefix(got, "a b ") {
		t.Errorf("OneLine = %q", got)
	}
}
