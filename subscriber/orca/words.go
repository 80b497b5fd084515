package orca

import (
	"context"
	"slices"
	"strings"
)

// otherTags are languages for which synthesizers use another tag than people do.
var otherTags = map[string]string{"zh": "cmn", "no": "nb", "nb": "no"}

// Speaks reports whether Orca's user has a voice for a language. With Options.Languages it looks
// there. Otherwise it asks Orca for its voices, once for each language, which can take a second,
// and says yes where Orca cannot tell: before version 51, or when it does not answer.
//
// Even then yes is an upper bound. Orca reads a message with the voice that the user has set, and
// does not switch to another for it: who listens in several languages should say in
// Options.Languages which of them that voice speaks.
func (o *Output) Speaks(language string) bool {
	tags := tagsOf(language)
	if tags[0] == "" || tags[0] == "und" {
		return true
	}
	if o.options.Languages != nil {
		return slices.ContainsFunc(o.options.Languages,
			func(l string) bool { return slices.Contains(tags, tagsOf(l)[0]) })
	}
	ctx := context.Background() // each call has its own limit
	d, owner, err := o.findOrca(ctx)
	if err != nil || d.voices == "" {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := owner + " " + tags[0]
	if speaks, known := o.voices[key]; known {
		return speaks
	}
	speaks := false
	for _, tag := range tags {
		var voices [][]any
		if err := o.callMethod(ctx, owner, d.path+"/SpeechManager", d.voices, tag,
			"").storeResult(&voices); err != nil {
			return true
		}
		speaks = speaks || len(voices) > 0
	}
	o.voices[key] = speaks
	return speaks
}

// tagsOf returns the language of a tag without its country, first as it is there.
func tagsOf(language string) []string {
	primary, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(language, "_", "-")), "-")
	if other := otherTags[primary]; other != "" {
		return []string{primary, other}
	}
	return []string{primary}
}
