package akashik_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
)

// The polling tests of the protocol's own library, as data, are heard as they say, by a field whose
// since_epoch excludes that epoch, as that library's does, and by one that includes it, as the
// specification also says.
func TestPolling(t *testing.T) {
	text, err := os.ReadFile("testdata/polling.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Cases []struct {
			Name  string
			Steps []struct {
				Do, Agent, Text, Of string
				News                []string
			}
		}
	}
	if err := json.Unmarshal(text, &data); err != nil || len(data.Cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range data.Cases {
		for _, inclusive := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/inclusive=%v", c.Name, inclusive), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newField()
					f.level, f.inclusive = 1, inclusive
					x := newFixture(t, f)
					l := bridgetest.Listen(t, x.producer, nil)
					stop := func() error { return nil }
					heard := ""
					status := func(of, status string) {
						f.change(func() {
							for _, u := range f.units {
								if u.content == of {
									f.epoch++
									u.status = status
									if status == "active" {
										u.epoch = f.epoch
									}
								}
							}
						})
					}
					for i, s := range c.Steps {
						switch s.Do {
						case "follow":
							stop = x.follow(akashik.Config{AgentID: "ear-01", Poll: 5 * time.Second})
							heard = l.AwaitHeard(t, "It holds")
						case "write":
							f.record(s.Agent, s.Text)
						case "draft":
							f.record(s.Agent, s.Text, func(u *unit) { u.status = "draft" })
						case "supersede":
							status(s.Of, "superseded")
							f.record(s.Agent, s.Text)
						case "retract":
							status(s.Of, "retracted")
						case "commit":
							status(s.Of, "active")
						case "poll":
							time.Sleep(5 * time.Second)
							synctest.Wait()
							all := l.AwaitHeard(t, "It holds")
							var got []string
							for line := range strings.Lines(strings.TrimPrefix(all, heard)) {
								if _, said, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
									got = append(got, strings.TrimSuffix(said, "."))
								}
							}
							heard = all
							if !slices.Equal(got, s.News) {
								t.Errorf("step %d: heard %q, want %q", i+1, got, s.News)
							}
						default:
							t.Fatalf("there is no step %q", s.Do)
						}
					}
					stop()
					if x.log.Len() > 0 {
						t.Errorf("the field or the bridge complained: %s", x.log.String())
					}
				})
			})
		}
	}
}

// linesWith returns the lines of what was heard that hold a text.
func linesWith(heard, text string) (lines []string) {
	for line := range strings.Lines(heard) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// Of 50 records that are pushed while the link is cut, and the bridge killed and started again,
// each is heard once; that the link was cut, for how long, and how late news are is told.
func TestResume(t *testing.T) {
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newField()
			f.stream = stream
			x := newFixture(t, f)
			l := bridgetest.Listen(t, x.producer, nil)
			seen := filepath.Join(t.TempDir(), "seen")
			stop := x.follow(akashik.Config{Seen: seen})
			<-f.linked
			l.AwaitHeard(t, "It holds")
			say := func(i int) {
				u := f.record("ada", fmt.Sprintf("Item %02d", i))
				f.push(notification("memory.recorded", u.epoch, 0.8, u.content, u.id, "", false))
			}
			for i := range 20 {
				say(i)
			}
			l.AwaitHeard(t, "Item 19")
			f.cutLinks()
			f.change(func() {
				f.refuse = func(string) (int, string) { return http.StatusServiceUnavailable, "" }
			})
			l.AwaitHeard(t, "The link to the field was cut; it is tried again.")
			for i := 20; i < 30; i++ {
				say(i)
			}
			time.Sleep(10 * time.Minute)
			f.change(func() { f.refuse = nil })
			<-f.linked
			l.AwaitHeard(t, "Item 29")
			f.change(func() {
				if len(f.subs) != 1 {
					t.Errorf("there are %d subscriptions after a cut", len(f.subs))
				}
			})
			heard := l.AwaitHeard(t, "That comes late: the oldest is from 1")
			if got := linesWith(heard, "The link to the field is back after 1"); len(got) != 1 ||
				!strings.HasSuffix(got[0], "What was recorded meanwhile follows; what else happened is not known.") {
				t.Errorf("heard of the cut: %q", got)
			}
			for i := 30; i < 40; i++ {
				say(i)
			}
			l.AwaitHeard(t, "Item 39")
			// It is killed: the field still knows it.
			f.change(func() {
				f.refuse = func(operation string) (int, string) {
					if operation == "DEREGISTER" || operation == "SUBSCRIBE" {
						return http.StatusServiceUnavailable, ""
					}
					return 0, ""
				}
			})
			stop()
			for i := 40; i < 50; i++ {
				f.record("ada", fmt.Sprintf("Item %02d", i))
			}
			f.change(func() { f.refuse = nil })
			stop = x.follow(akashik.Config{Seen: seen})
			<-f.linked
			l.AwaitHeard(t, "Item 49")
			say(50)
			l.AwaitHeard(t, "Item 50")
			stop()
			heard = l.AwaitEnd(t, 2)
			for i := range 51 {
				if n := len(linesWith(heard, fmt.Sprintf("Item %02d", i))); n != 1 {
					t.Errorf("item %d was heard %d times", i, n)
				}
			}
			if n := len(f.subs); n != 0 {
				t.Errorf("%d subscriptions are left", n)
			}
		})
	}
}

// Of 300 new records none is lost, the least relevant included, and the place is moved last; where
// the field keeps some back, that is told.
func TestManyRecords(t *testing.T) {
	for _, cut := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			f := newField()
			f.level, f.cut = 1, cut
			x := newFixture(t, f)
			l := bridgetest.Listen(t, x.producer, nil)
			stop := x.follow(akashik.Config{})
			l.AwaitHeard(t, "It holds")
			before := len(f.took("ATTUNE"))
			f.change(func() {
				for i := range 300 {
					f.epoch++
					f.units = append(f.units, &unit{id: fmt.Sprint("mem-", i), kind: "finding",
						content: fmt.Sprintf("Item %03d", i), agent: "ada",
						status: "active", epoch: f.epoch, relevance: float64(i) / 300, at: time.Now()})
				}
			})
			l.AwaitHeard(t, "Item 299")
			time.Sleep(time.Minute)
			synctest.Wait()
			stop()
			heard := l.AwaitEnd(t, 1)
			told := len(linesWith(heard, "Item "))
			if want := cmp.Or(cut, 300); told != want {
				t.Errorf("%d records were told, want %d", told, want)
			}
			if said := linesWith(heard, "The field gives less than it says"); (len(said) == 1) != (cut > 0) {
				t.Errorf("of what is kept back was told: %q", said)
			}
			var asked []string
			for _, m := range f.took("ATTUNE")[before:] {
				var p struct {
					Scope struct {
						MaxUnits int `json:"max_units"`
					}
					Since int64 `json:"since_epoch"`
				}
				json.Unmarshal(m.Payload, &p)
				if len(asked) == 0 || !strings.HasSuffix(asked[len(asked)-1], fmt.Sprint(" since ", p.Since)) {
					asked = append(asked, "")
				}
				asked[len(asked)-1] = strings.TrimSpace(strings.Split(asked[len(asked)-1], " since")[0]+fmt.Sprint(" ",
					p.Scope.MaxUnits)) + fmt.Sprint(" since ", p.Since)
			}
			sizes := strings.Split(asked[0], " since")[0]
			if cut == 0 && sizes != "100 200 400" || cut > 0 && sizes != "100 200" {
				t.Errorf("from one place was asked for %s", sizes)
			}
		})
	}
}

// By the Model Context Protocol no subscription is tried, and what is recorded is heard by asking.
func TestTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		x := newFixture(t, f)
		asked := make(chan *aaep.AwaitingClarification, 8)
		l := bridgetest.Listen(t, x.producer, replyTo(t, "accept", asked))
		stop := x.follow(akashik.Config{URL: "http://127.0.0.1/mcp", MCP: true, Record: true, Poll: time.Minute})
		l.AwaitHeard(t, "It is asked every 1 minute; tasks, agents, and that a conflict was settled cannot be heard so.")
		f.record("ada", "Prices rose", func(u *unit) { u.id, u.purpose = "mem-1", "know the market" })
		l.AwaitHeard(t, "New finding from ada: Prices rose. It was recorded to: know the market.")
		f.change(func() {
			c := theConflict("detected")
			f.conflicts = []map[string]any{c}
		})
		l.AwaitHeard(t, "Conflict found: Two prices.")
		f.change(func() { f.conflicts[0]["unit_a"], f.conflicts[0]["status"] = "", "escalated" })
		l.AwaitHeard(t, "Written in the field: A person accepts: Two prices.")
		time.Sleep(48 * time.Hour) // it is listed with each answer, and asked about once
		if len(asked) != 1 {
			t.Errorf("asked %d times", len(asked))
		}
		f.change(func() {
			f.refuse = func(operation string) (int, string) {
				return fieldError(operation, "INTERNAL_ERROR", "out of order")
			}
		})
		l.AwaitHeard(t, "The link to the field was cut; it is tried again.")
		f.change(func() { f.refuse = nil })
		l.AwaitHeard(t, "The link to the field is back after")
		stop()
		if n := len(f.took("SUBSCRIBE")); n != 0 {
			t.Errorf("%d subscriptions were tried", n)
		}
		if !strings.Contains(x.log.String(), "the field reports: out of order (INTERNAL_ERROR)") {
			t.Errorf("logged %s", x.log.String())
		}
	})
}

// A field is asked for what is relevant enough, and what is less is not told, but for what requires
// an action or is handed over; the thresholds of two listeners do not change each other.
func TestThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField()
		strict, open := newFixture(t, f), newFixture(t, f)
		ls, lo := bridgetest.Listen(t, strict.producer, nil), bridgetest.Listen(t, open.producer, nil)
		stopStrict := strict.follow(akashik.Config{MinRelevance: 0.6, Debounce: 2 * time.Second, AgentID: "strict",
			Role: "reader", Interests: []string{"prices"}, Task: "t1"})
		<-f.linked
		stopOpen := open.follow(akashik.Config{AgentID: "open"})
		<-f.linked
		ls.AwaitHeard(t, "It holds")
		lo.AwaitHeard(t, "It holds")
		for i, relevance := range []float64{0, 0.59, 0.6, 1} {
			f.push(notification("memory.recorded", int64(10+i), relevance, fmt.Sprint("Relevance ", relevance),
				fmt.Sprint("mem-", i), "", false))
		}
		f.push(notification("handoff.incoming", 20, 0.1, "Take this", "", "", false))
		f.raw(`{"subscription_id":` + fmt.Sprintf("%q", f.subs[0].id) +
			`,"event":"memory.recorded","epoch":21,"relevance_score":0.2,"summary":"Below, all the same","memory_unit_id":"m9","conflict_id":null,"requires_action":false}`)
		f.raw(`{"subscription_id":` + fmt.Sprintf("%q", f.subs[0].id) +
			`,"event":"memory.recorded","epoch":22,"relevance_score":0.2,"summary":"Decide","memory_unit_id":"m10","conflict_id":null,"requires_action":true}`)
		ls.AwaitHeard(t, "Decide")
		time.Sleep(time.Second)
		stopStrict()
		stopOpen()
		want := "New: Relevance 0.6.\nNew: Relevance 1.\nA task is handed over to you: Take this.\nNew: Decide. The field says that this requires an action. It cannot be answered here.\nThe field is no longer followed."
		if heard := ls.AwaitEnd(t, 1); !strings.HasSuffix(heard, "open conflicts.\n"+want) {
			t.Errorf("the strict one heard\n%s", heard)
		}
		if heard := lo.AwaitEnd(t, 1); len(linesWith(heard, "Relevance")) != 4 {
			t.Errorf("the open one heard\n%s", heard)
		}
		var p struct {
			Action       string
			Subscription struct {
				Events   []string
				Least    *float64 `json:"min_relevance"`
				Debounce *int     `json:"debounce_ms"`
			}
		}
		first := f.took("SUBSCRIBE")[0]
		if err := json.Unmarshal(first.Payload, &p); err != nil || p.Action != "subscribe" ||
			len(p.Subscription.Events) != 12 || *p.Subscription.Least != 0.6 || *p.Subscription.Debounce != 2000 {
			t.Errorf("subscribed with %s", first.Payload)
		}
		asked := f.took("ATTUNE")
		asked = slices.DeleteFunc(asked, func(m message) bool { return m.AgentID != "strict" })
		if scope := string(asked[0].Payload); !strings.Contains(scope, `"relevance_threshold":0.6`) ||
			!strings.Contains(scope, `"interests":["prices"]`) ||
			!strings.Contains(scope, `"role":"reader"`) || !strings.Contains(scope, `"active_task_id":"t1"`) {
			t.Errorf("attuned with %s", scope)
		}
	})
}

// A field that does not push, or takes no subscription, is asked instead.
func TestNoPush(t *testing.T) {
	for name, how := range map[string]func(*testField){
		"level 1": func(f *testField) { f.level = 1 },
		"unsupported": func(f *testField) {
			f.refuse = func(operation string) (int, string) {
				if operation == "SUBSCRIBE" {
					return fieldError(operation, "UNSUPPORTED_OPERATION", "poll")
				}
				return 0, ""
			}
		},
		"no such path": func(f *testField) {
			f.refuse = func(operation string) (int, string) {
				if operation == "SUBSCRIBE" {
					return http.StatusNotFound, "nothing here"
				}
				return 0, ""
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newField()
				how(f)
				x := newFixture(t, f)
				l := bridgetest.Listen(t, x.producer, nil)
				stop := x.follow(akashik.Config{Poll: 20 * time.Second})
				l.AwaitHeard(t, "It holds")
				began := time.Now()
				f.record("ada", "Prices rose")
				l.AwaitHeard(t, "It is asked every 20 seconds")
				l.AwaitHeard(t, "Prices rose")
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it was heard after %v", took)
				}
				stop()
			})
		})
	}
}

// A field that cannot be followed is said, and why.
func TestRefused(t *testing.T) {
	envelope := func(protocol, version string) string {
		return fmt.Sprintf(`{"protocol":%q,"version":%q,"payload":{"status":"registered"}}`, protocol, version)
	}
	for want, answer := range map[string]struct {
		status int
		body   string
	}{
		"it does not take this listener: RECORD is missing": {200,
			`{"status":"rejected","rejection_reason":"RECORD is missing"}`},
		"there is an agent with the id ear-01 already": {400,
			`{"code":"AGENT_ID_TAKEN","message":"there is one"}`},
		"the field reports: no (INTERNAL_ERROR)": {200,
			`{"code":"INTERNAL_ERROR","message":"no","operation":"REGISTER"}`},
		"it advises: wait": {500,
			`{"code":"INTERNAL_ERROR","message":"no","suggested_action":"wait"}`},
		"the field speaks akashic 0.1.0": {200, envelope("akashic", "0.1.0")},
		"the field speaks akashik 0.2.0": {200, envelope("akashik", "0.2.0")},
		"it speaks version 9": {200,
			`{"status":"registered","field_capabilities":{"protocol_version":"9"}}`},
		"the answer cannot be read":              {200, `[]`},
		"give it a token that it knows":          {401, ``},
		"the field's answer has more than 8 MiB": {200, strings.Repeat(" ", 9<<20)},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newField()
				f.refuse = func(string) (int, string) { return answer.status, answer.body }
				x := newFixture(t, f)
				b, err := akashik.NewOver(x.producer, akashik.Config{URL: "http://127.0.0.1", AgentID: "ear-01"},
					x.transport)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				if err := b.Follow(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want it to say %q", err, want)
				}
			})
		})
	}
}

// Settings that cannot be are refused, and it is said what would be right.
func TestConfig(t *testing.T) {
	const url = "https://field.example"
	p := bridgetest.NewProducer(t)
	for want, cfg := range map[string]akashik.Config{
		"such as https://field.example": {URL: "field.example"},
		"from 0 to 1; it is 1.2":        {URL: url, MinRelevance: 1.2},
		"from 0 to 1; it is -0.1":       {URL: url, MinRelevance: -0.1},
		"is no event of a field":        {URL: url, Events: []string{"memory.lost"}},
		"must begin with https":         {URL: "http://field.example", Token: "secret"},
		"must not be negative":          {URL: url, Debounce: -1},
		"after a second at least":       {URL: url, Poll: time.Millisecond},
		"from 0 to 5m0s":                {URL: url, Window: time.Hour},
		"it is called so by a test": {URL: url, Seen: filepath.Join(t.TempDir(), "it is called so by a test",
			"seen")},
	} {
		if _, err := akashik.New(p, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want it to say %q", cfg, err, want)
		}
	}
}
