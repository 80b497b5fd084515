package subscriber

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
)

// maxFilters is how many more filters an answer may have than the request: comparing them takes the
// product of their numbers.
const maxFilters = 1024

// checkAccepted refuses, with an *aaep.Rejection, an answer that promises what was not asked for
// (§5.4.4), or is in another version. What the request leaves open, by a zero rate or a list that
// is nil, may be honored in any way, but replies and extensions only where they were named.
// requestTerms calls it for a new subscription, matchRenegotiation for a change.
func checkAccepted(req *aaep.SubscriptionRequest, acc *aaep.SubscriptionAccepted) error {
	refuse := func(format string, args ...any) error {
		return &aaep.Rejection{Code: aaep.PolicyViolation,
			Message: fmt.Sprintf("the producer's answer "+format, args...)}
	}
	if !strings.HasPrefix(acc.AAEPVersion, "1.") {
		return &aaep.Rejection{Code: aaep.VersionUnsupported,
			Message: fmt.Sprintf("the producer wants to speak version %q; this subscriber speaks %s", acc.AAEPVersion,
				aaep.Version)}
	}
	requested, honored := req.Capabilities, acc.HonoredCapabilities
	if n := requested.MaxEventsPerSecond; n > 0 && honored.MaxEventsPerSecond > n {
		return refuse("honors %d events per second; %d were asked for", honored.MaxEventsPerSecond, n)
	}
	addsConfirmations := isTrue(honored.SupportsConfirmationReply) && !isTrue(requested.SupportsConfirmationReply)
	addsClarifications := isTrue(honored.SupportsClarificationReply) && !isTrue(requested.SupportsClarificationReply)
	if addsConfirmations || addsClarifications {
		return refuse("honors replies that were not offered")
	}
	if added := findAdded(&requested, &honored); added != "" {
		return refuse("honors the %s, which was not asked for", added)
	}
	if requested.EventFilters != nil && honored.EventFilters != nil {
		count := func(f *aaep.EventFilters) int { return len(f.Include) + len(f.Exclude) }
		if n, limit := count(honored.EventFilters), count(requested.EventFilters)+maxFilters; n > limit {
			return refuse("has %d event filters; at most %d are compared with what was asked for", n, limit)
		}
		if p := letsThrough(requested.EventFilters, honored.EventFilters); p != "" {
			return refuse("lets through events of type %q, which were not asked for", p)
		}
	}
	return nil
}

// findAdded returns what the honored lists have that the requested ones do not, such as "language
// \"ja\"", or "" where there is nothing. A list of boundaries or languages that was left out may be
// honored in any way.
func findAdded(requested, honored *aaep.Capabilities) string {
	for _, b := range honored.CoalesceBoundaries {
		if requested.CoalesceBoundaries != nil && !slices.Contains(requested.CoalesceBoundaries, b) {
			return fmt.Sprintf("boundary %q", b)
		}
	}
	for _, tag := range honored.Languages {
		served := func(want string) bool {
			want, tag := strings.ToLower(want), strings.ToLower(tag)
			return want == tag || strings.HasPrefix(want, tag+"-") // en for en-US is a note, not an offence
		}
		if requested.Languages != nil && !slices.ContainsFunc(requested.Languages, served) {
			return fmt.Sprintf("language %q", tag)
		}
	}
	for _, uri := range honored.SupportedExtensions {
		if !slices.Contains(requested.SupportedExtensions, uri) {
			return fmt.Sprintf("extension %q", uri)
		}
	}
	for prefix := range honored.Extensions {
		if _, ok := requested.Extensions[prefix]; !ok {
			return fmt.Sprintf("capability %q", prefix)
		}
	}
	return ""
}

// letsThrough returns a pattern of types that the honored filters pass and the requested ones hold
// back, or "". A list that was left out is as requested, and in a request every type of AAEP's own
// (§5.3.1.7).
func letsThrough(requested, honored *aaep.EventFilters) string {
	covers := func(wide, narrow string) bool {
		prefix, isPrefix := strings.CutSuffix(wide, "*")
		return wide == narrow || isPrefix && strings.HasPrefix(narrow, prefix)
	}
	covered := func(list []string, p string) bool {
		return slices.ContainsFunc(list, func(wide string) bool { return covers(wide, p) })
	}
	include, exclude := requested.Include, requested.Exclude
	if include == nil {
		include = []string{"aaep:agent.*"}
	}
	honoredInclude, honoredExclude := honored.Include, honored.Exclude
	if honoredInclude == nil {
		honoredInclude = include
	}
	if honoredExclude == nil {
		honoredExclude = exclude
	}
	for _, p := range honoredInclude {
		if covered(honoredExclude, p) {
			continue
		}
		if !covered(include, p) {
			return p
		}
		for _, e := range exclude {
			if (covers(p, e) || covers(e, p)) && !covered(honoredExclude, e) {
				return e
			}
		}
	}
	return ""
}

// isTrue reports whether b is set, to true.
func isTrue(b *bool) bool { return b != nil && *b }
