package eventlog

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/aaep-go/aaep"
)

// encodeRecord returns an event as the record that a store keeps: lines of JSON, first the event,
// then the event in each further language.
func encodeRecord(ev *aaep.Event) ([]byte, error) {
	record, err := encodeLine(*ev)
	for _, t := range ev.Translations {
		if err != nil {
			break
		}
		var translated []byte
		translated, err = encodeLine(*ev.In(t))
		record = append(append(record, '\n'), translated...)
	}
	return record, err
}

// encodeLine returns an event in its first language as JSON. Extension data that cannot be encoded
// is left out, as it is where events are sent.
func encodeLine(ev aaep.Event) ([]byte, error) {
	ev.Translations = nil
	data, err := ev.MarshalJSON()
	if err != nil && ev.Extensions != nil {
		ev.Extensions = nil
		data, err = ev.MarshalJSON()
	}
	return data, err
}

// decodeRecord returns the event of a record that encodeRecord made: its first line is the event,
// and each other one a translation. The error is for a line that is no event of AAEP.
func decodeRecord(record []byte) (*aaep.Event, error) {
	var ev *aaep.Event
	for line := range bytes.SplitSeq(record, []byte{'\n'}) {
		m, err := aaep.Decode(line)
		if err != nil {
			return nil, err
		}
		lineEvent, ok := m.(*aaep.Event)
		switch {
		case !ok:
			return nil, fmt.Errorf("it is a %s", m.MessageType())
		case ev == nil:
			ev, lineEvent.Translations = lineEvent, nil // the other lines are its translations
		default:
			t := aaep.Translation{LocalizationHints: lineEvent.LocalizationHints, Summary: lineEvent.Summary,
				Payload: lineEvent.Payload}
			if reflect.DeepEqual(t.Payload, ev.Payload) {
				t.Payload = nil // the translation is of the summary alone
			}
			ev.Translations = append(ev.Translations, t)
		}
	}
	return ev, nil
}
