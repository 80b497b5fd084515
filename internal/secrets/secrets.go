// Package secrets finds credentials in texts that people would get. It looks at one text and knows
// nothing of who wrote it. The keys and tokens of known services are in this file; what is assigned
// to a name that says password, or given to a command, is in forms.go; card.go has payment cards.
package secrets

import "strings"

// Find looks for a credential in a text that a person would get, and returns what kind it is: a
// private key, a web token, a key or token of a known service (clouds, code hosts, chats), a
// password in a URL, what an Authorization or a Cookie header holds, a password or the like that is
// assigned to a name that says so or given to a command (PASSWORD=…, "token": "…", api_key: …,
// mysql -p…, curl -u …), or a payment card number (§10 T5). It knows what has a form of its own and
// nothing else: no other passwords, no names, no account numbers. Characters that show nothing hide
// nothing from it, nor do digits of another script. It looks at one text, so it cannot see what is
// split over two chunks. The time is linear in the length of s.
func Find(s string) (kind string, found bool) {
	s = foldForMatching(s)
	if hasPrivateKey(s) {
		return "private key", true
	}
	if kind := keyIn(s); kind != "" {
		return kind, true
	}
	if hasCard(s) {
		return "card number", true
	}
	if kind := formIn(s); kind != "" {
		return kind, true
	}
	return "", false
}

// hasPrivateKey reports whether s has the header of a PEM block with a private key, and the
// beginning of the key behind it; prose may name the header alone.
func hasPrivateKey(s string) bool {
	const begin = "-----BEGIN "
	for {
		i := strings.Index(s, begin)
		if i < 0 {
			return false
		}
		s = s[i+len(begin):]
		window := s[:min(len(s), 512)]
		label, body, ok := strings.Cut(window, "-----")
		if !ok || !strings.Contains(label, "PRIVATE KEY") || len(label) > 40 {
			continue
		}
		run := 0
		for j := 0; j < len(body) && !strings.HasPrefix(body[j:], "-----"); j++ {
			if b := body[j]; isLetter(b) || isDigit(b) || b == '+' || b == '/' {
				if run++; run == 24 {
					return true
				}
			} else {
				run = 0
			}
		}
	}
}

// A keyForm is how the keys of a service begin and how many characters follow.
type keyForm struct {
	prefix string
	least  int // how many characters follow the prefix, at least
	// exact says that no more than least follow, capitals and small letters mixed. The keys of
	// other forms have a part between hyphens that is long and has digits, as no word does.
	exact bool
	kind  string // what Find returns
}

var keyForms = []keyForm{
	{"sk-", 20, false, "API key"}, // OpenAI, Anthropic and many who follow them
	{"sk_live_", 16, false, "Stripe key"}, {"rk_live_", 16, false, "Stripe key"},
	{"sk_test_", 16, false, "Stripe key"},
	{"ghp_", 36, false, "GitHub token"}, {"gho_", 36, false, "GitHub token"}, {"ghu_", 36, false, "GitHub token"},
	{"ghs_", 36, false, "GitHub token"}, {"ghr_", 36, false, "GitHub token"}, {"github_pat_", 50, false, "GitHub token"},
	{"glpat-", 20, false, "GitLab token"},
	{"AKIA", 16, true, "AWS key"}, {"ASIA", 16, true, "AWS key"},
	{"xoxb-", 20, false, "Slack token"}, {"xoxp-", 20, false, "Slack token"}, {"xoxa-", 20, false, "Slack token"},
	{"xoxr-", 20, false, "Slack token"}, {"xoxs-", 20, false, "Slack token"}, {"xoxe-", 20, false, "Slack token"},
	{"AIza", 35, true, "Google key"},
	{"hf_", 34, true, "Hugging Face token"}, {"npm_", 36, false, "npm token"},
	// Groq, Shopify, Databricks, Linear, Grafana, Postman, Tailscale, Stripe's webhooks, Replicate,
	// Atlassian, Square, Notion and age.
	{"gsk_", 40, false, "API key"}, {"shpat_", 32, false, "API key"}, {"shpss_", 32, false, "API key"},
	{"dapi", 32, false, "API key"}, {"lin_api_", 32, false, "API key"}, {"glsa_", 32, false, "API key"},
	{"PMAK-", 32, false, "API key"}, {"tskey-", 20, false, "API key"}, {"whsec_", 24, false, "API key"},
	{"r8_", 36, false, "API key"}, {"ATATT3x", 40, false, "API key"}, {"sq0csp-", 40, false, "API key"},
	{"ntn_", 40, false, "API key"}, {"AGE-SECRET-KEY-1", 50, false, "private key"},
}

// keyIn returns the kind of the first key in s, or "". Every run of letters, digits, hyphens and
// underscores is looked at once, from its beginning: risk-free has no key in it.
func keyIn(s string) string {
	for i := 0; i < len(s); {
		if !isKeyByte(s[i]) {
			i++
			continue
		}
		end := endOfRun(s, i)
		run := s[i:end]
		switch run[0] {
		case 's', 'r', 'g', 'A', 'x', 'h', 'n', 'd', 'l', 'P', 't', 'w':
			for _, f := range keyForms {
				if rest, ok := strings.CutPrefix(run, f.prefix); ok && f.matchesRest(rest) {
					return f.kind
				}
			}
		case 'e':
			if isWebToken(s, i, end) {
				return "web token"
			}
		}
		i = end
	}
	return ""
}

// matchesRest reports whether rest, all of a run behind the form's prefix, is that of a key: as
// long as the form says, and mixed as no word is.
func (f keyForm) matchesRest(rest string) bool {
	switch {
	case len(rest) < f.least:
		return false
	case f.kind == "AWS key":
		return len(rest) == f.least && strings.ToUpper(rest) == rest && madeOf(rest, "") &&
			strings.ContainsAny(rest, "0123456789")
	case f.exact:
		return len(rest) == f.least && strings.ToLower(rest) != rest && strings.ToUpper(rest) != rest
	}
	return hasLongPart(rest)
}

// isKeyByte reports whether b may be a part of a key.
func isKeyByte(b byte) bool { return isLetter(b) || isDigit(b) || b == '-' || b == '_' }

// endOfRun returns the index behind the bytes of a key that begin at s[i].
func endOfRun(s string, i int) int {
	for i < len(s) && isKeyByte(s[i]) {
		i++
	}
	return i
}

// isWebToken reports whether a JSON Web Token begins with the run s[i:end]: three parts of
// base64url joined by dots, two of which begin with {" encoded.
func isWebToken(s string, i, end int) bool {
	if !strings.HasPrefix(s[i:end], "eyJ") || end+4 > len(s) || !strings.HasPrefix(s[end:], ".eyJ") {
		return false
	}
	second := endOfRun(s, end+1)
	if second == len(s) || s[second] != '.' {
		return false
	}
	third := endOfRun(s, second+1)
	return end-i >= 12 && second-end >= 12 && third-second >= 20
}
