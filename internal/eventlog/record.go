package eventlog

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/aaep-go/aaep"
)

// encodeRecord writes an event as lines of JSON: the event, and then the event in each further
// language.
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

// encodeLine writes one line. It leaves out extension data that cannot be encoded, as the senders
// of events do.
func encodeLine(ev aaep.Event) ([]byte, error) {
	ev.Translations = nil
	data, err := ev.MarshalJSON()
	if err != nil && ev.Extensions != nil {
		ev.Extensions = nil
		data, err = ev.MarshalJSON()
	}
	return data, err
}

// decodeRecord reads what encodeRecord wrote.
func decodeRecord(record []byte) (*aaep.Event, error) {
	var ev *aaep.Event
	for line := range bytes.SplitSeq(record, []byte{'\n'}) {
		m, err := aaep.Decode(line)
		if err != nil {
			return nil, err
		}
		in, ok := m.(*aaep.Event)
		switch {
		case !ok:
			return nil, fmt.Errorf("it is a %s", m.MessageType())
		case ev == nil:
			ev, in.Translations = in, nil // the other lines are all that it was put down in
		default:
			t := aaep.Translation{LocalizationHints: in.LocalizationHints, Summary: in.Summary, Payload: in.Payload}
			if reflect.DeepEqual(t.Payload, ev.Payload) {
				// it has no words of its own
				t.Payload = nil
			}
			ev.Translations = append(ev.Translations, t)
		}
	}
	return ev, nil
}
