package producer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/secrets"
)

// validateEvent validates an event in each of its languages, and refuses secrets if
// Config.RefuseSecrets says so. The error is an *aaep.InvalidError. It changes nothing and takes no
// lock.
func (p *Producer) validateEvent(ev *aaep.Event) error {
	return nameFields(ev.Payload, p.validateLanguages(ev))
}

// validateLanguages validates the event in its own language and in each translation, and refuses a
// translation in a language that is not offered. Its error names the members of the event as they
// are on the wire; validateEvent, its only caller, adds the Go fields they come from.
func (p *Producer) validateLanguages(ev *aaep.Event) error {
	for _, t := range ev.Translations {
		if err := p.validateTranslation(ev.In(t)); err != nil {
			return err
		}
	}
	if err := p.checkLanguages(ev); err != nil {
		return err
	}
	return p.validateTranslation(ev)
}

// validateTranslation validates an event in one language. Where Config.RefuseSecrets is set it also
// searches every string of the event for a secret, but for chunks of output, which may split one.
// validateLanguages calls it for each language. The error is an *aaep.InvalidError that names every
// place.
func (p *Producer) validateTranslation(ev *aaep.Event) error {
	if err := aaep.Validate(ev); err != nil || !p.cfg.RefuseSecrets {
		return err
	}
	if ev.Type() == aaep.TypeOutputStreaming { // chunks may split a secret
		return nil
	}
	data, err := aaep.Encode(ev)
	if err != nil {
		return err
	}
	var found []aaep.Violation
	for d := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.ReadToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if token.Kind() != '"' {
			continue
		}
		if kind, ok := secrets.Find(token.String()); ok {
			found = append(found, aaep.Violation{Requirement: "SEC-010", Pointer: string(d.StackPointer()),
				Problem: "holds what looks like a secret (" + kind + "); take it out, or say it in other words"})
		}
	}
	if found == nil {
		return nil
	}
	return &aaep.InvalidError{Message: string(ev.Type()), Violations: found}
}

// invalidMember returns the error about one member of an event: which requirement it breaks, where
// it is, as a JSON pointer, and what is wrong with it.
func invalidMember(event aaep.Type, requirement, pointer, problem string) *aaep.InvalidError {
	return &aaep.InvalidError{Message: string(event),
		Violations: []aaep.Violation{{Requirement: requirement, Pointer: pointer, Problem: problem}}}
}

// checkHasWords refuses a summary or a question whose text is of blanks alone, in any language of
// the event: a person would hear nothing. The error is an *aaep.InvalidError with every such
// member. Empty texts pass: aaep.Validate judges them. buildEvent calls it.
func checkHasWords(ev *aaep.Event) error {
	var found []aaep.Violation
	check := func(pointer, text string) {
		if text != "" && strings.TrimSpace(text) == "" {
			found = append(found, aaep.Violation{Requirement: "EVT-007", Pointer: pointer,
				Problem: "is of blanks alone, of which a person hears nothing; give it words"})
		}
	}
	checkWords := func(summary aaep.Text, payload aaep.Payload) {
		check("/summary_terse", summary.Terse)
		check("/summary_normal", summary.Normal)
		check("/summary_detailed", summary.Detailed)
		switch p := payload.(type) {
		case *aaep.AwaitingConfirmation:
			check("/action", p.Action)
			check("/consequence", p.Consequence)
		case *aaep.AwaitingClarification:
			check("/question", p.Question)
			for i, c := range p.Choices {
				check(fmt.Sprintf("/choices/%d/label", i), c.Label)
			}
		case *aaep.HandoffRequested:
			check("/reason", p.Reason)
		}
	}
	checkWords(ev.Summary, ev.Payload)
	for _, t := range ev.Translations {
		checkWords(t.Summary, t.Payload)
	}
	if found == nil {
		return nil
	}
	return nameFields(ev.Payload, &aaep.InvalidError{Message: string(ev.Type()), Violations: found})
}

// checkSecondText refuses a text with mistakes of Text.In and Text.With, and one with data of an
// extension, which would be dropped: it goes beside the main text of an event, such as a
// consequence beside the action. field is the Go field of the text, for the error.
func checkSecondText(field string, text aaep.Text) error {
	probe := &aaep.Event{Payload: &aaep.SessionStarted{}}
	err := text.Extend(probe)
	if err == nil && len(probe.Extensions) > 0 {
		err = errors.New("data of an extension goes with the question itself: put it on Tool.Action or Question.Text")
	}
	if err != nil {
		return fmt.Errorf("producer: %s: %w", field, err)
	}
	return nil
}

// dataCheck is what checkData found wrong with the data of extensions on a text; nil is nothing.
type dataCheck struct{ violation *aaep.Violation }

// checkedData is a dataCheck that found nothing.
var checkedData dataCheck

// checkData checks the data of extensions that goes with a text, for speech.data. The functions
// that make an event of an author's text call it before they take a lock: it calls the functions of
// the extensions' authors, which may take their time, or call the Session.
func (p *Producer) checkData(text aaep.Text) *dataCheck {
	if len(p.cfg.Extensions) == 0 { // nothing is called
		return nil
	}
	probe := &aaep.Event{Payload: &aaep.SessionStarted{}}
	if text.Extend(probe) != nil { // which buildEvent returns
		return nil
	}
	return &dataCheck{p.dataViolation(probe)}
}

// dataViolation returns what is wrong with the extension data of an event, or nil. No subscriber
// could get data of an extension, or of a version of it, that is not among Config.Extensions, and
// an extension takes only its own.
func (p *Producer) dataViolation(ev *aaep.Event) *aaep.Violation {
	for _, prefix := range slices.Sorted(maps.Keys(ev.Extensions)) {
		if v := p.extensionViolation(prefix, ev.Context, ev.Extensions[prefix]); v != nil {
			return v
		}
	}
	return nil
}

// extensionViolation returns what is wrong with the use of an extension, or nil: with its prefix,
// with the URIs that the event names, or with data under the prefix. Nil data is not looked at. It
// calls the extension author's Event function.
func (p *Producer) extensionViolation(prefix string, uris []string, data json.RawMessage) *aaep.Violation {
	v := &aaep.Violation{Requirement: "EXT-004", Pointer: "/extensions/" + prefix}
	otherURI := "" // of an extension that is served and has this prefix, but is not named in uris
	for _, ext := range p.cfg.Extensions {
		if ext.Prefix != prefix {
			continue
		}
		if !slices.Contains(uris, ext.URI) {
			otherURI = ext.URI
			continue
		}
		if data == nil || ext.Event == nil {
			return nil
		}
		err := p.shield.Call("Extension.Event of "+ext.URI, func() error { return ext.Event(data) })
		if err == nil {
			return nil
		}
		v.Problem = "is not what Extension.Event of " + ext.URI + " takes: " + err.Error()
		return v
	}
	v.Problem = "is of an extension that is none of producer.Config.Extensions; add it there"
	if otherURI != "" {
		v.Problem += ", or use its vocabulary that is: " + otherURI
	}
	return v
}

// checkLanguages refuses translations in a language that no subscriber is offered. The error is an
// *aaep.InvalidError.
func (p *Producer) checkLanguages(ev *aaep.Event) error {
	for _, t := range ev.Translations {
		tag := t.Language()
		if _, ok := negotiation.MatchLanguage([]string{tag}, p.offer.Languages); !ok || !aaep.ValidLanguageTag(tag) {
			return invalidMember(ev.Type(), "I18N-006", "/localization_hints/primary_language",
				"has words in "+aaep.SafeText(truncateTag(tag))+", which is none of Config.Languages: "+
					strings.Join(p.offer.Languages, ", "))
		}
	}
	return nil
}

// truncateTag returns at most the first 40 bytes of a language tag, for an error.
func truncateTag(tag string) string { return strings.ToValidUTF8(tag[:min(len(tag), 40)], "") }
