package credentials

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/aaep-go/aaep"
)

// A Door lets in whoever Authenticate names. Nil lets in everybody, without a name. A Door may be used
// by many goroutines at once.
type Door struct {
	Authenticate func(*http.Request) (principal string, err error)
	Transport    string // in what is logged
	Log          *slog.Logger
}

// Enter returns who sent a request. A refusal has what the peer may know; why, is logged.
func (d Door) Enter(r *http.Request) (principal string, refused *aaep.Rejection) {
	if d.Authenticate == nil {
		return "", nil
	}
	principal, err := d.Authenticate(r)
	switch {
	case err == nil && principal != "":
		return principal, nil
	case errors.Is(err, aaep.AuthorizationDenied):
		d.Log.Info(d.Transport+": not authorized", "cause", err)
		return "", &aaep.Rejection{Code: aaep.AuthorizationDenied, Message: "These credentials do not allow this."}
	case err == nil:
		d.Log.Error(d.Transport + ": Authenticate returned neither a principal nor an error")
	default:
		d.Log.Info(d.Transport+": not authenticated", "cause", err)
	}
	return "", &aaep.Rejection{Code: aaep.AuthenticationRequired, Message: "The credentials are missing or not valid."}
}
