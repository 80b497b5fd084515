package credentials

import (
	"net/http"
	"slices"

	"github.com/aaep-go/aaep"
)

// statuses are what refusals are over HTTP (D-56), ours and those of a peer or a proxy that has nothing but a status.
var statuses = []struct {
	status  int
	reasons []aaep.ReasonCode
}{
	{http.StatusUnauthorized, []aaep.ReasonCode{aaep.AuthenticationRequired}},
	{http.StatusForbidden, []aaep.ReasonCode{aaep.AuthorizationDenied}},
	{http.StatusTooManyRequests, []aaep.ReasonCode{aaep.RateLimit}},
	{http.StatusServiceUnavailable, []aaep.ReasonCode{aaep.TransportUnavailable}},
	{http.StatusUnprocessableEntity, []aaep.ReasonCode{aaep.VersionUnsupported, aaep.CapabilitiesIncompatible, aaep.ManifestSignatureRequired}},
}

// Status is the status of a refusal for this reason.
func Status(reason aaep.ReasonCode) int {
	for _, s := range statuses {
		if slices.Contains(s.reasons, reason) {
			return s.status
		}
	}
	return http.StatusBadRequest
}

// Reason is the one reason that a status stands for, or "".
func Reason(status int) aaep.ReasonCode {
	for _, s := range statuses {
		if s.status == status && len(s.reasons) == 1 {
			return s.reasons[0]
		}
	}
	return ""
}
