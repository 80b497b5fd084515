package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// Who is refused for the terms they asked for learns which flag mends it.
func TestDialErrorOfTerms(t *testing.T) {
	refused := &aaep.Rejection{Code: aaep.CapabilitiesIncompatible,
		Message: "None of the requested languages is available. Available: en-US.", Remote: true}
	want := "the agent at http://a.example cannot be followed: None of the requested languages is available. Available: en-US.\n" +
		"Ask for a language that it has after your own: --language ha,sw,"
	for says, paste := range map[string]string{"Available: en-US.": "en-US",
		"Available: pt-BR, es, de.": "pt-BR,es,de", "": "TAG", "Available: $(rm -r), es.": "es"} {
		refused.Message = strings.TrimSpace("None of the requested languages is available. " + says)
		want := strings.Replace(want, "Available: en-US.", says, 1)
		want = strings.Replace(want, "available. \n", "available.\n", 1) + paste
		if got := DialError(t.Context(), "http://a.example", refused, "ha", "sw"); got.Error() != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
	refused.Message = "The extension of lifts is required."
	want = "the agent at http://a.example cannot be followed: The extension of lifts is required.\nAsk for other terms.\nSee: aaep listen --help"
	if got := DialError(t.Context(), "http://a.example", refused, "ha", "sw"); got.Error() != want {
		t.Errorf("said %q", got)
	}
}

// What the transports say of an address is known by the errors' values, whatever their words are.
func TestExplainUnfollowed(t *testing.T) {
	dial := func(d transports.Dialer) error {
		_, err := d.Dial(t.Context())
		return err
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{dial(sse.Dialer{URL: "http://bank.example"}), "x is another machine"},
		{dial(websocket.Dialer{URL: "ws://bank.example"}), "x is another machine"},
		{fmt.Errorf("sse: %w", &url.Error{Op: "Post", Err: &net.OpError{Op: "remote error", Err: errors.New("bad certificate")}}), "x does not accept the certificate"},
	} {
		if got := explainUnfollowed(t.Context(), "x", tc.err, nil).Error(); !strings.Contains(got, tc.want) {
			t.Errorf("%v is told as %q, want %q", tc.err, got, tc.want)
		}
	}
}

// A person who chose Spanish is told in it why an agent is not there, and what to do; with the exit
// code that it always has.
func TestNotThereInSpanish(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
		code int
	}{
		{&net.OpError{Op: "dial", Err: errors.New("refused")},
			"Nada responde en http://127.0.0.1:8080.\nCompruebe la dirección o inicie un agente: aaep run --listen 127.0.0.1:8080 -- PROGRAM", exits.Unreachable},
		{context.DeadlineExceeded, "No hay respuesta de http://127.0.0.1:8080.\nCompruebe la dirección o inténtelo más tarde.", exits.Unreachable},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "bank.example", Err: "no such host"}},
			"No existe ninguna máquina llamada bank.example.\nCompruebe la dirección o inténtelo más tarde.",
			exits.Unreachable},
		{&aaep.Rejection{Code: aaep.RateLimit, Message: "Too many.", RetryAfter: 20 * time.Second, Remote: true},
			"No se puede seguir al agente: Too many.\nInténtelo de nuevo dentro de 20 segundos.", exits.Unreachable},
		{&aaep.Rejection{Code: aaep.CapabilitiesIncompatible,
			Message: "None of the requested languages is available. Available: de.", Remote: true},
			"No se puede seguir al agente: None of the requested languages is available. Available: de.\nPida un idioma que tenga, después del suyo: --language es-MX,en,de", exits.Failed},
		{fmt.Errorf("%w", manifest.ErrKeyChanged), "", exits.Failed}, // with what is to be typed, in English
	} {
		got := DialError(t.Context(), "http://127.0.0.1:8080", tt.err, "es-MX", "en")
		if tt.want != "" && got.Error() != tt.want || exits.CodeOf(got) != tt.code {
			t.Errorf("%v: %d, %q, want %q", tt.err, exits.CodeOf(got), got, tt.want)
		}
		if english := DialError(t.Context(), "http://127.0.0.1:8080", tt.err,
			"en-US"); exits.CodeOf(english) != tt.code ||
			english.Error() != explainUnfollowed(t.Context(), "http://127.0.0.1:8080", tt.err,
				[]string{"en-US"}).Error() {
			t.Errorf("%v: %d, %q", tt.err, exits.CodeOf(english), english)
		}
	}
}

// A certificate that has expired is its agent's affair, and no other CA would help.
func TestDialErrorOfOutdatedCertificate(t *testing.T) {
	err := fmt.Errorf("sse: %w", &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired,
		Cert: &x509.Certificate{}, Detail: "it is late"}})
	got := DialError(t.Context(), "https://a.example", err, "en").Error()
	if !strings.HasPrefix(got, "the certificate at https://a.example is not valid at this time: it is late") ||
		!strings.Contains(got, "has to renew it") || strings.Contains(got, "--ca") {
		t.Errorf("said %q", got)
	}
}

// An agent that signs with a key that --trust does not name may have a new one: its operator knows.
func TestDialErrorOfUnknownKey(t *testing.T) {
	err := fmt.Errorf("subscriber: %w", fmt.Errorf("%w: \"k2\"; trusted are \"k1\"", manifest.ErrUnknownKey))
	got := DialError(t.Context(), "https://a.example", err, "en").Error()
	if !strings.HasPrefix(got, "the agent at https://a.example cannot be followed: ") || !strings.Contains(got, "with --trust too") {
		t.Errorf("said %q", got)
	}
}
