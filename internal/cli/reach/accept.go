package reach

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aaep-go/aaep/manifest"
)

// plainWord is a word that every shell takes as it is. What an agent calls itself is not given to a
// shell otherwise.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:+@][A-Za-z0-9_./:+@-]*$`)

// HowToAccept returns what to do about an error of an agent's key, to be put behind the error's own
// words: for a changed key how to check the new one and the command to type then, for one that
// --trust does not name where to ask for another; "" for any other error. A file or agent whose
// name a shell would not take whole is named FILE or AGENT_ID.
func HowToAccept(err error) string {
	if errors.Is(err, manifest.ErrUnknownKey) {
		return "\nAsk those who run it, and not by way of this agent, whether it has a new key. Name the file of that with --trust too"
	}
	var changed *manifest.KeyChangedError
	if !errors.As(err, &changed) {
		return ""
	}
	return fmt.Sprintf("\nAsk them what its new key is, and not by way of this agent. Letter by letter it is: %s.\nOnly if they say the same, type: aaep manifest accept %s %s %s",
		spellThumbprint(changed.Presented), plainOr(filepath.ToSlash(changed.File), "FILE"),
		plainOr(changed.AgentID, "AGENT_ID"), changed.Presented)
}

// plainOr returns a word that every shell takes as it is, or other in its place.
func plainOr(word, other string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return other
}

// spellThumbprint returns a thumbprint in groups of four, to be heard. That capitals sound like
// small letters costs some 35 of its 256 bits.
func spellThumbprint(thumbprint string) string {
	var b strings.Builder
	for i, r := range thumbprint {
		switch {
		case i == 0:
		case i%4 == 0:
			b.WriteString(", ")
		default:
			b.WriteByte(' ')
		}
		switch r {
		case '-':
			b.WriteString("hyphen")
		case '_':
			b.WriteString("underscore")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
