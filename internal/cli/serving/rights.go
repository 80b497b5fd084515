package serving

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/auth"
)

// rights says who may answer. That a name is misspelt is said at once where it is known who can
// come, and otherwise when a listener comes who would like to answer.
type rights struct {
	names  []string // of --may-answer
	status *lineio.Printer

	mu   sync.Mutex
	came map[string]bool // of names, and those who were told about
}

// maxTold is how many are told about who may only listen.
const maxTold = 16

// RightsOf returns the function for producer.Config.Admit that lets only the names of --may-answer
// answer, and says whom it kept from it; nil without names, so that every listener may.
func (s *Flags) RightsOf(status *lineio.Printer) func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
	if len(s.answer) == 0 {
		return nil
	}
	r := &rights{names: s.answer, status: status, came: map[string]bool{}}
	return func(principal string, req *aaep.SubscriptionRequest) (producer.Rights, error) {
		mayAnswer := slices.Contains(r.names, principal)
		if c := req.Capabilities; mayAnswer || c.SupportsConfirmationReply != nil && *c.SupportsConfirmationReply {
			r.noteRefused(principal, mayAnswer)
		}
		return producer.Rights{Reply: mayAnswer}, nil
	}
}

// noteRefused records that a listener came who offers to answer or may, and says once a name, for a
// bounded number of names, that one may not, as long as some of those who may were not here yet.
func (r *rights) noteRefused(principal string, mayAnswer bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.came[principal] || len(r.came) >= len(r.names)+maxTold {
		return
	}
	r.came[principal] = true
	absent := slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return r.came[name] })
	if !mayAnswer && len(absent) > 0 {
		r.status.PrintLabelled("aaep", fmt.Sprintf("%s would like to answer and may only listen. Of those who may, by --may-answer, nobody was here yet called %s.", principal, strings.Join(absent, ", ")))
	}
}

// checkAnswer refuses names in --may-answer that no listener who can come can have, by the tokens,
// certificates and issuers that are known. A file of tokens that cannot be read is left to who
// reads it next.
func (s *Flags) checkAnswer() error {
	var knownNames []string // those there are
	var prefixes []string   // how names begin
	if s.tokens != "" {
		var err error
		if knownNames, err = auth.TokenNames(s.tokens); err != nil {
			return nil // which is told by who reads it to know them
		}
	}
	if s.clientCA != "" {
		prefixes = append(prefixes, "dns:", "email:", "spiffe://")
	}
	if s.issuer != "" {
		prefixes = append(prefixes, s.issuer+"#")
	}
	if slices.ContainsFunc(s.Addrs, reach.IsLocal) {
		if reach.LocalScheme != "unix:" {
			return nil
		}
		knownNames = append(knownNames, fmt.Sprint("uid:", os.Getuid()))
	}
	for _, name := range s.answer {
		hasPrefix := slices.ContainsFunc(prefixes, func(prefix string) bool {
			return len(name) > len(prefix) && strings.HasPrefix(name, prefix)
		})
		if !hasPrefix && !slices.Contains(knownNames, name) {
			return exits.UsageError("--may-answer has %q, and nobody who can come here is called that.\n%s", name,
				strings.Join(namesHints(name, knownNames, prefixes), ".\n"))
		}
	}
	return nil
}

// namesHints returns, in sentences, which names a listener can have, for a name that none has: the
// known names that are like it, else up to eight of them; and how others begin.
func namesHints(name string, knownNames, prefixes []string) (hints []string) {
	if similar := exits.SimilarNames(name, knownNames); similar != "" {
		hints = append(hints, "Perhaps you mean: "+similar)
	} else if len(knownNames) > 0 {
		hints = append(hints, "There is "+strings.Join(knownNames[:min(len(knownNames), 8)], ", "))
	}
	if len(prefixes) > 0 {
		hints = append(hints, "Names may begin with "+strings.Join(prefixes, " or "))
	}
	return hints
}
