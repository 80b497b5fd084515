package producer

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
)

// check is aaep.Validate in every language, and the author's wish that no secret is told.
func (p *Producer) check(ev *aaep.Event) error {
	for _, t := range ev.Translations {
		translated := *ev
		translated.In(t)
		if err := p.checkOne(&translated); err != nil {
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
