package negotiation

import (
	"fmt"
	"strings"

	"github.com/aaep-go/aaep"
)

// This file has the words of every refusal that a negotiation can end in: what is wrong, and what
// would be right (§5.5). What package producer refuses besides stands in its limits.go and
// subscribe.go.

// refuseVersion refuses a request of a protocol version that this package does not speak.
func refuseVersion(requested string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.VersionUnsupported,
		Message: fmt.Sprintf("Version %q is not supported; this producer speaks %s.", requested, aaep.Version)}
}

// refuseUnsigned refuses a subscriber that takes signed manifests alone, where there is none.
func refuseUnsigned() *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.ManifestSignatureRequired,
		Message: "This producer has no signed manifest. " +
			"Ask without accept_signed_manifests_only to go on unverified."}
}

// refusePrefix refuses a request for two extensions whose members would have one prefix.
func refusePrefix(prefix, uri, otherURI string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.CapabilitiesIncompatible, Message: clipNote(fmt.Sprintf(
		"The extensions %s and %s both use the prefix %q. Ask for one of them.", uri, otherURI, prefix))}
}

// refuseLanguages refuses a request for languages none of which is offered. RefusedLanguages reads
// these words at the other end.
func refuseLanguages(offered []string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.CapabilitiesIncompatible,
		Message: clipNote(fmt.Sprintf("None of the requested languages is available. Available: %s.",
			strings.Join(offered, ", ")))}
}

// RefusedLanguages reports whether a refusal is about the languages that were asked for, and which
// ones the producer has instead, as far as it says so. AAEP has no member for that (§5.5), so the
// words for people are read: those of refuseLanguages, and the word of the protocol in those of
// others.
func RefusedLanguages(r *aaep.Rejection) (available []string, refused bool) {
	if r.Code != aaep.CapabilitiesIncompatible || !strings.Contains(r.Message, "language") {
		return nil, false
	}
	_, list, _ := strings.Cut(strings.TrimRight(r.Message, ".…"), "Available: ")
	for tag := range strings.SplitSeq(list, ", ") {
		if aaep.ValidLanguageTag(tag) {
			available = append(available, tag)
		}
	}
	return available, true
}
