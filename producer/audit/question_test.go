package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

const token = aaep.ReplyToken("rpl_00112233445566778899aabbccddeeff")

func question() *aaep.Event {
	in := func(tag string) *aaep.LocalizationHints { return &aaep.LocalizationHints{PrimaryLanguage: tag} }
	return &aaep.Event{
		EventID: "evt_1", SessionID: "sess_1", Timestamp: began, Producer: aaep.Agent{AgentID: "planner"},
		LocalizationHints: in("en-US"), Summary: aaep.Text{Terse: "Transfer?", Normal: "Transfer $500 to savings."},
		Payload: &aaep.AwaitingConfirmation{ReplyToken: token, Action: "Transfer $500 to savings.",
			Consequence:    "Funds move at once.",
			TimeoutSeconds: 300, DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskHigh,
			Reversibility: aaep.Irreversible,
			ExtraContext:  json.RawMessage(`{"tool":"transfer_funds","tool_call_id":"call_1"}`)},
		Translations: []aaep.Translation{{LocalizationHints: in("es"), Summary: aaep.Say("Transferir 500 dólares."),
			Payload: &aaep.AwaitingConfirmation{ReplyToken: token, Action: "Transferir 500 dólares.",
				Consequence: "Enseguida."}}},
	}
}

// INV-16: the record has every word that a person may be shown, in each language.
func TestQuestion(t *testing.T) {
	r := Question(question())
	want := Record{
		Time: began, Kind: Asked, AgentID: "planner", SessionID: "sess_1", Tool: "transfer_funds", ToolCallID: "call_1",
		QuestionID: QuestionID(token),
		Shown: []Words{
			{Language: "en-US", Terse: "Transfer?", Normal: "Transfer $500 to savings.",
				Action: "Transfer $500 to savings.", Consequence: "Funds move at once."},
			{Language: "es", Normal: "Transferir 500 dólares.", Action: "Transferir 500 dólares.",
				Consequence: "Enseguida."},
		},
		ShownDigest: r.ShownDigest, Risk: aaep.RiskHigh, Irreversible: true, Deadline: began.Add(5 * time.Minute),
		Default: "reject",
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("Question = %+v\nwant %+v", r, want)
	}
	// The digest is that of the member as it stands in the file.
	line, _, err := sealRecord(1, "", r)
	must(t, err)
	_, shown, _ := strings.Cut(string(line), `"shown":`)
	shown, _, _ = strings.Cut(shown, `,"shown_digest"`)
	if hashOf([]byte(shown)) != r.ShownDigest {
		t.Errorf("the digest of %s is %s", shown, r.ShownDigest)
	}
	ev := question()
	ev.Translations[0].Payload.(*aaep.AwaitingConfirmation).Consequence = "Mañana."
	if Question(ev).ShownDigest == r.ShownDigest {
		t.Error("other words have the same digest")
	}

	clarify := question()
	clarify.Translations = nil
	clarify.Payload = &aaep.AwaitingClarification{ReplyToken: token, Question: "Which account?",
		Context: "There are two.",
		Choices: []aaep.Choice{{Value: "a", Label: "Savings"}, {Value: "b", Label: "Cheque"}}, DefaultResponse: "a",
		TimeoutSeconds: 60}
	r = Question(clarify)
	if w := r.Shown[0]; w.Question != "Which account?" || w.Context != "There are two." || len(w.Choices) != 2 ||
		r.Default != "a" ||
		r.QuestionID != QuestionID(token) || !r.Deadline.Equal(began.Add(time.Minute)) {
		t.Errorf("%+v", r)
	}
}

// D-84: what a reply says of itself is recorded as its claim. SEC-005: of every reply there is a
// record.
func TestReply(t *testing.T) {
	r := Reply(&aaep.ConfirmationReply{ReplyToken: token, Decision: aaep.Accept, SubscriptionID: "sub_9",
		Timestamp: began,
		DecidedBy: "the bank", DecisionRationale: "trust me", ModifiedAction: json.RawMessage(`{}`)})
	want := Record{Kind: Replied, QuestionID: QuestionID(token),
		Claims: &Claims{Decision: aaep.Accept, DecidedBy: "the bank",
			Rationale: "trust me", Time: began, Modified: true}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("Reply = %+v, want %+v", r, want)
	}
	for _, response := range []any{"blue", false, 0.0} { // whatever the answer, it is not left out
		r := Reply(&aaep.ClarificationReply{ReplyToken: token, Response: response, DecidedBy: "ana", Timestamp: began})
		r.Response = response
		line, _, err := sealRecord(1, "", r)
		must(t, err)
		e, ok := parseLine(line[:len(line)-1])
		if !ok || e.Claims.Response != response || e.Response != response || e.Claims.DecidedBy != "ana" {
			t.Errorf("%s is read as %+v", line, e)
		}
	}
}

// INV-37: there is no place for a reply token in a record, and nothing that is made of a question
// or a reply has it.
func TestNoToken(t *testing.T) {
	var look func(at string, typ reflect.Type)
	look = func(at string, typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(at, typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				if f := typ.Field(i); f.IsExported() {
					look(at+"."+f.Name, f.Type)
				}
			}
		}
		if typ == reflect.TypeFor[aaep.ReplyToken]() {
			t.Errorf("%s is a reply token", at)
		}
	}
	look("Record", reflect.TypeFor[Record]())

	m := &memory{}
	f := m.open(t)
	var log bytes.Buffer
	sinks := []Sink{f, Slog(slog.New(slog.NewJSONHandler(&log, nil))), Slog(slog.New(slog.NewTextHandler(&log, nil)))}
	for _, s := range sinks {
		must(t, s.Record(Question(question())))
		must(t, s.Record(Reply(&aaep.ConfirmationReply{ReplyToken: token, Decision: aaep.Accept, Timestamp: began})))
		must(t, s.Record(Reply(&aaep.ClarificationReply{ReplyToken: token, Response: true})))
	}
	if all := string(m.data) + log.String(); strings.Contains(all, string(token[4:])) ||
		!strings.Contains(all, QuestionID(token)) {
		t.Errorf("the token is told, or the question is not:\n%s", all)
	}
}

// INV-36: a peer's text can neither forge a line of a log nor disturb a terminal, and a file gives
// it back as it was.
func TestHostileText(t *testing.T) {
	const hostile = "x\n{\"seq\":9}\r\x1b[2J\u009b31m\u202eevil\u2066\u200d\U000E0041\u2028 \U0001F468\u200d\U0001F469"
	r := Reply(&aaep.ConfirmationReply{ReplyToken: token, Decision: hostile, DecidedBy: hostile,
		DecisionRationale: hostile})
	r.By = &Subscription{SubscriptionID: hostile, SubscriberID: hostile, Principal: hostile, Language: hostile}
	r.Refused, r.Response, r.Tool = hostile, hostile, hostile
	r.Shown = []Words{{Language: hostile, Action: hostile, Choices: []aaep.Choice{{Value: hostile, Label: hostile}}}}
	var log bytes.Buffer
	for _, s := range []Sink{Slog(slog.New(slog.NewJSONHandler(&log, nil))),
		Slog(slog.New(slog.NewTextHandler(&log, nil)))} {
		log.Reset()
		must(t, s.Record(r))
		if text := strings.TrimSuffix(log.String(), "\n"); aaep.SafeText(text) != text ||
			strings.ContainsAny(text, "\n\x1b\u202e") {
			t.Errorf("%q", text)
		}
	}
	line, _, err := sealRecord(1, "", r)
	must(t, err)
	text := string(line[:len(line)-1])
	if aaep.SafeText(text) != text || strings.ContainsAny(text, "\n\u200d") {
		t.Errorf("%q", text)
	}
	e, ok := parseLine([]byte(text))
	if !ok || e.Claims.DecidedBy != hostile || e.By.Principal != hostile || e.Response != hostile ||
		e.Shown[0].Choices[0].Label != hostile {
		t.Errorf("%+v", e)
	}
}

// A handler that fails says so to the producer; a level that leaves records out does not.
func TestSlogErrors(t *testing.T) {
	broken := errors.New("broken")
	if err := Slog(slog.New(slog.NewTextHandler(failing{broken}, nil))).Record(sample(1)); !errors.Is(err, broken) {
		t.Errorf("of a failing handler: %v", err)
	}
	quiet := slog.NewTextHandler(failing{broken}, &slog.HandlerOptions{Level: slog.LevelWarn})
	must(t, Slog(slog.New(quiet)).Record(sample(1)))
	must(t, Slog(slog.New(slog.DiscardHandler)).Record(sample(1)))
}

// A record of which every field says something has the same names and values in a log as in a file,
// however deep; so has an answer that is no or nothing, and a tool that took no time.
func TestSlogNames(t *testing.T) {
	for _, response := range []any{"blue", false, 0.0} {
		var r Record
		fill(reflect.ValueOf(&r).Elem())
		r.Node, r.Version, r.Torn = "", 0, 0 // only a File says these
		r.Response, r.Claims.Response, r.DurationMS = response, response, new(int64(0))
		var log bytes.Buffer
		must(t, Slog(slog.New(slog.NewJSONHandler(&log, nil))).Record(r))
		data, err := json.Marshal(r)
		must(t, err)
		var logged, marshalled map[string]any
		must(t, json.Unmarshal(log.Bytes(), &logged))
		must(t, json.Unmarshal(data, &marshalled))
		delete(logged, "level")
		delete(logged, "msg")
		if got, want := fmt.Sprint(logged), fmt.Sprint(grouped(marshalled)); got != want {
			t.Errorf("the log has %s\nthe file %s", got, want)
		}
	}
}

// fill gives every field below v a value that is not left out.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(began))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Interface:
		v.Set(reflect.ValueOf("x"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

// grouped is what JSON becomes in a log, which has no arrays: their elements are numbered from 1,
// and a choice is its label under its value.
func grouped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if label, ok := v["label"]; ok {
			return label
		}
		for name, member := range v {
			v[name] = grouped(member)
		}
		return v
	case []any:
		members := map[string]any{}
		for i, member := range v {
			name := fmt.Sprint(i + 1)
			if m, ok := member.(map[string]any); ok && m["label"] != nil {
				name = fmt.Sprint(m["value"])
			}
			members[name] = grouped(member)
		}
		return members
	}
	return v
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
