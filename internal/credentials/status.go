package credentials

import (
	"net/http"

	"github.com/aaep-go/aaep"
)

// statuses pair the reasons of a refusal with their HTTP statuses (D-56): those that a listener
// sends, and those that a peer or a proxy means that sends nothing but a status.
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

// Status returns the status of a refusal for this reason: 422 for one that is not in statuses, as
// of a request that could be read and is not accepted, and for reasons of later versions.
func Status(reason aaep.ReasonCode) int {
	for _, s := range statuses {
		if s.reason == reason {
			return s.status
		}
	}
	return http.StatusUnprocessableEntity
}

// Reason returns the reason of a refusal that has nothing but this status; "" if it tells none.
func Reason(status int) aaep.ReasonCode {
	for _, s := range statuses {
		if s.status == status && s.reason != aaep.ReasonUnknown {
			return s.reason
		}
	}
	return ""
}
