package producer

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// check is aaep.Validate in every language, and the author's wish that no secret is told.
func (p *Producer) check(ev *aaep.Event) error {
	for _, t := range ev.Translations {
		if err := p.checkOne(ev.In(t)); err != nil {
			return err
		}
	}
	if err := p.checkLanguages(ev); err != nil {
		return err
	}
	return p.checkOne(ev)
}

func (p *Producer) checkOne(ev *aaep.Event) error {
	if err := aaep.Validate(ev); err != nil || !p.cfg.RefuseSecrets {
		return err
	}
	if ev.Type() == aaep.TypeOutputStreaming { // whether it were found would depend on how the answer was written
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
		if kind, ok := aaep.Secret(token.String()); ok {
			found = append(found, aaep.Violation{Requirement: "SEC-010", Pointer: string(d.StackPointer()),
				Problem: "holds what looks like a secret (" + kind + "); take it out, or say it in other words"})
		}
	}
	if found == nil {
		return nil
	}
	return &aaep.InvalidError{Message: string(ev.Type()), Violations: found}
}

// checkLanguages refuses words in a language that no listener is offered.
func (p *Producer) checkLanguages(ev *aaep.Event) error {
	for _, t := range ev.Translations {
		tag := t.Language()
		if _, ok := handshake.MatchLanguage([]string{tag}, p.offer.Languages); !ok || !aaep.ValidLanguageTag(tag) {
			return &aaep.InvalidError{Message: ev.MessageType(), Violations: []aaep.Violation{{
				Requirement: "I18N-006", Pointer: "/localization_hints/primary_language",
				Problem: "has words in " + aaep.SafeText(clip(tag)) + ", which is none of Config.Languages: " + strings.Join(p.offer.Languages, ", ")}}}
		}
	}
	return nil
}

func clip(tag string) string { return strings.ToValidUTF8(tag[:min(len(tag), 40)], "") }
