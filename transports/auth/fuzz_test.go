package auth

import (
	"net/http"
	"testing"

	"github.com/aaep-go/aaep/internal/credentials"
)

// Whatever is in a token file, whom it lets in has a name fit for a log, and brought a token that
// is hard to guess.
func FuzzTokenFile(f *testing.F) {
	for _, seed := range []string{"ada 5f1c0b6e9a7d43f2b8e1c05d6a94f37e\n",
		"# x\r\nada a07Kx2-Lq9_Zr4TtWm1VbYc8\nada A07Kx2-Lq9_Zr4TtWm1VbYc8", "ada\u00a0x", "a b c", "\x00",
		"ada a.b.c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := parseTokens(text)
		if err != nil {
			if set != nil || len(err.Error()) > 300 {
				t.Errorf("%d tokens and an error of %d bytes", len(set), len(err.Error()))
			}
			return
		}
		if len(set) == 0 || len(set) > maxTokens {
			t.Errorf("%d tokens", len(set))
		}
		for _, one := range set {
			if err := credentials.CheckPrincipal(one.principal); err != nil {
				t.Errorf("%q: %v", one.principal, err)
			}
		}
		if name, err := set.authenticate(
			&http.Request{Header: http.Header{"Authorization": {"Bearer x"}}}); err == nil {
			t.Errorf("a short token came in as %q", name)
		}
	})
}
