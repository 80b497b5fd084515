package check

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aaep-go/aaep"
)

const envelope = `{"@context":"https://aaep-protocol.org/context/v1","aaep_version":"1.0.0","event_id":"evt_%d","session_id":"sess_1",` +
	`"timestamp":"2026-07-01T09:30:00.%03dZ","producer":{"agent_id":"a"},"verbosity":"normal","urgency":"%s","localization_hints":{"primary_language":"en","text_direction":"ltr"},"summary_normal":"Said.",%s}`

// session writes the events of one session, given as their own members.
func sessionOf(events ...string) string {
	var b strings.Builder
	for i, ev := range events {
		urgency := "normal"
		if strings.Contains(ev, "awaiting") || strings.Contains(ev, "errored") {
			urgency = "critical"
		}
		fmt.Fprintf(&b, envelope+"\n", i, i, urgency, ev)
	}
	return b.String()
}

const (
	started   = `"type":"aaep:agent.session.started"`
	thinking  = `"type":"aaep:agent.state.changed","from_state":"idle","to_state":"thinking"`
	waiting   = `"type":"aaep:agent.state.changed","from_state":"thinking","to_state":"awaiting_input"`
	question  = `"type":"aaep:agent.awaiting.confirmation","action":"Pay.","consequence":"Gone.","reply_token":"rpl_1","timeout_seconds":60,"default_decision":"reject","risk_level":"high","irreversible":true,"reversibility":"irreversible","extra_context":{"tool":"pay","tool_call_id":"call_1"}`
	yes       = `"type":"aaep:agent.state.changed","from_state":"awaiting_input","to_state":"calling_tool"`
	no        = `"type":"aaep:agent.state.changed","from_state":"awaiting_input","to_state":"thinking"`
	toolState = `"type":"aaep:agent.state.changed","from_state":"thinking","to_state":"calling_tool"`
	pay       = `"type":"aaep:agent.tool.invoked","tool":"pay","tool_call_id":"call_1","risk_level":"high","irreversible":true`
	paid      = `"type":"aaep:agent.tool.completed","tool":"pay","tool_call_id":"call_1","status":"success"`
	completed = `"type":"aaep:agent.session.completed"`
)

func judge(t *testing.T, c *Checker, text string) []string {
	t.Helper()
	var got []string
	var err error
	add := func(fs []Finding) {
		for _, f := range fs {
			got = append(got, fmt.Sprintf("%d %s", f.Line, f.Requirement))
		}
	}
	for line, data := range Messages(strings.NewReader(text), &err) {
		add(c.Message(line, data))
	}
	add(c.End())
	if err != nil {
		got = append(got, err.Error())
	}
	return got
}

func TestSessions(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a whole session, with a yes that nobody wrote down",
			sessionOf(started, thinking, waiting, question, yes, pay, paid, completed), ""},
		{"a no, and then the deed", sessionOf(started, thinking, waiting, question, no, toolState, pay, paid,
			completed), "7 SM-009"}, // SM-009
		{"never asked", sessionOf(started, thinking, toolState, pay, paid, completed), "4 EVT-042"}, // EVT-042
		{"a state that does not follow costs one finding", sessionOf(started, toolState, pay, paid, completed),
			"2 EVT-029, 3 EVT-042"},
		{"a summary that is missing is missing once",
			strings.Replace(sessionOf(started, completed), `"summary_normal"`, `"summary_terse"`, 1), "1 LVL-010"},
		{"an unknown value is understood, and wrong",
			strings.Replace(sessionOf(started, completed), `"urgency":"normal",`, `"urgency":"loud",`, 1), "1 ENV-033"},
		{"two ends", sessionOf(started, completed, completed), "3 EVT-005"}, // EVT-004, 005
		{"an event after the end", sessionOf(started, completed, thinking), "3 EVT-005"},
		{"no beginning: a note, and no judgement", sessionOf(toolState, completed, completed), "1 EVT-003"},
		{"no end", sessionOf(started, thinking), "1 EVT-004"},
		{"an id used twice", strings.Replace(sessionOf(started, thinking, completed), "evt_1", "evt_0", 1),
			"2 ENV-013"}, // ENV-013
		{"one bad line costs one message", "{\"type\":\n" + sessionOf(started, completed) + "nonsense\n",
			"1 ENV-064, 4 ENV-064"},
		{"the answer was written down", sessionOf(started, thinking, waiting, question) +
			`{"type":"confirmation.reply","reply_token":"rpl_1","decision":"reject","subscription_id":"sub_1","timestamp":"2026-07-01T09:30:00Z"}` + "\n" +
			strings.Join(strings.SplitAfter(sessionOf(started, thinking, waiting, question, yes, pay, paid, completed),
				"\n")[4:], ""), "7 SM-009"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(judge(t, new(Checker), tt.text), ", "); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSchemaOnly(t *testing.T) {
	text := sessionOf(completed, started)
	if got := judge(t, &Checker{SchemaOnly: true}, text); len(got) != 0 {
		t.Errorf("the schemas alone know no order, but found %q", got)
	}
}

func TestManifest(t *testing.T) {
	got := judge(t, new(Checker), `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:producer.manifest","agent_id":""}`)
	if len(got) == 0 || !strings.Contains(strings.Join(got, ","), "ENV-024") {
		t.Errorf("an empty agent_id in a manifest: found %q", got)
	}
}

func TestMessages(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"{}\n{}\n", "1:{} 2:{}"},
		{"{}\r\n\n{}", "1:{} 3:{}"},
		{"{\n\"a\": \"}\"\n}\n{}", "1:{\n\"a\": \"}\"\n}\n 4:{}"},
		{"[\n1]\n{}", "1:[\n1]\n 3:{}"},
		{"x\n{}\n", "1:x 2:{}"},
		{"{\"a\":\n{\"type\":1}\n", "1:{\"a\":\n 2:{\"type\":1}"},
		{"{\"a\": [\n{\"b\": 1}\n]}\n", "1:{\"a\": [\n{\"b\": 1}\n]}\n"},
		{"{\"a\":\"\\\"{\"}\n{}\n", "1:{\"a\":\"\\\"{\"} 2:{}"},
	} {
		var got []string
		var err error
		for line, data := range Messages(iotest.OneByteReader(strings.NewReader(tt.text)), &err) {
			got = append(got, fmt.Sprintf("%d:%s", line, data))
		}
		if s := strings.Join(got, " "); s != tt.want || err != nil {
			t.Errorf("Messages(%q) = %q, %v; want %q", tt.text, s, err, tt.want)
		}
	}
}

func TestMessagesErrors(t *testing.T) {
	var err error
	for range Messages(iotest.ErrReader(io.ErrUnexpectedEOF), &err) {
		t.Error("a message from a reader that fails")
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err = %v", err)
	}
	err = nil
	for range Messages(strings.NewReader("{"+strings.Repeat("\n1,", maxMessage)), &err) {
	}
	if err == nil {
		t.Error("a message without end was read")
	}
}

// ENV-062, INV-32: a stream of any length is judged in constant memory; ended sessions are
// forgotten.
func TestManySessions(t *testing.T) {
	var c Checker
	for i := range 3 * maxEnded {
		for j, ev := range []string{started, completed} {
			line := strings.Replace(fmt.Sprintf(envelope, j, j, "normal", ev), "sess_1", fmt.Sprintf("sess_%d", i), 1)
			if found := c.Message(i, []byte(line)); len(found) > 0 {
				t.Fatal(found)
			}
		}
	}
	if len(c.sessions) != 0 || len(c.over.seen) > maxEnded || len(c.over.order) > maxEnded {
		t.Errorf("%d sessions are held, %d remembered", len(c.sessions), len(c.over.seen))
	}
	if c.Events != 6*maxEnded || c.Messages != c.Events {
		t.Errorf("%d events, %d messages", c.Events, c.Messages)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(sessionOf(started, completed))
	f.Add("{\n\"type\":\n\"x\"}\n{}\n[")
	f.Add("\"\\\n{{{")
	f.Fuzz(func(t *testing.T, text string) {
		var c Checker
		var err error
		last := 0
		for line, data := range Messages(strings.NewReader(text), &err) {
			if line <= last {
				t.Fatalf("line %d after line %d", line, last)
			}
			last = line
			for _, f := range c.Message(line, data) {
				if aaep.SafeText(f.Problem) != f.Problem && !strings.Contains(f.Problem, "\n") {
					t.Errorf("unsafe text in a finding: %q", f.Problem)
				}
			}
		}
		c.End()
	})
}

func BenchmarkCheck(b *testing.B) {
	lines := strings.Split(strings.TrimSpace(sessionOf(started, thinking, waiting, question, yes, pay, paid,
		completed)), "\n")
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		var c Checker
		for i, l := range lines {
			if f := c.Message(i, []byte(l)); len(f) > 0 {
				b.Fatal(f)
			}
		}
	}
}

// What is only a decision of this project is a note; what the schemas refuse is not.
func TestNotes(t *testing.T) {
	good := sessionOf(started)
	for _, tt := range []struct {
		text string
		note bool
	}{
		{strings.Replace(good, `"urgency":"normal",`, `"urgency":"loud",`, 1), false},
		{strings.Replace(good, `"verbosity":"normal",`, "", 1), true},
		// D-03
		{strings.Replace(good, `"localization_hints":{"primary_language":"en","text_direction":"ltr"},`, "", 1), true},
		// D-72
		{strings.Replace(fmt.Sprintf(envelope, 1, 1, "critical", question), `"reversibility":"irreversible"`,
			`"reversibility":"reversible_with_effort"`, 1), true}, // D-21
	} {
		var c Checker
		found := c.Message(1, []byte(strings.TrimSpace(tt.text)))
		if len(found) == 0 {
			t.Errorf("%s: nothing was found", tt.text)
		}
		for _, f := range found {
			if f.Note != tt.note {
				t.Errorf("%s: %v, a note: %v", tt.text, f.Violation, f.Note)
			}
		}
	}
}

// SM-016, D-29: several producers share a session's beginning and end; the states and tools are
// each one's own.
func TestSeveralProducers(t *testing.T) {
	of := func(agent string, text string) string {
		return strings.ReplaceAll(text, `"agent_id":"a"`, `"agent_id":"`+agent+`"`)
	}
	whole := strings.SplitAfter(sessionOf(started, thinking, thinking, toolState,
		`"type":"aaep:agent.tool.invoked","tool":"look","tool_call_id":"call_1"`,
		`"type":"aaep:agent.tool.completed","tool":"look","tool_call_id":"call_1","status":"success"`, completed), "\n")
	for i := 2; i < 6; i++ { // the second thinking, and the tool
		whole[i] = of("b", whole[i])
	}
	if got := judge(t, new(Checker), strings.Join(whole, "")); len(got) != 0 {
		t.Errorf("two producers: found %q", got)
	}
	open := slices.Delete(slices.Clone(whole), 5, 6) // b's tool never ends, and a ends the session
	if got := judge(t, new(Checker), strings.Join(open, "")); len(got) != 1 || got[0] != "6 SM-003" {
		t.Errorf("a tool left open: found %q", got)
	}
	twice := slices.Insert(slices.Clone(whole), 2, of("b", strings.Replace(whole[0], "evt_0", "evt_99", 1)))
	if got := judge(t, new(Checker), strings.Join(twice, "")); len(got) == 0 || !strings.Contains(got[0], "EVT-002") {
		t.Errorf("a second beginning: found %q", got)
	}
	one := strings.Split(strings.ReplaceAll(strings.Join(whole, "|"), `"agent_id":"b"`, `"agent_id":"a"`), "|")
	if got := judge(t, new(Checker), strings.Join(one, "")); len(got) == 0 {
		t.Error("one producer may not begin to think twice")
	}
}

// ENV-069: data of an extension that is known is judged by its schema; what is not named by its
// URI, or not known, is not.
func TestExtensionData(t *testing.T) {
	const core, haptic = `"https://aaep-protocol.org/context/v1"`,
		`"https://github.com/aaep-go/aaep/extensions/haptic/v1"`
	event := func(context, extensions string) string {
		whole := fmt.Sprintf(envelope, 1, 1, "normal", started+`,"extensions":`+extensions)
		return strings.Replace(whole, `"@context":`+core, `"@context":[`+context+`]`, 1)
	}
	request := func(uris, object string) string {
		return `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"s","capabilities":{"supported_extensions":[` + uris + `],"haptic":` + object + `}}`
	}
	for name, tt := range map[string]struct{ text, want string }{
		"right":     {event(core+","+haptic, `{"haptic":{"pattern":"tap"}}`), ""},
		"wrong":     {event(core+","+haptic, `{"haptic":{"pattern":7}}`), "/extensions/haptic/pattern"},
		"not whole": {event(core+","+haptic, `{"haptic":{}}`), "/extensions/haptic"},
		"another's": {event(core+`,"https://example.org/haptic/v1"`, `{"haptic":{"pattern":7}}`), ""},
		"asked for": {request(haptic, `{"patterns_supported":["tap"]}`), ""},
		"wrongly asked for": {request(haptic, `{"patterns_supported":"tap"}`),
			"/capabilities/haptic/patterns_supported"},
		"another's, too": {request(`"https://example.org/haptic/v1"`, `{"patterns_supported":"tap"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var c Checker
			var got []string
			for _, f := range c.Message(1, []byte(tt.text)) {
				if f.Requirement == "ENV-069" && !f.Note {
					got = append(got, f.Pointer)
				} else if !f.Note {
					t.Errorf("%s %s %s", f.Requirement, f.Pointer, f.Problem)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// ENV-067, EVT-068, EVT-073: an event that cannot be read, for a member is missing, is told
// everything that is wrong with it, each once.
func TestUnreadableToldAll(t *testing.T) {
	wrong := strings.NewReplacer(`"default_decision":"reject",`, "",
		`"irreversible":true,"reversibility":"irreversible"`, `"irreversible":"yes"`).Replace(question)
	var got []string
	for _, f := range (&Checker{}).Message(1, fmt.Appendf(nil, envelope, 1, 1, "normal", wrong)) {
		got = append(got, f.Requirement+" "+f.Pointer)
	}
	slices.Sort(got)
	if want := []string{"ENV-067 ", "EVT-068 /urgency", "EVT-073 /irreversible"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// D-04: a type is judged by the same rules in each of its spellings.
func TestSpellingsOfAType(t *testing.T) {
	for _, spelling := range []string{"aaep:", "https://aaep-protocol.org/types/",
		"https://aaep-protocol.org/vocab/v1#"} {
		valid := strings.Replace(fmt.Sprintf(envelope, 1, 0, "normal", `"type":"aaep:agent.session.started"`),
			"aaep:agent", spelling+"agent", 1)
		for _, c := range []struct {
			line  string
			wrong bool
		}{{valid, false}, {strings.Replace(valid, `"type"`, `"requested_by":5,"type"`, 1), true},
			{strings.Replace(valid, "session.started", "awaiting.confirmation", 1), true}} {
			for _, schemaOnly := range []bool{false, true} {
				found := (&Checker{SchemaOnly: schemaOnly}).Message(1, []byte(c.line))
				if wrong := slices.ContainsFunc(found, func(f Finding) bool { return !f.Note }); wrong != c.wrong {
					t.Errorf("%s, schemas alone: %v: %v", c.line, schemaOnly, found)
				}
			}
		}
	}
}

// D-12, ENV-058 to ENV-062: the limits of what this SDK sends are notes where others exceed them
// within the published schemas.
func TestOwnLimitsAreNotes(t *testing.T) {
	const event = `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:agent.session.started","event_id":"evt_1","session_id":"sess_1","timestamp":"2026-07-01T09:30:00.000Z",` +
		`"verbosity":"normal","urgency":"normal","localization_hints":{"primary_language":"en"%s},"producer":{"agent_id":"bills"%s}%s}`
	wide, long := strings.Repeat("語", 16384), strings.Repeat("a", 16385)
	many := ""
	for n := range 30 {
		many += fmt.Sprintf(`,"x%d":{}`, n)
	}
	context := `,"@context":["https://aaep-protocol.org/context/v1","https://example.org/x"]`
	for name, c := range map[string]struct {
		hints, producer, more string
		wrong                 bool
	}{
		"wide summary":     {"", "", `,"summary_normal":"` + wide + `"`, false},
		"long summary":     {"", "", `,"summary_normal":"` + long + `"`, true},
		"long correlation": {"", "", `,"summary_normal":"x","correlation_id":"` + long + `"`, false},
		"long agent name":  {"", `,"agent_name":"` + long + `"`, `,"summary_normal":"x"`, false},
		"empty agent name": {"", `,"agent_name":""`, `,"summary_normal":"x"`, true},
		"long calendar":    {`,"calendar":"` + long + `"`, "", `,"summary_normal":"x"`, false},
		"64 KiB and more": {"", "", `,"summary_normal":"x","extensions":{"x":{"a":"` + strings.Repeat("y",
			70000) + `"}}`, false},
		"deep extension": {"", "", `,"summary_normal":"x","extensions":{"x":{"a":` + strings.Repeat("[", 12) +
			strings.Repeat("]", 12) + `}}`, false},
		"more than 32 members": {"", "", `,"summary_normal":"x","extensions":{"x":{}` + many + `}`, false},
	} {
		line := fmt.Sprintf(event, c.hints, c.producer, c.more)
		if strings.Contains(c.more, "extensions") {
			line = strings.Replace(line, `"@context":"https://aaep-protocol.org/context/v1"`, context[1:], 1)
		}
		for _, schemaOnly := range []bool{false, true} {
			found := (&Checker{SchemaOnly: schemaOnly}).Message(1, []byte(line))
			wrong := slices.ContainsFunc(found, func(f Finding) bool { return !f.Note })
			if wrong != c.wrong || !schemaOnly && len(found) == 0 {
				t.Errorf("%s (schemas alone: %v): %.300v", name, schemaOnly, found)
			}
		}
	}
}
