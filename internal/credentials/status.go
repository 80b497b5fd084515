package credentials

import (
	"net/http"

	"github.com/aaep-go/aaep"
)

// statuses are what refusals are over HTTP (D-56), ours and those of a peer or a proxy that has
// nothing but a status.
var statuses = []struct {
	status int
	reason aaep.ReasonCode
}{
	{http.StatusUnauthorized, aaep.AuthenticationRequired},
	{http.StatusForbidden, aaep.AuthorizationDenied},
	{http.StatusTooManyRequests, aaep.RateLimit},
	{http.StatusServiceUnavailable, aaep.TransportUnavailable},
	{http.StatusBadRequest, aaep.ReasonUnknown}, // of a request that is not valid
}

// Status is the status of a refusal for this reason. One that is not in the table is of a request
// that could be read, also if it is a reason of later versions.
func Status(reason aaep.ReasonCode) int {
	for _, s := range statuses {
		if s.reason == reason {
			return s.status
		}
	}
	return http.StatusUnprocessableEntity
}

// Reason is what a status says of a refusal by itself, or "".
func Reason(status int) aaep.ReasonCode {
	for _, s := range statuses {
		if s.status == status && s.reason != aaep.ReasonUnknown {
			return s.reason
		}
	}
	return ""
}
