package wake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"

	"github.com/aaep-go/aaep/internal/toolwords"
)

const maxBody = 256 << 10

// ServeHTTP takes wakes that the swarm posts as a webhook. It answers 202 once a wake is in the
// producer's log, 200 to a repeated one, 401 without a signature by the subscription's key over the
// body, and 409 where the headers differ from what is signed. A swarm gives a subscription up after
// one answer from 400 to 499.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "wakes are posted", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, "the wake has more than 256 KiB", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the wake broke off", http.StatusBadRequest)
		return
	}
	subscription := r.Header.Get("X-Neo-Wake-Subscription-Id")
	if !b.isSigned(subscription, body, r.Header.Get("X-Neo-Wake-Signature")) {
		b.cfg.Logger.Warn("wake: a message whose signature is not that of its subscription was refused",
			"subscription", toolwords.Label(subscription))
		http.Error(w, "the signature is not that of the subscription", http.StatusUnauthorized)
		return
	}
	e, err := decodeEnvelope(body)
	if err != nil {
		b.cfg.Logger.Warn("wake: a signed message is no wake, and was refused", "error", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if e.Subscription != subscription || e.EventID != r.Header.Get("X-Neo-Wake-Event-Id") {
		http.Error(w, "the headers say otherwise than what is signed", http.StatusConflict)
		return
	}
	switch fresh, err := b.takeAll([]*envelope{e}); {
	case errors.Is(err, ErrUnknown):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		b.cfg.Logger.Error("wake: a wake could not be told", "error", err)
		http.Error(w, "it cannot be told now; send it again", http.StatusServiceUnavailable)
	case fresh:
		w.WriteHeader(http.StatusAccepted)
	}
}

// isSigned reports whether a signature, in hex, is that of a body by one of a subscription's keys,
// in constant time. A subscription without keys is never signed.
func (b *Bridge) isSigned(subscription string, body []byte, signature string) bool {
	sum, err := hex.DecodeString(signature)
	if err != nil || len(sum) != sha256.Size {
		return false
	}
	ok := false
	for _, key := range b.cfg.Keys[subscription] {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(body)
		ok = hmac.Equal(mac.Sum(nil), sum) || ok
	}
	return ok
}
