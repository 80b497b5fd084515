package examples

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/sse"
)

// Two users are asked at the same time. Each hears their own question and nothing else, and a yes is for whoever gave it.
func TestUsers(t *testing.T) {
	t.Parallel()
	service := start(t, nil, "users", "-listen", "127.0.0.1:0")
	service.prints("ada: ")
	service.prints("ben: ")
	dial := func(user string) (*subscriber.Subscription, error) {
		dialer := sse.Dialer{URL: service.address()}
		if user != "" {
			_, file, _ := strings.Cut(service.printed(), user+": go run ./cmd/aaep listen --token-file ")
			file = strings.Fields(file)[0]
			dialer.Credentials = auth.BearerFile(file)
			t.Cleanup(func() { os.RemoveAll(filepath.Dir(file)) })
		}
		return subscriber.Dial(t.Context(), dialer, subscriber.Config{ID: "test", Capabilities: subscriber.ScreenReader("en-US")})
	}
	if _, err := dial(""); !errors.Is(err, aaep.AuthenticationRequired) {
		t.Errorf("nobody is let in with %v", err)
	}
	subs, asked := map[string]*subscriber.Subscription{}, map[string]*aaep.Event{}
	heard := map[string]string{}
	listen := func(user string, until func(*aaep.Event) bool) {
		t.Helper()
		for ev, err := range subs[user].Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			heard[user] += ev.Text(aaep.VerbosityNormal) + "\n"
			if until(ev) {
				asked[user] = ev
				return
			}
		}
	}
	for _, user := range []string{"ada", "ben"} {
		sub, err := dial(user)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		subs[user] = sub
		listen(user, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeAwaitingConfirmation })
	}
	for user, decision := range map[string]aaep.Decision{"ada": aaep.Accept, "ben": aaep.Reject} {
		if err := subs[user].Reply(t.Context(), asked[user], decision); err != nil {
			t.Fatal(err)
		}
		listen(user, func(ev *aaep.Event) bool { return ev.Type().Terminal() })
	}
	contains(t, heard["ada"], "what ada has to pay", "from the account of ada.", "That was all.")
	contains(t, heard["ben"], "what ben has to pay", "from the account of ben.", "Nothing was paid.")
	if strings.Contains(heard["ada"], "ben") || strings.Contains(heard["ben"], "ada ") {
		t.Errorf("one hears of the other: %q", heard)
	}
	service.prints("paid for ada")
	if strings.Contains(service.printed(), "paid for ben") {
		t.Error("a yes was taken as another's")
	}
}
