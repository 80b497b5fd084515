package sse

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// Over https to an agent without TLS, and to one whose certificate is not trusted, nothing was
// delivered, and the error says what is wrong.
func TestNotDelivered(t *testing.T) {
	none := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain, secret := httptest.NewServer(none), httptest.NewTLSServer(none)
	defer plain.Close()
	defer secret.Close()
	msg, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1): "speaks HTTP without TLS",
		secret.URL: "certificate",
	} {
		conn, err := Dialer{URL: url}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = conn.Send(t.Context(), msg)
		if err == nil || !strings.Contains(err.Error(), "sse: not delivered: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
		conn.Close()
	}
}
