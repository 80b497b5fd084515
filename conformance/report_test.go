package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports"
)

// faultyReport is the report of a target that does several things wrong, calls itself something
// hostile, and cannot hand over.
func faultyReport(t *testing.T, known ...string) *conformance.Report {
	t.Helper()
	m := mutant{out: func(p *proxy, o object) []object {
		if who, ok := o["producer"].(object); ok {
			who["agent_name"] = "<script>alert(1)</script>\x1b[31m\u202e"
		}
		switch shortName(o) {
		case "awaiting.confirmation":
			o["default_decision"] = "accept"
		case "handoff.requested":
			return nil
		case "progress.updated":
			delete(o, "aaep_version")
		}
		return []object{o}
	}}
	return inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: mutantTarget{g, &m, new(sync.Map), new(int)}, Level: 2, Known: known,
			Target: "pipe", Transport: "test",
			Driver: driverWithout(g, conformance.Clarify)}
	})
}

// HTML that a screen reader reads well: one h1 and no heading that skips a rank, landmarks, tables
// with captions and scopes, pictures with a name and the same in words, references that lead
// somewhere, and nothing from the target that is taken for markup. LVL-044.
func TestHTML(t *testing.T) {
	var page bytes.Buffer
	if err := faultyReport(t, "hands-over").WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script") || strings.ContainsAny(page.String(), "\x1b\u202e") {
		t.Error("the target's name got through as it is")
	}
	for _, want := range []string{"<h1>Failed: &lt;script&gt;", "default-reject: <span",
		"the default_decision of an irreversible action is &#34;accept&#34;",
		"With irreversible=true and risk medium or high, default_decision is reject.",
		"hands-over: <span class=\"fail\">fail</span>, as is known", "version-named: <span class=\"deviation\"",
		"question-waits: <span class=\"inconclusive\"", "Subscriber 1"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	checkPage(t, page.String())
}

// The page of a subscriber says what the suite sent and what was presented; and a case that is
// known to fail does not fail the run, unless it passes.
func TestSubscriberReport(t *testing.T) {
	hasty := fault{says: func(*aaep.Event, string) string { return "" }}
	report := proveReader(t, 1, hasty, 0)
	var page bytes.Buffer
	if err := report.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Timeline of story", "The suite sent: ", ">The hook<",
		"<td>Link 1</td><td>sent</td><td>session.started</td>", "what the subscriber sent or presented"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	checkPage(t, page.String())
	for known, ok := range map[string]bool{"start-told": false, "": true} {
		names := strings.Fields(known)
		for _, res := range report.Results {
			if known == "" && (res.Verdict == conformance.Fail || res.Verdict == conformance.Inconclusive) {
				names = append(names, res.Case.Name)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			st := newStation()
			r, err := conformance.SubscriberRun{Listener: st,
				Subscriber: &reader{dialer: st, caps: usualReader(), f: hasty}, Level: 1,
				Known: names}.Prove(t.Context())
			if err != nil || r.OK() != ok || r.Claim() != "" {
				t.Errorf("%v known: OK is %v, %v", names, r.OK(), err)
			}
		})
	}
	if _, err := (conformance.SubscriberRun{Listener: newStation(), Subscriber: &reader{}, Level: 1,
		Known: []string{"no-such"}}).Prove(t.Context()); err == nil {
		t.Error("a case that does not exist is known to fail")
	}
}

// All that is wrong with messages is told, each thing once, with the first message that shows it
// and the scenario run that is from.
func TestAllProblemsTold(t *testing.T) {
	m := mutant{out: func(p *proxy, o object) []object {
		switch shortName(o) {
		case "state.changed":
			o["urgency"] = "loud"
		case "handoff.requested":
			o["mood"] = "good"
		}
		return []object{o}
	}}
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: mutantTarget{g, &m, new(sync.Map), new(int)}, Driver: g, Level: 2,
			Only: []string{"events-valid"}}
	})
	var text bytes.Buffer
	r.WriteText(&text)
	for _, want := range []string{"FAIL LVL-009 events-valid: aaep:agent.state.changed: /urgency ",
		", 40 times; aaep:agent.handoff.requested: /mood ",
		"\n  stream, after 0.000 seconds", "\n  handoff, after 0.000 seconds"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, text.String())
		}
	}
}

func checkPage(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict = true
	ids, seen := map[string]bool{}, map[string]int{}
	var refs, path []string
	rank := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.StartElement:
			at := map[string]string{}
			for _, a := range e.Attr {
				at[a.Name.Local] = a.Value
			}
			name := e.Name.Local
			path = append(path, name)
			seen[name]++
			if id := at["id"]; id != "" {
				if ids[id] {
					t.Errorf("the id %s is there twice", id)
				}
				ids[id] = true
			}
			for _, a := range []string{"aria-labelledby", "aria-describedby"} {
				if at[a] != "" {
					refs = append(refs, at[a])
				}
			}
			switch name {
			case "html":
				if at["lang"] != "en" {
					t.Error("the page has no language")
				}
			case "h1", "h2", "h3", "h4":
				n := int(name[1] - '0')
				if n > rank+1 {
					t.Errorf("%s follows h%d", name, rank)
				}
				rank = n
			case "th":
				if at["scope"] != "col" && at["scope"] != "row" {
					t.Error("a th has no scope")
				}
			case "svg":
				if at["role"] != "img" || at["aria-labelledby"] == "" || at["aria-describedby"] == "" {
					t.Errorf("a picture has no name: %v", at)
				}
			case "section", "article":
				if at["aria-labelledby"] == "" {
					t.Errorf("a %s has no name", name)
				}
			case "a":
				if h, ok := strings.CutPrefix(at["href"], "#"); ok {
					refs = append(refs, h)
				}
			case "script", "link", "img", "iframe":
				t.Errorf("the page has a %s", name)
			}
		}
	}
	for _, ref := range refs {
		if !ids[ref] {
			t.Errorf("%s is referred to and is not there", ref)
		}
	}
	for name, n := range map[string]int{"h1": 1, "main": 1, "header": 1, "nav": 1, "footer": 1,
		"title": seen["title"]} {
		if seen[name] != n {
			t.Errorf("there are %d %s, want %d", seen[name], name, n)
		}
	}
	if seen["caption"] != seen["table"] || seen["svg"] == 0 || seen["svg"] != seen["figcaption"] {
		t.Errorf("%v", seen)
	}
}

// D-76, LVL-044: the report has the members of both published layouts, and does not say PASS of
// what was not proved.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := faultyReport(t).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(b.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aaep_spec_version", "aaep_version", "suite_version", "conformance_level",
		"endpoint", "started_at", "completed_at", "duration_seconds",
		"verdict", "result", "tests_run", "tests_passed", "tests_failed", "tests_skipped", "pass_rate", "metadata",
		"test_results", "failures"} {
		if _, ok := r[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	run, passed, failed, skipped := r["tests_run"].(float64), r["tests_passed"].(float64), r["tests_failed"].(float64),
		r["tests_skipped"].(float64)
	if r["verdict"] != "FAIL" || r["result"] != "FAIL" || run != passed+failed+skipped || failed == 0 ||
		r["claim"] != nil || r["pass_rate"].(float64) >= 1 {
		t.Errorf("%v %v %v %v %v", r["verdict"], run, passed, failed, skipped)
	}
	failures, all := r["failures"].([]any), r["test_results"].([]any)
	if float64(len(failures)) != failed || float64(len(all)) != run {
		t.Errorf("%d failures and %d results", len(failures), len(all))
	}
	first := failures[slices.IndexFunc(failures, func(f any) bool { return f.(map[string]any)["verdict"] == "fail" })]
	for _, name := range []string{"test_id", "description", "passed", "severity", "message", "expected", "actual",
		"duration_ms", "spec_reference", "evidence"} {
		if _, ok := first.(map[string]any)[name]; !ok {
			t.Errorf("%s is missing in %v", name, first)
		}
	}
}

// What continuous integration reads: failures, errors for what was not proved, and known failures
// skipped; one that passes is a failure, and neither is let through.
func TestJUnitAndKnown(t *testing.T) {
	read := func(r *conformance.Report) (tests, failures, errs, skipped int) {
		var b bytes.Buffer
		var s struct {
			Suite struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Skipped  int `xml:"skipped,attr"`
			} `xml:"testsuite"`
		}
		if err := r.WriteJUnit(&b); err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(b.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		return s.Suite.Tests, s.Suite.Failures, s.Suite.Errors, s.Suite.Skipped
	}
	r := faultyReport(t)
	tests, failures, errs, skipped := read(r)
	if tests != len(r.Results) || failures != r.Counts[conformance.Fail] ||
		errs != r.Counts[conformance.Inconclusive] || skipped != r.Counts[conformance.Skipped] || failures == 0 ||
		errs == 0 {
		t.Errorf("%d %d %d %d: %v", tests, failures, errs, skipped, r.Counts)
	}
	var bad []string
	for _, res := range r.Results {
		if res.Verdict == conformance.Fail || res.Verdict == conformance.Inconclusive {
			bad = append(bad, res.Case.Name)
		}
	}
	known := faultyReport(t, bad...)
	if _, failures, errs, _ := read(known); r.OK() || !known.OK() || failures+errs != 0 ||
		known.Verdict != conformance.Fail || known.Claim() != "" {
		t.Errorf("OK is %v, and with known failures %v, %d failures, %d errors, %s", r.OK(), known.OK(), failures,
			errs, known.Verdict)
	}
	stale := faultyReport(t, append(bad, "text-whole")...)
	if _, failures, _, _ := read(stale); stale.OK() || failures != 1 ||
		!slices.Equal(stale.Stale, []string{"text-whole"}) {
		t.Errorf("a stale list: OK is %v, %d failures, %v", stale.OK(), failures, stale.Stale)
	}
	if _, err := (conformance.ProducerRun{Dialer: refusing, Driver: conformance.HTTPDriver{}, Level: 1,
		Known: []string{"no-such"}}).Prove(t.Context()); err == nil || errors.Is(err, conformance.ErrUnreachable) {
		t.Error("a case that does not exist is known to fail")
	}
}

// LVL-001, LVL-045, LVL-046: the claim names level, suite, day and the version of the
// specification, and there is none for a level that was not passed, or only in part.
func TestClaim(t *testing.T) {
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: g, Driver: g, Level: 1}
	})
	want := "The producer of aaep-go is AAEP Level 1 conformant (producer, AAEP 1.0.0), verified by AAEP Conformance Suite version aaep-go " + conformance.SuiteVersion + " on 2000-01-01."
	if got := r.Claim(); got != want {
		t.Errorf("the claim is %q, want %q", got, want)
	}
	for _, res := range r.Results {
		if hasPassed(res) != (res.Case.Level == 1) {
			t.Errorf("%s of Level %d is %s", res.Case.Name, res.Case.Level, res.Verdict)
		}
	}
	r.Partial = true
	if got := r.Claim(); got != "" {
		t.Errorf("a part of a level is claimed: %s", got)
	}
	r.Partial, r.Verdict = false, conformance.Inconclusive
	if got := r.Claim(); got != "" {
		t.Errorf("what was not proved is claimed: %s", got)
	}
}

func TestReadKnown(t *testing.T) {
	names, err := conformance.ReadKnown(strings.NewReader("# why\n\nsize # too big\r\n  hands-over\n"))
	if err != nil || !slices.Equal(names, []string{"size", "hands-over"}) {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := conformance.ReadKnown(strings.NewReader("size\ntwo names\n")); err == nil ||
		!strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

// pacedLinks is more than are open at once, those of the scenario run before included.
const pacedLinks = 8

// paced makes links on which each message comes at a millisecond of its own, one of pacedLinks by
// turns: what is sent because of one message then stands in the same place before the next one
// every time.
type paced struct {
	transports.Dialer
	links int
}

func (p *paced) Dial(ctx context.Context) (transports.Conn, error) {
	c, err := p.Dialer.Dial(ctx)
	p.links++
	return pacedConn{c, int64(p.links % pacedLinks)}, err
}

type pacedConn struct {
	transports.Conn
	turn int64
}

func (c pacedConn) Receive(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Receive(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	next := now.UnixMilli() + 1
	for next%pacedLinks != c.turn {
		next++
	}
	time.Sleep(time.UnixMilli(next).Sub(now))
	return msg, nil
}

const publishedPage = "../docs/conformance-report.html"

// LVL-002, LVL-045: the report of our own producer is published, and is that of the code beside it.
// AAEP_REPORT=1 writes it anew. It has the day on which it was last written; the test takes that
// from it, and all else must be as it is now.
func TestPublishedReport(t *testing.T) {
	var report *conformance.Report
	prove := func() {
		report = inBubble(t, func(g *target) conformance.ProducerRun {
			g.Step = synctest.Wait // how much is merged must not depend on who is quicker
			run := checkExtraCases(g, &paced{Dialer: g})
			run.Driver = g // nor which of two sessions is
			run.Target, run.Transport = "a pipe within one process, in virtual time", "pipe"
			return run
		})
	}
	prove()
	render := func(day time.Time) string {
		took := report.Date.Sub(report.Began)
		report.Began, report.Date = day, day.Add(took)
		var b bytes.Buffer
		if err := report.WriteHTML(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	old, err := os.ReadFile(publishedPage)
	day := time.Time{}
	if _, after, ok := strings.Cut(string(old), `<time datetime="`); ok {
		day, _ = time.Parse(time.DateOnly, after[:10])
	}
	now := render(day)
	for range 5 { // of two messages that come at one millisecond either may be the first
		if err == nil && now == string(old) {
			return
		}
		prove()
		now = render(day)
	}
	if os.Getenv("AAEP_REPORT") == "" {
		a, b := strings.Split(string(old), "\n"), strings.Split(now, "\n")
		i := 0
		for i < min(len(a), len(b))-1 && a[i] == b[i] {
			i++
		}
		t.Fatalf("%s is not what the suite says of our producer now; run: make report.\nLine %d is  %s\nand would be %s", publishedPage, i+1, a[i], b[i])
	}
	page := render(time.Now().UTC().Truncate(24 * time.Hour))
	checkPage(t, page)
	if err := os.WriteFile(publishedPage, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(t.Output(), "wrote", publishedPage)
}
