package proof

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The request goes with our credentials, and the event stream is opened with theirs. (SEC-013)
func TestStolenStream(t *testing.T) {
	shown := make(chan string, 2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Method + " " + r.Header.Get("Authorization")
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Location", "/aaep/v1/events?subscription_id=sub_1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"a"},"honored_capabilities":{}}`)
	}))
	defer s.Close()
	shows := func(token string) func(context.Context) (http.Header, error) {
		return func(context.Context) (http.Header, error) { return http.Header{"Authorization": {token}}, nil }
	}
	conn, err := stolenStream(s.URL, nil, shows("Bearer ours"), shows("Bearer theirs")).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"a","capabilities":{}}`
	if err := conn.Send(t.Context(), []byte(request)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"POST Bearer ours", "GET Bearer theirs"} {
		if got := <-shown; got != want {
			t.Errorf("it showed %q, want %q", got, want)
		}
	}
}

// A made-up token was never given out, and none is shown twice. (SEC-001)
func TestMadeUpToken(t *testing.T) {
	one, _ := madeUpToken(t.Context())
	two, _ := madeUpToken(t.Context())
	if one.Get("Authorization") == "" || one.Get("Authorization") == two.Get("Authorization") {
		t.Errorf("%v and %v are shown", one, two)
	}
}
