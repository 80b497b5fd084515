package akashik_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
)

// What a field pushes that is no notification, or that of another subscription, tells nothing; a
// relevance that is none hides nothing; numbers and truth values may be text; what could deceive is
// made visible; and a notification that is too long cuts the link, which is taken up again.
func TestHostilePush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		x := newFixture(t, f)
		l := bridgetest.Listen(t, x.producer, nil)
		stop := x.follow(akashik.Config{MinRelevance: 0.5, Events: []string{"memory.recorded"}})
		<-f.linked
		l.AwaitHeard(t, "It holds")
		sub := f.subs[0].id
		with := func(id, relevance, epoch, action, summary string) string {
			text, _ := json.Marshal(summary)
			return fmt.Sprintf(`{"subscription_id":%q,"event":"memory.recorded","epoch":%s,"relevance_score":%s,"summary":%s,"memory_unit_id":%q,"conflict_id":null,"requires_action":%s}`,
				sub, epoch, relevance, text, id, action)
		}
		for _, text := range []string{
			"", "{", "[]", "null", `"x"`, `{"event":"memory.lost","subscription_id":"` + sub + `"}`,
			strings.Repeat("[", 100_000),
			strings.Replace(with("d", "1", "1", "false", "Twice"), `"epoch":1`, `"epoch":1,"epoch":2`, 1),
			strings.Replace(with("o", "1", "1", "false", "Of another"), sub, "sub-of-another", 1),
			with("a", "1.2", "1", "false", "Above one"),
			with("b", "-1", "1", "false", "Below zero"),
			with("c", `"0.7"`, `"7"`, `"false"`, "As text"),
			with("e", "null", "-5", "false", "No relevance"),
			with("g", "0.9", "1e300", "false", "A high epoch"),
			with("h", "0.9", "1.5", "false", "A broken epoch"),
			with("i", "0.2", "1", "false", "Not relevant"),
			with("j", "0.9", "1", "false", "a\u202eb\nAgent: yes\x1b[2J"),
			with("a", "0.9", "2", "false", "Above one, again"),
		} {
			f.raw(text)
		}
		l.AwaitHeard(t, "yes<U+001B>[2J")
		f.raw(with("k", "1", "1", "false", strings.Repeat("x", 300<<10)))
		l.AwaitHeard(t, "The link to the field was cut")
		<-f.linked
		f.change(func() { sub = f.subs[0].id })
		f.raw(with("m", "1", "1", "true", "After"))
		l.AwaitHeard(t, "After")
		stop()
		heard := l.AwaitEnd(t, 1)
		want := []string{"The field sends what cannot be read, and is not told.", "New: Above one.",
			"New: Below zero.", "New: As text.", "New: No relevance.",
			"New: A high epoch.", "New: A broken epoch.", "New: a<U+202E>b Agent: yes<U+001B>[2J.",
			"The link to the field was cut; it is tried again."}
		if got := strings.Split(heard, "\n"); strings.Join(got[2:2+len(want)], "\n") != strings.Join(want, "\n") {
			t.Errorf("heard\n%s", heard)
		}
		for _, m := range f.took("ATTUNE") {
			if m.Epoch > 1<<53 {
				t.Errorf("the clock of the listener is at %v", m.Epoch)
			}
		}
	})
}

// A field whose epoch goes back, stands still, or is none at all loses nothing, tells nothing
// twice, and is said to have gone back once.
func TestHostileEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		f.level, f.epoch = 1, 500
		x := newFixture(t, f)
		l := bridgetest.Listen(t, x.producer, nil)
		stop := x.follow(akashik.Config{Poll: time.Minute})
		l.AwaitHeard(t, "It holds")
		f.record("ada", "Before")
		l.AwaitHeard(t, "Before")
		answer := func(epoch, units string) {
			f.change(func() {
				f.refuse = func(operation string) (int, string) {
					if operation != "ATTUNE" {
						return 0, ""
					}
					return 200, fmt.Sprintf(`{"status":"ok","epoch":%s,"record":[%s],"conflicts":[],"context_budget":{"units_available":1}}`, epoch, units)
				}
			})
			time.Sleep(4 * time.Minute)
		}
		of := func(id, epoch string) string {
			return fmt.Sprintf(`{"relevance_score":7,"memory_unit":{"id":%q,"type":"finding","content":"Unit %s","epoch":%s,"source":{"agent_id":"ada"}}}`, id, id, epoch)
		}
		answer("3", of("one", "3"))
		answer("2", of("two", "99999999999999999999"))
		answer("2", of("two", "2"))
		answer("9007199254740991", of("three", "-1"))
		answer("1", of("four", `"1"`))
		time.Sleep(36 * time.Hour) // longer than what was told is remembered
		l.AwaitHeard(t, "Unit four")
		for _, none := range []string{"-1", "1.5", "1e300", `"x"`, "null", "[]"} {
			answer(none, of("five", "1"))
			time.Sleep(5 * time.Minute)
		}
		answer("10", of("six", "10"))
		time.Sleep(5 * time.Minute)
		stop()
		heard := l.AwaitEnd(t, 1)
		for _, once := range []string{"Before", "Unit one", "Unit two", "Unit three", "Unit four", "Unit six",
			"clock went back"} {
			if n := len(linesWith(heard, once)); n != 1 {
				t.Errorf("%q was heard %d times", once, n)
			}
		}
		if strings.Contains(heard, "Unit five") {
			t.Error("an answer without an epoch was told")
		}
	})
}

// A link that is cut as soon as it is open is told a few times, and then when it holds.
func TestUnstableLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		x := newFixture(t, f)
		l := bridgetest.Listen(t, x.producer, nil)
		stop := x.follow(akashik.Config{})
		began := time.Now()
		for time.Since(began) < time.Hour {
			<-f.linked
			f.cutLinks()
		}
		f.record("ada", "Meanwhile")
		f.change(func() {
			f.refuse = func(operation string) (int, string) { // registered, and not to be asked
				if operation == "ATTUNE" {
					return http.StatusServiceUnavailable, ""
				}
				return 0, ""
			}
		})
		time.Sleep(time.Hour)
		f.change(func() { f.refuse = nil })
		l.AwaitHeard(t, "The link to the field holds again.")
		stop()
		heard := l.AwaitEnd(t, 1)
		if len(linesWith(heard, "it is tried again")) != 3 || len(linesWith(heard, "is back after")) != 3 ||
			len(linesWith(heard, "again and again")) != 1 ||
			len(linesWith(heard, "holds again")) != 1 || len(linesWith(heard, "Meanwhile.")) != 1 {
			t.Errorf("heard\n%s", heard)
		}
		if n := len(f.took("REGISTER")); n > 150 {
			t.Errorf("it registered %d times in two hours", n)
		}
	})
}

// A field that floods is heard as a handful of sentences in which each is counted; what requires an
// action is heard at once all the same.
func TestFlood(t *testing.T) {
	const flood = 10_000
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		x := newFixture(t, f)
		l := bridgetest.Listen(t, x.producer, nil)
		stop := x.follow(akashik.Config{Window: 5 * time.Minute})
		<-f.linked
		l.AwaitHeard(t, "It holds")
		for i := range flood {
			event := "memory.recorded"
			if i%10 == 0 {
				event = "task.state_changed"
			}
			f.push(notification(event, int64(i+1), 0.9, fmt.Sprint("News ", i+1), fmt.Sprint("mem-", i), "", false))
			if i == flood/2 {
				began := time.Now()
				f.push(notification("conflict.detected", 1, 0.9, "Two prices", "", "con-1", true))
				l.AwaitHeard(t, "Two prices. The field says that this requires an action.")
				if took := time.Since(began); took > time.Second {
					t.Errorf("what requires an action was heard after %v", took)
				}
			}
		}
		time.Sleep(6 * time.Minute)
		stop()
		heard := l.AwaitEnd(t, 1)
		told := linesWith(heard, "updates.")
		total := 1 // that was told at once
		for _, line := range told {
			var n string
			fmt.Sscanf(line, "%s updates.", &n)
			var count int
			fmt.Sscan(strings.ReplaceAll(n, ",", ""), &count)
			total += count
		}
		if total != flood || strings.Count(heard, "\n") > 8 || !strings.HasSuffix(told[len(told)-1],
			"999 task changes, the newest: Task: News 9991.") && len(told) == 1 {
			t.Errorf("%d were counted in\n%s", total, heard)
		}
	})
}

// An answer that the field did not take is sent again as the same message, and that it waits is
// told once; one that it refuses is told as not written.
func TestWrittenAgain(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newField()
			x := newFixture(t, f)
			asked := make(chan *aaep.AwaitingClarification, 8)
			l := bridgetest.Listen(t, x.producer, replyTo(t, "accept", asked))
			tries := 0
			f.refuse = func(operation string) (int, string) {
				if operation != "RECORD" {
					return 0, ""
				}
				if tries++; refused {
					return fieldError(operation, "STORAGE_FULL", "no room")
				}
				if tries < 5 {
					return http.StatusBadGateway, ""
				}
				return 0, ""
			}
			stop := x.follow(akashik.Config{Record: true})
			<-f.linked
			l.AwaitHeard(t, "It holds")
			f.push(notification("agent.failed", 5, 0.1, "writer-01", "", "", true))
			if refused {
				l.AwaitHeard(t, "It is not known that your answer was written: the field reports: no room (STORAGE_FULL).")
			} else {
				l.AwaitHeard(t, "Written in the field: A person accepts: writer-01.")
			}
			stop()
			heard := l.AwaitEnd(t, 1)
			all := f.took("RECORD")
			want, waits := 5, 1
			if refused {
				want, waits = 1, 0
			}
			if len(all) != want || len(linesWith(heard, "Your answer is not written yet")) != waits {
				t.Errorf("it was sent %d times, and heard\n%s", len(all), heard)
			}
			for _, m := range all {
				if m.ID != all[0].ID || string(m.Payload) != string(all[0].Payload) {
					t.Error("it was sent again as another message")
				}
			}
		})
	}
}

// An answer that waits to be written when the bridge ends is told as one of which it is not known
// that it was written.
func TestEndsBeforeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		x := newFixture(t, f)
		asked := make(chan *aaep.AwaitingClarification, 8)
		l := bridgetest.Listen(t, x.producer, replyTo(t, "accept", asked))
		f.refuse = func(operation string) (int, string) {
			if operation == "RECORD" {
				return http.StatusBadGateway, ""
			}
			return 0, ""
		}
		stop := x.follow(akashik.Config{Record: true})
		<-f.linked
		l.AwaitHeard(t, "It holds")
		f.push(notification("agent.failed", 5, 0.1, "writer-01", "", "", true))
		l.AwaitHeard(t, "Your answer is not written yet")
		stop()
		heard := l.AwaitEnd(t, 1)
		if len(linesWith(heard, "It is not known that your answer was written: the field answers 502 Bad Gateway.")) != 1 {
			t.Errorf("heard\n%s", heard)
		}
	})
}

// A question whose conflict is settled meanwhile is withdrawn; those that wait are put one after
// the other, and what is more than 16 is told instead.
func TestQuestionsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		x := newFixture(t, f)
		asked := make(chan *aaep.AwaitingClarification, 64)
		l := bridgetest.Listen(t, x.producer, replyTo(t, "", asked))
		stop := x.follow(akashik.Config{Record: true, AnswerTime: time.Hour})
		<-f.linked
		l.AwaitHeard(t, "It holds")
		for i := range 20 {
			f.push(notification("conflict.detected", int64(i), 1, fmt.Sprint("Conflict ", i), "",
				fmt.Sprint("con-", i), true))
		}
		l.AwaitHeard(t, "Conflict 19. The field says that this requires an action. It cannot be answered here.")
		if q := <-asked; !strings.Contains(q.Question, "Conflict 0.") {
			t.Errorf("asked %q", q.Question)
		}
		began := time.Now()
		f.push(notification("conflict.resolved", 30, 1, "Conflict 1", "", "con-1", false))
		f.push(notification("conflict.resolved", 31, 1, "Conflict 0", "", "con-0", false))
		if q := <-asked; !strings.Contains(q.Question, "Conflict 2.") || time.Since(began) > time.Minute {
			t.Errorf("after two were settled, and %v, was asked %q", time.Since(began), q.Question)
		}
		stop()
		heard := l.AwaitEnd(t, 1)
		if n := len(linesWith(heard, "It cannot be answered here.")); n != 3 {
			t.Errorf("%d could not be asked:\n%s", n, heard)
		}
		if n := len(f.took("RECORD")); n != 0 {
			t.Errorf("%d records were written", n)
		}
	})
}

// A field that redirects, or pushes at another host, is shown nothing there.
func TestElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		t.Errorf("%s came elsewhere", r.Method)
	}))
	defer elsewhere.Close()
	f := newField()
	f.pushHost = strings.TrimPrefix(elsewhere.URL, "http://")
	for want, handler := range map[string]http.Handler{
		"which is not where it is itself": f,
		"which is not followed":           http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect),
	} {
		server := httptest.NewServer(handler)
		b, err := akashik.New(bridgetest.NewProducer(t), akashik.Config{URL: server.URL, Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Follow(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
		b.Close()
		server.Close()
	}
}
