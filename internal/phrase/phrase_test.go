package phrase

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
)

// names returns the name of each ID, from the source.
func names(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "ids.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, s := range d.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					if n.IsExported() {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	if len(names) < 200 {
		t.Fatalf("only %d names", len(names))
	}
	return names
}

// checkEach runs a check on every sentence of every language, as it is in the catalogue.
func checkEach(t *testing.T, check func(t *testing.T, c *catalogue, id ID, sentence string)) {
	for _, c := range catalogues() {
		for _, name := range names(t) {
			t.Run(c.tag+"/"+name, func(t *testing.T) { check(t, c, ID(name), c.text(ID(name))) })
		}
	}
}

// The producer's own words, written by hand. Agents and tests know them: they change with care.
func TestEnglish(t *testing.T) {
	for id, want := range map[ID][2]string{
		Thinking:         {"", "Thinking."},
		UsingATool:       {"", "Using a tool."},
		Answering:        {"", "Answering."},
		WaitingForAnswer: {"", "Waiting for an answer."},
		Idle:             {"", "Now: idle."},
		Deciding:         {"", "Now: deciding."},
		HandingOff:       {"", "Now: handing off."},
		InState:          {"reading_the_mail", "Now: reading the mail."},

		UsingTool:       {"transfer_funds", "Using the tool transfer funds."},
		ToolFinished:    {"transfer_funds", "Transfer funds finished."},
		ToolTookTooLong: {"Mail.send", "Mail.send took too long."},
		ToolFailed:      {"_2_way_sync", "_2 way sync failed."},
		ToolEndUnknown:  {"x", "X may have been done: how it ended is not known."},
		TookTooLong:     {"", "It took too long."},
		Failed:          {"", "It failed."},

		AgentFinished: {"", "The agent finished."},
		AgentFailed:   {"", "The agent failed."},
		Cancelled:     {"", "Cancelled."},
		SessionEnded:  {"", "The session ended."},

		ActionRejected:     {"Pay $5.", "Rejected, and not done: Pay $5."},
		ActionTimedOut:     {"Write to my_file {tool}", "Nobody answered in time, so this was not done: Write to my_file {tool}"},
		ActionUnreachable:  {"Pay $5.", "Nobody could be asked, so this was not done: Pay $5."},
		ActionWithdrawn:    {"Pay $5.", "Withdrawn, and not done: Pay $5."},
		ActionElsewhere:    {"Pay $5.", "Nobody answered here; the agent asks in its own window: Pay $5."},
		ActionNotAskedHere: {"Pay $5.", "Not asked here any more: Pay $5."},
		ActionNotBegun:     {"Pay $5.", "Accepted, and not done: Pay $5."},

		ActionNotRecorded: {"Pay $5.", "It could not be put on record, so this was not done: Pay $5."},

		QuestionTimedOut:    {"Pay.", "Nobody answered in time: Pay."},
		QuestionUnreachable: {"Pay.", "Nobody could be asked: Pay."},
		QuestionWithdrawn:   {"Pay.", "The question was withdrawn: Pay."},
		QuestionNotRecorded: {"Pay.", "The answer could not be put on record, and does not count: Pay."},
		DefaultUsed:         {"Pay.", "No answer; the default is used: Pay."},

		HalfTimeLeft:   {"45 seconds", "Half of the time to answer is over. Time left: 45 seconds."},
		LittleTimeLeft: {"45 seconds", "The time to answer is almost over. Time left: 45 seconds."},
		MoreTimeGiven:  {"45 seconds", "There is more time to answer. Time left: 45 seconds."},
		ActionChanged:  {"", "The action was changed. The question follows again."},

		LinkLost:    {"", "The connection to the agent is interrupted. What it does now is told when it is back."},
		LinkBack:    {"", "The connection to the agent is back."},
		LinkRefused: {"", "The agent refuses your credentials. What it does is told again when it takes them, or newer ones."},

		ProgressPercent: {"12.5", "12.5 percent."},
		ProgressStep:    {"2 of 5", "Step 2 of 5."},
		ProgressMade:    {"", "The agent made progress."},
		OfSteps:         {"5", "of 5"},

		Request:          {"", "Working on a request."},
		RequestOf:        {"gemini_cli", "Working on a request from gemini_cli."},
		AnswerTo:         {"GeminiCLI", "The answer to GeminiCLI."},
		ModelBusy:        {"", "The provider of the model is too busy at the moment."},
		ModelFault:       {"", "The provider of the model has a fault."},
		ModelUnreachable: {"", "The provider of the model could not be reached."},
		ModelRefused:     {"", "The provider of the model did not accept the request."},
		AnswerBroken:     {"", "The answer broke off before its end."},
		AnswerCut:        {"", "The answer was cut off because it became too long."},
		AnswerDeclined:   {"", "The model or its provider declined to answer."},
		AnswerUnread:     {"", "There is an answer, but it could not be followed here."},

		Done:       {"", "Done."},
		Error:      {"", "Error."},
		Handover:   {"", "Handover."},
		WaitingFor: {"Pay $5.", "Waiting for an answer: Pay $5."},

		ToDecide:       {"Pay.", "Decide: Pay."},
		CannotBeUndone: {"", "Cannot be undone."},
		HardToUndo:     {"", "Hard to undo."},
		RiskLow:        {"", "Low risk."},
		RiskMedium:     {"", "Medium risk."},
		RiskHigh:       {"", "High risk."},

		ActionIs:       {"Pay $5.", "Action: Pay $5."},
		ConsequenceIs:  {"Pay $5.", "Consequence: Pay $5."},
		QuestionIs:     {"Pay $5.", "Question: Pay $5."},
		ContextIs:      {"Pay $5.", "Context: Pay $5."},
		ChoicesAre:     {"32", "Choices: 32."},
		OpenQuestionIs: {"Pay $5.", "The question is: Pay $5."},

		TimeToAnswer: {"2 minutes", "You have 2 minutes to answer."},

		SilenceAccepts:   {"", "No answer: it will be done."},
		SilenceRejects:   {"", "No answer: it will not be done."},
		SilenceElsewhere: {"", "No answer: the agent asks in its own window."},
		SilenceUnknown:   {"", "No answer: nobody knows what will happen."},
		SilenceYes:       {"", "No answer means yes."},
		SilenceNo:        {"", "No answer means no."},
		SilenceMeans:     {"Pay $5.", "No answer means: Pay $5."},

		AgentSays: {"Pay $5.", "The agent says: Pay $5."},
		Code:      {"3 lines", "Code, 3 lines."},
		CodeSoFar: {"3 lines", "Code, 3 lines so far."},
		AnImage:   {"", "An image."},
		Checked:   {"Pay $5.", "Checked: Pay $5."},
		Unchecked: {"Pay $5.", "Not checked: Pay $5."},
	} {
		if got, known := In("en-US", id, want[0]); got != want[1] || !known {
			t.Errorf("%s of %q = %q, %v; want %q", id, want[0], got, known, want[1])
		}
	}
}

func TestIn(t *testing.T) {
	for _, tt := range []struct {
		tag   string
		id    ID
		arg   string
		want  string
		known bool
	}{
		{"es", ToolFinished, "transfer_funds", "La herramienta transfer funds terminó.", true},
		{"es-419", Thinking, "", "Pensando.", true},
		{"ES-mx", Thinking, "no place for this", "Pensando.", true},
		{"fr-CA", InState, "reading_mail", "Maintenant\u00a0: reading mail.", true},
		{"de-CH-1996", Cancelled, "", "Abgebrochen.", true},
		{"de-Latn-AT", Cancelled, "", "Abgebrochen.", true},
		{"ar-EG", ToolFailed, "transfer_funds", "فشلت الأداة transfer funds.", true},
		{"ar-arb-Arab-u-nu-latn", SessionEnded, "", "انتهت الجلسة.", true},
		{"yo-NG", ToolFinished, "transfer_funds", "Irinṣẹ́ transfer funds ti parí iṣẹ́ rẹ̀.", true},
		{"en-x-latn", ToolFailed, "a_b", "A b failed.", true},

		{"ar-Latn", ToolFailed, "a_b", "A b failed.", false},
		{"en-Brai", Thinking, "", "Thinking.", false},
		{"yor", Thinking, "", "Thinking.", false},
		{"ha-NG", ActionRejected, "Biya.", "Rejected, and not done: Biya.", false},
		{"est", Thinking, "", "Thinking.", false},
		{"es_MX", Thinking, "", "Thinking.", false},
		{"x-es", Thinking, "", "Thinking.", false},
		{"", ToolFinished, "", " finished.", false},
		{"-", Thinking, "", "Thinking.", false},

		{"en", "", "", "", false},
		{"en", "NoSuchPhrase", "", "", false},
	} {
		if got, known := In(tt.tag, tt.id, tt.arg); got != tt.want || known != tt.known {
			t.Errorf("In(%q, %q, %q) = %q, %v; want %q, %v", tt.tag, tt.id, tt.arg, got, known, tt.want, tt.known)
		}
	}
}

// Each listener has the sentence in their language, and the agent's own comes first.
func TestText(t *testing.T) {
	text := Text([]string{"es", "sw", "en"}, UsingTool, "balance")
	if text.Normal != "Usando la herramienta balance." || len(text.Translations()) != 1 || text.Translations()["en"].Normal != "Using the tool balance." {
		t.Errorf("%+v, translated %+v", text, text.Translations())
	}
	if text := Text([]string{"sw", "es"}, Thinking, ""); text.Normal != "" || text.Translations()["en"].Normal != "Thinking." || text.Translations()["es"].Normal != "Pensando." {
		t.Errorf("of an agent that speaks another language: %+v, translated %+v", text, text.Translations())
	}
	if text := Text(nil, Thinking, ""); text.Normal != "Thinking." {
		t.Errorf("without a language: %+v", text)
	}
}

func TestLanguages(t *testing.T) {
	got := Languages()
	if got[0] != "en" || !slices.IsSorted(got[1:]) || len(got) < 6 {
		t.Errorf("Languages() = %q; want English first, then the others in order", got)
	}
	got[0] = "changed"
	if Languages()[0] != "en" {
		t.Error("the caller's slice is the package's own")
	}
	for _, tag := range Languages() {
		if !aaep.ValidLanguageTag(tag) {
			t.Errorf("%q is no language tag", tag)
		}
	}
}

// The braces are those of English, an author's words come last, and the end is the mark that ends a
// sentence.
func TestForm(t *testing.T) {
	slot := func(sentence string) string {
		_, rest, _ := strings.Cut(sentence, "{")
		what, _, _ := strings.Cut(rest, "}")
		return what
	}
	pieces, all := map[string]bool{}, names(t)
	for _, name := range all[slices.Index(all, string(OneQuestionOpen)):] {
		pieces[name] = true
	}
	checkEach(t, func(t *testing.T, c *catalogue, id ID, sentence string) {
		if n := strings.Count(sentence, "{") + strings.Count(sentence, "}"); n != 0 && n != 2 {
			t.Errorf("%q has %d braces", sentence, n)
		}
		if got, want := slot(sentence), slot(english().text(id)); got != want {
			t.Errorf("%q wants {%s}; in English it is {%s}", sentence, got, want)
		}
		end := "."
		switch {
		case pieces[string(id)]:
			end = ""
		case slot(sentence) == "action":
			end = ": {action}"
		}
		if !strings.HasSuffix(sentence, end) {
			t.Errorf("%q must end with %q", sentence, end)
		}
		if strings.TrimSpace(sentence) != sentence || strings.Contains(sentence, "  ") {
			t.Errorf("%q has a space too many", sentence)
		}
		for line := range strings.Lines(fillArgument(sentence, "transfer_funds")) {
			if n := utf8.RuneCountInString(line); n > 120 {
				t.Errorf("%q has %d characters; whoever listens has to wait for the end", line, n)
			}
		}
	})
}

// typedText is what a person types, which is the same in every language.
var typedText = regexp.MustCompile(`(?m)\n|^/[^:\n]+:|@[a-z.]+|/[a-z]+( off)?|--[a-z]+( speech)?|orca|Ctrl-C|Strg-C|[0-9.]+`)

// I18N-010: normal form C, in the letters and marks of the language.
func TestLetters(t *testing.T) {
	checkEach(t, func(t *testing.T, c *catalogue, id ID, sentence string) {
		if c := norm.NFC.String(sentence); c != sentence {
			t.Errorf("%+q is not in normal form C; that is %+q", sentence, c)
		}
		sentence = typedText.ReplaceAllString(fillArgument(sentence, ""), "")
		for _, r := range norm.NFD.String(sentence) {
			if r != ' ' && !strings.ContainsRune(norm.NFD.String(c.letters())+c.marks(), unicode.ToLower(r)) {
				t.Errorf("%q has %q (%U), which is not under X-Letters or X-Marks in %s", sentence, r, r, c.file)
			}
		}
	})
}

// A sentence about what was not done says so.
func TestNotDone(t *testing.T) {
	checkEach(t, func(t *testing.T, c *catalogue, id ID, sentence string) {
		switch id {
		case ActionRejected, ActionTimedOut, ActionUnreachable, ActionWithdrawn, ActionNotBegun, ActionNotRecorded,
			SilenceRejects:
		default:
			return
		}
		for word := range strings.FieldsFuncSeq(sentence, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) }) {
			if strings.Contains(" "+c.text(notWords)+" ", " "+word+" ") {
				return
			}
		}
		t.Errorf("%q must say that it was not done, with one of %q", sentence, c.text(notWords))
	})
}

// Every sentence may stand in an event.
func TestValid(t *testing.T) {
	checkEach(t, func(t *testing.T, c *catalogue, id ID, _ string) {
		for _, arg := range []string{"transfer_funds", "Transfer $500 to savings."} {
			sentence, known := In(c.tag, id, arg)
			if !known {
				t.Errorf("%q is not known", c.tag)
			}
			if safe := aaep.SafeText(sentence); safe != sentence {
				t.Errorf("%+q is not safe: %+q", sentence, safe)
			}
			err := aaep.Validate(&aaep.Event{
				AAEPVersion: aaep.Version, EventID: "evt_1", SessionID: "sess_1",
				Timestamp: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC),
				Producer:  aaep.Agent{AgentID: "agent"},
				Verbosity: aaep.VerbosityNormal, Urgency: aaep.UrgencyNormal,
				LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: c.tag},
				Summary:           aaep.Say(sentence),
				Payload: &aaep.ToolCompleted{Tool: "transfer_funds", ToolCallID: "call_1", Status: aaep.ToolError,
					ErrorMessage: sentence},
			})
			if err != nil {
				t.Errorf("%q: %v", sentence, err)
			}
		}
	})
}

// A name stands in an Arabic sentence as one piece, in its place, without direction marks.
func TestArabicOrder(t *testing.T) {
	for id := range english().says {
		sentence := catalogueFor("ar").text(id)
		if !strings.Contains(sentence, "{tool}") && !strings.Contains(sentence, "{state}") {
			continue
		}
		for _, name := range []string{"transfer_funds", "get_2", "read-file.v2"} {
			text, _ := In("ar", id, name)
			var p bidi.Paragraph
			p.SetString(text)
			order, err := p.Order()
			if err != nil {
				t.Fatal(err)
			}
			if order.Direction() == bidi.LeftToRight {
				t.Errorf("%q runs from left to right", text)
			}
			var found []string
			for i := range order.NumRuns() {
				if run := order.Run(i); run.Direction() == bidi.LeftToRight {
					found = append(found, run.String())
				}
			}
			if want := strings.ReplaceAll(name, "_", " "); len(found) != 1 || found[0] != want {
				t.Errorf("%q: from left to right run %q, want %q", text, found, want)
			}
		}
	}
}
