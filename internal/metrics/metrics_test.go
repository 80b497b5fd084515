package metrics

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/auth"
)

// Each count is a family of its own: what it is, of which kind, and one whole number (Prometheus'
// text format 0.0.4).
func TestWriteMetrics(t *testing.T) {
	var b strings.Builder
	writeStats(&b, map[string]producer.Stats{"": {Produced: 1, Questions: 2, Subscriptions: 3, Connected: 4, Delivered: 5, Merged: 6, Filtered: 7, Held: 8, LogFailed: true, LogAway: true, Unrecorded: 9, LostReplies: 10}})
	family := regexp.MustCompile(`^# HELP (aaep_[a-z_]+) [A-Z][^\n\\]*\.\n# TYPE (aaep_[a-z_]+) (counter|gauge)\n(aaep_[a-z_]+) (\d+)\n`)
	rest, values := b.String(), map[string]string{}
	for rest != "" {
		m := family.FindStringSubmatch(rest)
		if m == nil || m[1] != m[2] || m[1] != m[4] || values[m[1]] != "" || strings.HasSuffix(m[1], "_total") != (m[3] == "counter") {
			t.Fatalf("not a family: %q", rest)
		}
		values[m[1]] = m[5]
		rest = rest[len(m[0]):]
	}
	for name, want := range map[string]string{"aaep_events_produced_total": "1", "aaep_questions_open": "2", "aaep_subscriptions": "3", "aaep_subscriptions_connected": "4",
		"aaep_events_delivered_total": "5", "aaep_events_merged_total": "6", "aaep_events_filtered_total": "7", "aaep_events_held": "8",
		"aaep_log_failed": "1", "aaep_log_away": "1", "aaep_audit_unrecorded_total": "9", "aaep_replies_lost_total": "10"} {
		if values[name] != want {
			t.Errorf("%s is %q, want %s", name, values[name], want)
		}
	}
}

// Those of several agents stand under one head, each with its name.
func TestWriteMetricsOfSeveral(t *testing.T) {
	var b strings.Builder
	writeStats(&b, map[string]producer.Stats{"planner": {Questions: 2}, "a \"b\"\\\n": {Questions: 1}})
	const want = "# TYPE aaep_questions_open gauge\n" + `aaep_questions_open{agent="a \"b\"\\\n"} 1` + "\n" + `aaep_questions_open{agent="planner"} 2` + "\n# HELP"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nwant\n%s", &b, want)
	}
}

// What is observed is counted by reason, each critical event in one part of the histogram, and the
// text is that of Prometheus.
func TestObserved(t *testing.T) {
	o := NewRequestCounts()
	o.Began(producer.Subscribe)(aaep.RateLimit)
	o.Began(producer.Subscribe)(&aaep.Rejection{Code: aaep.RateLimit})
	o.Began(producer.Subscribe)(nil)
	o.Began(producer.Reply)(errors.New("it is late"))
	for _, err := range []error{auth.ErrNone, aaep.AuthorizationDenied, errors.New("bad"), nil} {
		o.CountRefusals(func(*http.Request) (string, error) { return "ada", err })(nil)
	}
	for _, delay := range []time.Duration{500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, time.Minute} {
		o.Critical(delay)
	}
	var b strings.Builder
	o.writeCounts(&b)
	writeProcess(&b, "1.0", "c0ffee")
	for _, want := range []string{`{reason="no_credentials"} 1`, `{reason="bad_credentials"} 1`, `{reason="authorization_denied"} 1`,
		`{reason="version_unsupported"} 0`, `_bucket{le="0.001"} 2`, `_bucket{le="0.0025"} 3`, `_bucket{le="10"} 3`, `_bucket{le="+Inf"} 4`, `_seconds_count 4`,
		"aaep_build_info{version=\"1.0\",commit=\"c0ffee\",", "process_start_time_seconds "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, &b)
		}
	}
	if !regexp.MustCompile(`reason="rate_limit"} [12]\n`).MatchString(b.String()) {
		t.Errorf("rate_limit is not counted:\n%s", &b)
	}
}

// The rules for Prometheus are the alarms that docs/operating.md explains, no more and no fewer,
// and ask for what there is.
func TestAlerts(t *testing.T) {
	rules := string(clitest.Must(os.ReadFile("../../docs/alerts.yml")))
	page := string(clitest.Must(os.ReadFile("../../docs/operating.md")))
	_, page, _ = strings.Cut(page, "### What to do when")
	rule := regexp.MustCompile(`(?m)^ {6}- alert: Aaep\w+\n {8}expr: (.+)\n(?: {8}(for: 1m)\n)?` +
		` {8}labels:\n {10}severity: (?:critical|warning)\n {8}annotations:\n {10}summary: "[^"]+"\n`)
	head, rest, found := strings.Cut(rules, "groups:\n  - name: aaep\n    rules:\n")
	if left := rule.ReplaceAllString(rest, ""); !found || left != "" || strings.Trim(head, "\n")[0] != '#' {
		t.Errorf("what is no rule: %q", left)
	}
	var have, want []string
	for _, m := range rule.FindAllStringSubmatch(rules, -1) {
		have = append(have, m[1]+m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`( for a minute)?").FindAllStringSubmatch(page, -1) {
		want = append(want, m[1]+strings.Replace(m[2], " for a minute", "for: 1m", 1))
	}
	if !slices.Equal(have, want) || len(have) < 10 {
		t.Errorf("the rules are\n%s\nthe page has\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	var b strings.Builder
	o := NewRequestCounts()
	o.Certificates = func() (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{{Leaf: &x509.Certificate{}}}}, nil
	}
	writeStats(&b, map[string]producer.Stats{"": {}})
	o.writeCounts(&b)
	writeProcess(&b, "1.0", "c0ffee")
	for _, ask := range have {
		for _, name := range regexp.MustCompile(`\b(?:aaep|process)_\w+(?:{reason="\w+"})?`).FindAllString(ask, -1) {
			if !strings.Contains(b.String(), "\n"+name+" ") {
				t.Errorf("%q asks for %s, which there is not", ask, name)
			}
		}
	}
}

// A series is what Prometheus was told of one metric every half a minute, in promtool's notation.
type series struct{ metric, values string }

// Each alarm goes off where what it is about happens, as Prometheus itself sees it, and is silent
// where all is well or it is not enough yet. A question of an agent that several processes serve is
// unheard when none of them has a listener, and not as soon as one of them has none.
func TestAlarmsGoOff(t *testing.T) {
	promtool := realtest.Need(t, "promtool")
	if out, err := exec.Command(promtool, "check", "rules", "../../docs/alerts.yml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rules := clitest.Must(filepath.Abs("../../docs/alerts.yml"))
	one := func(metric, values string) []series { return []series{{metric, values}} }
	refused := func(reason, values string) []series {
		return one(`aaep_requests_refused_total{reason="`+reason+`"}`, values)
	}
	asked := func(connected string) []series {
		return []series{{`aaep_questions_open{agent="bank",instance="a"}`, "1x9"}, {`aaep_questions_open{agent="bank",instance="b"}`, "1x9"},
			{`aaep_subscriptions_connected{agent="bank",instance="a"}`, "0x9"}, {`aaep_subscriptions_connected{agent="bank",instance="b"}`, connected}}
	}
	alarms := map[string]struct{ loud, quiet []series }{
		"AaepGone":                 {one("up", "0x9"), one("up", "1x5 0x4")},
		"AaepStartedAgainAndAgain": {one("process_start_time_seconds", "1 2 3 4x9"), one("process_start_time_seconds", "1 2 3x9")},
		"AaepLogFailed":            {one("aaep_log_failed", "0 1x9"), one("aaep_log_failed", "0x9")},
		"AaepLogAway":              {one("aaep_log_away", "1x9"), one("aaep_log_away", "1 1 1 0x9")},
		"AaepAuditUnrecorded":      {one("aaep_audit_unrecorded_total", "0 0 1x9"), one("aaep_audit_unrecorded_total", "1x9")},
		"AaepReplyLost":            {one("aaep_replies_lost_total", "0 0 1x9"), one("aaep_replies_lost_total", "1x9")},
		"AaepQuestionUnheard":      {asked("0x9"), asked("1x9")},
		"AaepFull":                 {refused("rate_limit", "0 0 1x9"), refused("rate_limit", "5x9")},
		"AaepBadCredentials":       {refused("bad_credentials", "0 0 20x9"), refused("bad_credentials", "0 0 3x9")},
		"AaepCertificateExpires":   {one("aaep_certificate_expiry_seconds", "86400x9"), one("aaep_certificate_expiry_seconds", "864000x9")},
		"AaepReplyElsewhere":       {refused("unknown_subscription", "0 0 1x9"), refused("unknown_subscription", "1x9")},
		"AaepMalformed":            {refused("malformed", "0 0 1x9"), refused("malformed", "1x9")},
		"AaepForbidden":            {refused("forbidden", "0 0 1x9"), refused("forbidden", "1x9")},
		"AaepUnknownStreams":       {refused("unknown_stream", "0 0 20x9"), refused("unknown_stream", "0 0 3x9")},
	}
	cases := fmt.Sprintf("rule_files: [%q]\ntests:\n", rules)
	rule := regexp.MustCompile(`(?s)- alert: (\w+)\n.*?severity: (\w+)\n.*?summary: ("[^"]+")`)
	for _, m := range rule.FindAllStringSubmatch(string(clitest.Must(os.ReadFile(rules))), -1) {
		name, severity, summary := m[1], m[2], m[3]
		alarm, known := alarms[name]
		if !known {
			t.Errorf("%s is not tested", name)
		}
		for i, input := range [][]series{alarm.loud, alarm.quiet} {
			cases += "  - interval: 30s\n    input_series:\n"
			for _, s := range input {
				metric, labels, _ := strings.Cut(strings.TrimSuffix(s.metric, "}"), "{")
				cases += fmt.Sprintf("      - {series: '%s{%s}', values: '%s'}\n", metric, strings.Trim(`job="aaep",`+labels, ","), s.values)
			}
			cases += "    alert_rule_test:\n      - {eval_time: 3m, alertname: " + name
			if i == 0 {
				labels := "severity: " + severity + ", job: aaep"
				if reason, is := strings.CutPrefix(input[0].metric, "aaep_requests_refused_total{reason="); is {
					labels += ", reason: " + strings.TrimSuffix(reason, "}")
				} else if len(input) > 1 {
					labels += ", agent: bank"
				}
				cases += ", exp_alerts: [{exp_labels: {" + labels + "}, exp_annotations: {summary: " + summary + "}}]"
			}
			cases += "}\n"
		}
	}
	path := filepath.Join(t.TempDir(), "cases.yml")
	if err := os.WriteFile(path, []byte(cases), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, cases)
	}
}
