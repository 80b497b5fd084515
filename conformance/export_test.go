package conformance

import "strings"

var WhyNot = whyNot

// Unjudged are the requirements that have a reason for having no case.
func Unjudged() (ids []string) {
	for _, why := range unjudged {
		ids = append(ids, strings.Fields(why.ids)...)
	}
	return ids
}
