package credentials_test

import (
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
)

// D-56: the statuses are those of the decision; a status that stands for one reason is read as it,
// any other as none.
func TestStatusAndReason(t *testing.T) {
	for reason, want := range map[aaep.ReasonCode]int{
		aaep.AuthenticationRequired: 401, aaep.AuthorizationDenied: 403, aaep.RateLimit: 429,
		aaep.TransportUnavailable: 503,
		aaep.VersionUnsupported:   422, aaep.CapabilitiesIncompatible: 422, aaep.ManifestSignatureRequired: 422,
		aaep.ReasonUnknown: 400, "new": 422,
	} {
		if got := credentials.Status(reason); got != want {
			t.Errorf("%s is %d, want %d", reason, got, want)
		}
		read := reason
		if want == 422 || want == 400 {
			read = ""
		}
		if got := credentials.Reason(want); got != read {
			t.Errorf("%d is read as %q, want %q", want, got, read)
		}
	}
}
