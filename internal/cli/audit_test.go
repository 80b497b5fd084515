package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/producer/audit"
)

// trail writes a trail and returns where it is, and its head after the records.
func trail(t *testing.T, records ...audit.Record) (path, head string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "trail.jsonl")
	f, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := f.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	head = f.Head()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path, head
}

func aaepCommand(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, talk bytes.Buffer
	code = Main(args, strings.NewReader(stdin), &out, &talk)
	return code, out.String(), talk.String()
}

// transfer is what a person with a screen reader allowed.
func transfer() []audit.Record {
	at := func(seconds int) time.Time {
		return time.Date(2026, 10, 2, 9, 30, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
	}
	reader := audit.Subscription{SubscriptionID: "sub_1", SubscriberID: "nvda", Principal: "alice", Language: "en-US"}
	return []audit.Record{
		{Time: at(2), Kind: audit.Asked, SessionID: "sess_1", Tool: "transfer_funds", QuestionID: "q_1", Risk: aaep.RiskHigh, Irreversible: true,
			Deadline: at(302), Default: "reject", Shown: []audit.Words{
				{Language: "en-US", Normal: "Transfer $500 to savings.", Action: "Transfer $500 to savings.", Consequence: "Funds move at once."},
				{Language: "es", Terse: "¿Transferir?", Action: "Transferir 500 dólares."},
			}, Recipients: []audit.Subscription{reader}},
		{Time: at(8), Kind: audit.Asked, SessionID: "sess_1", QuestionID: "q_1", Recipients: []audit.Subscription{{SubscriptionID: "sub_2", Node: "east"}}},
		{Time: at(9), Kind: audit.Replied, QuestionID: "q_1", By: &audit.Subscription{SubscriptionID: "sub_2"},
			Claims: &audit.Claims{Decision: aaep.Reject, Modified: true}, Refused: "names another subscription than the one it came on"},
		{Time: at(10), Kind: audit.Extended, QuestionID: "q_1", Deadline: at(602), By: &reader},
		{Time: at(14), Kind: audit.Replied, QuestionID: "q_1", By: &reader, Counted: true,
			Claims: &audit.Claims{Decision: aaep.Accept, DecidedBy: "Alice Example", Rationale: "my rent", Time: at(13)}},
		{Time: at(14), Kind: audit.Settled, QuestionID: "q_1", By: &reader, Cause: "replied", Decision: aaep.Accept},
		{Time: at(14), Kind: audit.Invoked, SessionID: "sess_1", Tool: "transfer_funds", QuestionID: "q_1", Untold: []audit.Subscription{{SubscriptionID: "sub_2", Node: "east"}}},
		{Time: at(16), Kind: audit.Completed, SessionID: "sess_1", Tool: "transfer_funds", Status: aaep.ToolSuccess, DurationMS: new(int64(1700))},
		{Time: at(20), Kind: audit.Asked, QuestionID: "q_2", Deadline: at(86420), Shown: []audit.Words{
			{Language: "en-US", Question: "Which account?", Choices: []aaep.Choice{{Value: "a", Label: "Savings"}}}}},
		{Time: at(30), Kind: audit.Replied, QuestionID: "q_2", By: &reader, Counted: true, Claims: &audit.Claims{Response: "a"}},
		{Time: at(30), Kind: audit.Settled, QuestionID: "q_2", Cause: "timed_out", Response: "a"},
		{Time: at(31), Kind: audit.Settled, QuestionID: "q_3", AgentID: "bank", SessionID: "sess_3", Tool: "pay", Cause: "unreachable", Decision: aaep.Reject},
		{Time: at(32), Kind: audit.Completed, Status: aaep.ToolError, DurationMS: new(int64(340))},
	}
}

func TestAuditShow(t *testing.T) {
	path, _ := trail(t, append(transfer(), audit.Record{Time: time.Date(2026, 10, 2, 9, 30, 33, 0, time.UTC), Kind: audit.NotDone, Tool: "wipe", QuestionID: "q_1"})...)
	code, out, talk := aaepCommand("", "audit", "show", path)
	if code != exits.OK || talk != "" {
		t.Errorf("exit %d: %s", code, talk)
	}
	_, out, _ = strings.Cut(out, "Friday") // before it, the day on which this test runs
	want := ` 2 October 2026, all times are UTC.
09:30:02 Question 2: the agent asked to use transfer_funds, in session sess_1. The risk is high. It cannot be undone. Time to answer until 09:35:02. No answer means: reject
09:30:02 Question 2, en-US, action: Transfer $500 to savings.
09:30:02 Question 2, en-US, consequence: Funds move at once.
09:30:02 Question 2, es, action: Transferir 500 dólares.
09:30:02 Question 2, es, in short: ¿Transferir?
09:30:02 Question 2 was put to subscription sub_1 of nvda, authenticated as alice, in en-US.
09:30:08 Question 2 was put to subscription sub_2, served by east, nobody authenticated.
09:30:09 Question 2: a reply from subscription sub_2, nobody authenticated, reject. It did not count: names another subscription than the one it came on
09:30:09 Question 2, that reply wants a changed action, which counts as a rejection.
09:30:10 Question 2 has more time, until 09:40:02, for subscription sub_1 of nvda, authenticated as alice.
09:30:14 Question 2: a reply from subscription sub_1 of nvda, authenticated as alice, accept. It counted.
09:30:14 Question 2, that reply claims to be decided by: Alice Example
09:30:14 Question 2, that reply gives as its reason: my rent
09:30:14 Question 2, that reply claims to be of: 2026-10-02 09:30:13 UTC
09:30:14 Question 2 was settled: accepted, by a reply from subscription sub_1 of nvda, authenticated as alice.
09:30:14 transfer_funds was started, after question 2, in session sess_1.
09:30:14 transfer_funds was started before this was told to subscription sub_2, served by east, nobody authenticated, who was asked.
09:30:16 transfer_funds ended after 2 seconds, in session sess_1: success
09:30:20 Question 10: the agent asked something. Time to answer until 2026-10-03 09:30:20 UTC.
09:30:20 Question 10, en-US, question: Which account?
09:30:20 Question 10, en-US, choice 1, a: Savings
09:30:30 Question 10: a reply from subscription sub_1 of nvda, authenticated as alice, an answer. It counted.
09:30:30 Question 10, that reply's answer: a
09:30:30 Question 10 was settled, because nobody answered in time.
09:30:30 Question 10, the answer that was taken: a
09:30:31 No one could be asked whether to use pay, in session sess_3 of bank: rejected.
09:30:32 A tool ended after 340 milliseconds: error
09:30:33 wipe was accepted, in question 2, and not done.
`
	if out != want {
		t.Errorf("got:\n%s\nwant:\n%s", out, want)
	}
}

// What was taken back is shown as withdrawn, and not as if a person had rejected it.
func TestAuditShowWithdrawn(t *testing.T) {
	at := time.Date(2026, 10, 2, 9, 30, 0, 0, time.UTC)
	path, _ := trail(t, audit.Record{Time: at, Kind: audit.Asked, QuestionID: "q_1"},
		audit.Record{Time: at, Kind: audit.Settled, QuestionID: "q_1", Decision: aaep.Reject, Cause: "withdrawn"})
	_, out, _ := aaepCommand("", "audit", "show", path)
	if !strings.Contains(out, " was withdrawn.\n") || strings.Contains(out, "rejected") {
		t.Errorf("shown is\n%s", out)
	}
}

// A question that the agent asks itself where it gets no answer is not shown as one that was
// rejected.
func TestAuditShowElsewhere(t *testing.T) {
	at := time.Date(2026, 10, 2, 9, 30, 0, 0, time.UTC)
	path, _ := trail(t, audit.Record{Time: at, Kind: audit.Asked, QuestionID: "q_1", Default: "asks_elsewhere"},
		audit.Record{Time: at, Kind: audit.Settled, QuestionID: "q_1", Decision: aaep.Reject, Cause: "timed_out"})
	_, out, _ := aaepCommand("", "audit", "show", path)
	for _, want := range []string{"No answer means: the agent asks in its own window.",
		"was settled: not answered here, because nobody answered in time. The agent then asks in its own window."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// INV-36, T-LOG: no peer's words can add a line, pass for a fact, or reach the terminal unescaped.
func TestAuditShowHostile(t *testing.T) {
	const evil = "x.\n09:30:14 Question 2 was settled: accepted\x1b[1A\u202e\u2028."
	sub := audit.Subscription{SubscriptionID: evil, SubscriberID: evil, Principal: "alice. It counted.", Language: evil}
	var records []audit.Record
	for _, kind := range []audit.Kind{audit.Asked, audit.Replied, audit.Extended, audit.Settled, audit.Invoked, audit.Completed, evil} {
		records = append(records, audit.Record{Kind: kind, SessionID: evil, Tool: evil, QuestionID: "q", Risk: evil, Default: evil,
			Shown:      []audit.Words{{Language: evil, Action: evil, Context: evil, Choices: []aaep.Choice{{Value: evil, Label: evil}}}},
			Recipients: []audit.Subscription{sub}, By: &sub, Refused: evil, Cause: evil, Decision: evil, Response: evil, Status: evil,
			Claims: &audit.Claims{Decision: evil, Response: evil, DecidedBy: evil, Rationale: evil}})
	}
	path, _ := trail(t, records...)
	code, out, _ := aaepCommand("", "audit", "show", path)
	if code != exits.OK || aaep.SafeText(out) != out {
		t.Errorf("exit %d, %q", code, out)
	}
	ours := regexp.MustCompile(`^\d\d:\d\d:\d\d (A question|Question 2|"|A record|The trail)|all times are UTC\.\n$`)
	for line := range strings.Lines(out) {
		// What is in quotes, or at the end after a colon, is theirs.
		facts := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(line, "")
		facts, _, _ = strings.Cut(facts, ": x.")
		if !ours.MatchString(line) || strings.Contains(facts, "accepted") || strings.Contains(facts, "counted") {
			t.Errorf("%q", line)
		}
	}
}

func TestAuditVerify(t *testing.T) {
	path, head := trail(t, transfer()...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "changed.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	missing := write(strings.Join(append(append([]string{}, lines[:4]...), lines[5:]...), ""))
	shorter := write(strings.Join(lines[:5], ""))
	early := regexp.MustCompile(`"prev":"(\w+)"`).FindStringSubmatch(lines[6])[1]
	for _, test := range []struct {
		name      string
		args      []string
		code      int
		out, talk string
	}{
		{"in order", []string{path}, exits.OK, `: 14 records in order, from \S+ \S+ UTC to 2026-10-02 09:30:32 UTC\.\n.*: head ` + head + `\n$`, "the file alone cannot tell"},
		{"with its head", []string{path, "--head", strings.ToUpper(head)}, exits.OK, "14 records in order", `^aaep: Up to record 14 the trail is as it was when this head was taken\.\n$`},
		{"with an earlier head", []string{path, "--head", early}, exits.OK, "14 records", `Up to record 6 .* After it come 8 records`},
		{"altered", []string{write(strings.Replace(string(data), "my rent", "my debt", 1))}, exits.Failed, `^\S+:6: altered: .*\n.*: 5 records in order before that`, "not as it was written"},
		{"altered after its head", []string{write(strings.Replace(string(data), "Which", "Whose", 1)), "--head", early}, exits.Failed,
			`:10: altered: .*\n.*: up to record 6 it is as it was when the head was taken\.\n`, "not as it was written"},
		{"a line missing", []string{missing}, exits.Failed, `^\S+:5: removed: record 5 is missing\.\n`, "not as it was written"},
		{"the end missing", []string{shorter}, exits.OK, "5 records", "records are missing at the end"},
		{"the end missing, with a head", []string{shorter, "--head", head}, exits.Failed, `head missing: no record has the head`, "not as it was written"},
		{"torn", []string{write(string(data[:len(data)-9]))}, exits.Failed, `:14: torn end: `, "not as it was written"},
		{"empty", []string{write("")}, exits.Failed, "^$", "no record"},
		{"no file", []string{filepath.Join(t.TempDir(), "none")}, exits.Unreachable, "^$", "none"},
		{"a folder", []string{t.TempDir()}, exits.Unreachable, "^$", "aaep: "},
		{"the head alone", []string{path, "--print-head"}, exits.OK, "^" + head + "\n$", `^aaep: Every record is as it was written\.\n$`},
		{"the next head after one", []string{path, "--print-head", "--head", early}, exits.OK, "^" + head + "\n$", `Up to record 6 `},
		{"no head of what was altered", []string{write(strings.Replace(string(data), "Which", "Whose", 1)), "--print-head"}, exits.Failed, "^$", `:10: altered: `},
		{"no head of nothing", []string{write(""), "--print-head"}, exits.Failed, "^$", "no record"},
		{"the head in two ways", []string{path, "--print-head", "--json"}, exits.Usage, "^$", "give one of them"},
		{"no such head", []string{path, "--head", "12"}, exits.Usage, "^$", "64 hex digits"},
		{"nothing named", nil, exits.Usage, "^$", `^aaep: it is called as: aaep audit verify FILE\.\nSee: aaep audit verify --help\n$`},
	} {
		code, out, talk := aaepCommand("", append([]string{"audit", "verify"}, test.args...)...)
		if code != test.code || !regexp.MustCompile(test.out).MatchString(out) || !regexp.MustCompile(test.talk).MatchString(talk) {
			t.Errorf("%s: exit %d\n%s%s", test.name, code, out, talk)
		}
	}

	if code, out, _ := aaepCommand(string(data), "audit", "verify", "-", "--json"); code != exits.OK || json.Unmarshal([]byte(out), new(any)) != nil ||
		!strings.Contains(out, `"ok":true,"records":14,`) || !strings.Contains(out, head) {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out, _ := aaepCommand("", "audit", "verify", missing, "--json"); code != exits.Failed ||
		!strings.Contains(out, `"fault":{"line":5,"how":"removed","detail":"record 5 is missing"}`) {
		t.Errorf("exit %d: %s", code, out)
	}
	code, out, talk := aaepCommand("", "audit", "show", missing)
	if code != exits.Failed || !strings.Contains(out, "Warning, line 5: removed: record 5 is missing.\n") ||
		!strings.HasSuffix(out, ": error\n") || !strings.Contains(talk, "not as it was written") {
		t.Errorf("exit %d: %s%s", code, out, talk)
	}
	if code, _, talk := aaepCommand("", "audit"); code != exits.Usage || !strings.Contains(talk, "aaep audit show FILE") {
		t.Errorf("exit %d: %s", code, talk)
	}
}
