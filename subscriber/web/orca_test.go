//go:build linux

package web_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/orcadesktop"
	"github.com/aaep-go/aaep/internal/speechd"
	"github.com/aaep-go/aaep/producer"
)

// A desktop has no screen; Orca reads the page to its user. What Orca says is spoken by a real
// speech server, at the pace of a voice.
type desktop struct {
	t      *testing.T
	speech *speechd.Server
	*tab
	from int  // messages before what is looked at
	slow bool // the voice has no words for what it reads, and spells, or it is long
}

// sit starts the desktop, Orca and a browser.
func sit(t *testing.T) *desktop {
	t.Helper()
	d := &desktop{t: t, speech: orcadesktop.Start(t)}
	b := startBrowser(t, "--force-renderer-accessibility", "--start-maximized")
	b.seen = true
	d.tab = &tab{browser: b}
	return d
}

// open opens the page in front, and silences the reading of it, as its user would.
func (d *desktop) open(url string) {
	d.t.Helper()
	d.tab = d.browser.open(url, "")
	d.do("Page.bringToFront", nil)
	d.until(`document.getElementById("agent")?.textContent === "Tester"`)
	d.wait("Orca begins to read the page", func() bool { return strings.Contains(d.said(), "Page has") })
	time.Sleep(time.Second)
	d.press("Control_L")
	d.idle()
}

func (d *desktop) wait(what string, is func() bool) {
	d.t.Helper()
	patience := time.Minute
	if d.slow {
		patience = 5 * time.Minute
	}
	for end := time.Now().Add(patience); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			if d.tab != nil {
				d.t.Logf("the page has the focus: %t; it shows:\n%s\nits alert: %s", eval[bool](d.tab, "document.hasFocus()"), eval[string](d.tab, "document.body.innerText"),
					eval[string](d.tab, `document.getElementById("alert")?.textContent ?? ""`))
			}
			d.t.Fatalf("it never came that %s. Orca said:\n%s", what, d.said())
		}
	}
}

// until waits for what the page shows.
func (d *desktop) until(expression string) {
	d.t.Helper()
	d.wait("it is true: "+expression, func() bool { return eval[bool](d.tab, "Boolean("+expression+")") })
}

// idle waits until all has been said, and nothing more comes for a while.
func (d *desktop) idle() {
	d.t.Helper()
	last, since := -1, time.Now()
	d.wait("there is silence", func() bool {
		all := d.speech.Messages()
		speaking := false
		for _, m := range all {
			speaking = speaking || m.Over.IsZero() && (d.slow || time.Since(m.Asked) < 20*time.Second)
		}
		if len(all) != last || speaking {
			last, since = len(all), time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

// press presses real keys. Orca does not see those of the DevTools.
func (d *desktop) press(keys ...string) {
	d.t.Helper()
	for _, key := range keys {
		if out, err := exec.Command("xdotool", "key", key).CombinedOutput(); err != nil {
			d.t.Fatalf("xdotool: %v: %s", err, out)
		}
		time.Sleep(160 * time.Millisecond) // as a person types
	}
}

type utterance struct {
	speechd.Message
	words string
}

// heard is what was said since mark.
func (d *desktop) heard() (all []utterance) {
	for _, m := range d.speech.Messages()[d.from:] {
		all = append(all, utterance{m, m.Words()})
	}
	return all
}

func (d *desktop) mark() { d.from = len(d.speech.Messages()) }

// said is that as text, with what was cut off marked.
func (d *desktop) said() string {
	var b strings.Builder
	var first time.Time
	for _, u := range d.heard() {
		if first.IsZero() {
			first = u.Asked
		}
		how := "heard"
		switch {
		case u.Cut:
			how = "cut"
		case u.Over.IsZero():
			how = "waits"
		}
		took := time.Duration(0)
		if !u.Begun.IsZero() && !u.Over.IsZero() {
			took = u.Took()
		}
		fmt.Fprintf(&b, "%6.2f s, %s in %.1f s: %s\n", u.Asked.Sub(first).Seconds(), how, took.Seconds(), u.words)
	}
	return b.String()
}

// times is how often words were heard to their end.
func (d *desktop) times(words string) (n int) {
	for _, u := range d.heard() {
		if u.Message.Heard() {
			n += strings.Count(u.words, words)
		}
	}
	return n
}

// judge judges a scene by testdata/orca.
func (d *desktop) judge(t *testing.T, name string) {
	t.Helper()
	scene := speechd.ReadScene(t, "testdata/orca/"+strings.ReplaceAll(name, " ", "-")+".txt")
	all := func() []speechd.Message { return d.speech.Messages()[d.from:] }
	for end := time.Now().Add(time.Minute); scene.Missing(all()) != "" && time.Now().Before(end); time.Sleep(time.Second) {
	}
	d.idle()
	for _, fault := range scene.Faults(all()) {
		t.Error(fault)
	}
}

var four = []string{"The agent read fourteen files.", "It found three failing tests.", "It will fix the payment service first.", "Then it will run all the tests again."}

// A fixture is what every scene begins with: the page in front, connected and silent, and an agent
// with a session.
type fixture struct {
	*desktop
	t    *testing.T
	page *agentPage
	*producer.Session
	begun map[string]int // how often something was, when that was waited for
}

func (r *fixture) writes(lines ...string) {
	r.t.Helper()
	out := r.Output()
	for _, line := range lines {
		_, err := out.WriteString(line + " ")
		check(r.t, err)
	}
	check(r.t, out.Close())
}

func (r *fixture) paying(amount string) <-chan error {
	return pay(r.t, r.Session, amount)
}

// reads waits until Orca has begun to say something once more than it was by then.
func (r *fixture) reads(words string) {
	r.t.Helper()
	r.wait("it is read: "+words, func() bool {
		n := 0
		for _, u := range r.heard() {
			if strings.Contains(u.words, words) && (!u.Begun.IsZero() || !u.Over.IsZero()) { // of some only the end is told
				n++
			}
		}
		if n <= r.begun[words] {
			return false
		}
		r.begun[words] = n
		return true
	})
}

const (
	working = `document.querySelector(".question:not(.settled) button.yes")?.getAttribute("aria-disabled") === "false"`
	open    = `document.querySelectorAll(".question:not(.settled)").length`
)

// accepts waits until the button that accepts works. The last words of the question have to have
// been heard to their end by then.
func (r *fixture) accepts(last string) {
	r.t.Helper()
	r.until(working)
	if r.times(last) == 0 {
		r.t.Errorf("it can be accepted, and was not heard to its end: %s", last)
	}
}

// rejects ends a question without a key, where that is not what a scene is about.
func (r *fixture) rejects(outcome <-chan error) {
	r.t.Helper()
	r.until(`document.querySelector(".question:not(.settled) button.no")?.getAttribute("aria-disabled") === "false"`)
	eval[any](r.tab, `document.querySelector(".question:not(.settled) button.no").click()`)
	result(r.t, outcome)
	r.idle()
}

// tabTo presses Tab from the questions on until the focus is on what a selector finds.
func (r *fixture) tabTo(selector string) {
	r.t.Helper()
	eval[any](r.tab, `document.getElementById("questions").focus()`)
	for range 12 {
		time.Sleep(500 * time.Millisecond)
		if eval[bool](r.tab, `document.activeElement?.matches(`+strconv.Quote(selector)+`)`) {
			return
		}
		r.press("Tab")
	}
	r.t.Fatalf("Tab does not lead to %s", selector)
}

// long is a consequence that takes a minute and a half to be heard.
var long = strings.Join([]string{"Every picture of the year 2004 is removed from this machine, and from the two others that are kept in step with it. ",
	"Nothing of it goes to the bin, because the bin was switched off in March, and the nightly copy leaves this folder out since the disk was full. ",
	"The albums that were made of these pictures stay in the list, and show a grey square in place of each picture; the captions under them are kept. ",
	"Your sister and two of her friends have links to some of the albums, which will lead nowhere from now on, and they are not told why. ",
	"Printed books that were ordered from these pictures cannot be ordered again, unless the shop has kept its own files, which it does for ninety days. ",
	"The faces that were named in the pictures are forgotten, so that new pictures of the same people have to be named again, one after the other. ",
	"Searches for a place or a date will not find them any more, and the map of your journeys loses the summer by the sea and the winter in Oslo. ",
	"The last copy is on the disk that is in the drawer, and that disk is deleted too, because it is connected at this moment."}, "")

var scenes = []struct {
	name string
	play func(r *fixture)
}{
	{"four sentences", func(r *fixture) {
		r.writes(four...)
		r.reads(four[3])
	}},
	{"a question comes first", func(r *fixture) {
		r.writes(four...)
		r.reads(four[0])
		outcome := r.paying("$5")
		r.reads(four[3])
		r.reads("Waiting for an answer.")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"typing", func(r *fixture) {
		eval[any](r.tab, `{ const box = document.createElement("input"); box.id = "box"; box.setAttribute("aria-label", "Message"); document.querySelector("main").prepend(box); document.querySelector(".skip").focus(); }`)
		defer eval[any](r.tab, `document.getElementById("box").remove()`)
		r.idle()
		r.mark()
		r.press("Tab") // for Orca to hand on what is typed
		r.wait("Orca is at the box", func() bool { return strings.Contains(r.said(), "Message entry") })
		r.idle()
		r.mark()
		r.writes(four...)
		outcome := r.paying("$6")
		r.press(strings.Split("h,e,l,l,o,space,a,g,e,n,t,Return", ",")...)
		if typed := eval[string](r.tab, `document.getElementById("box").value`); typed != "hello agent" {
			r.t.Errorf("typed was %q", typed)
		}
		r.reads(four[3])
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"a question is cut again and again", func(r *fixture) {
		outcome := r.paying("$7")
		for _, key := range []string{"Tab", "Down", "Control_L"} {
			r.reads("Pay $7")
			time.Sleep(time.Second) // into the action
			r.press(key)
		}
		if eval[bool](r.tab, working) {
			r.t.Error("it can be accepted, and was not heard")
		}
		r.accepts("It cannot be undone.")
		r.idle()
		undecided(r.t, outcome)
		r.tabTo("button.yes")
		r.idle()
		r.press("Return")
		check(r.t, result(r.t, outcome))
	}},
	{"a no by key", func(r *fixture) {
		outcome := r.paying("$8")
		r.reads("Pay $8")
		r.idle()
		r.tabTo("button.no")
		r.idle()
		r.press("Return")
		if result(r.t, outcome) == nil {
			r.t.Error("it was paid")
		}
	}},
	{"a choice", func(r *fixture) {
		got := make(chan any, 1)
		go func() {
			v, _ := r.AskChoice(r.t.Context(), producer.Question{Text: aaep.Say("Which colour shall the door have?"), Timeout: 2 * time.Minute,
				Choices: []producer.Choice{{Value: "r", Label: aaep.Say("Red")}, {Value: "b", Label: aaep.Say("Blue")}}})
			got <- v
		}()
		r.reads("Which colour")
		r.idle()
		r.tabTo(".question:not(.settled) button + button")
		r.idle()
		r.press("Return")
		if v := <-got; v != "b" {
			r.t.Errorf("the answer is %v", v)
		}
		time.Sleep(2 * time.Second)
	}},
	{"it failed", func(r *fixture) {
		r.writes(four...)
		r.reads(four[0])
		check(r.t, r.Fail(errors.New("disk full"), aaep.Say("The tests could not be run: the disk is full.")))
	}},
	{"time is almost over", func(r *fixture) {
		outcome := asks(r.t, r.Session, "Pay $9 to the water company.", "The money leaves your account today.", 40*time.Second)
		r.reads("Pay $9")
		result(r.t, outcome)
	}},
	{"two questions at once", func(r *fixture) {
		first := r.paying("$10")
		r.until(open + ` === 1`)
		other, err := r.page.StartSession(r.t.Context(), aaep.Say("Another task."))
		check(r.t, err)
		defer other.Close()
		second := pay(r.t, other, "$11")
		r.until(open + ` === 2`)
		r.idle()
		r.rejects(first)
		r.rejects(second)
	}},
	{"a flood", func(r *fixture) {
		var lines []string
		for n := range 10000 {
			lines = append(lines, fmt.Sprintf("Compiling file number %d of the project.", n))
		}
		r.writes(append(lines, "Error: the file main.go has no package clause.")...)
		outcome := r.paying("$12")
		r.reads("Pay $12")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"asked in a hidden tab", func(r *fixture) {
		page := r.tab
		other := r.browser.open("about:blank", "")
		other.do("Page.bringToFront", nil)
		page.until(`document.visibilityState === "hidden"`)
		r.idle()
		r.mark()
		r.writes(four...)
		outcome := r.paying("$13")
		page.until(open + ` === 1`)
		page.until(spoken + `.slice(-2).some((t) => t.includes("run all the tests"))`) // the question may come after
		r.idle()
		if n := r.times("Pay $13"); n != 0 {
			r.t.Errorf("in another tab it was read %d times", n)
		}
		r.press("ctrl+Page_Up") // which Orca takes for what changes a page in the next moments
		page.until("!document.hidden")
		r.reads("Pay $13")
		r.reads("While you were away")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
		other.do("Page.close", nil)
	}},
	{"it fails in a hidden tab", func(r *fixture) {
		page := r.tab
		other := r.browser.open("about:blank", "")
		other.do("Page.bringToFront", nil)
		page.until(`document.visibilityState === "hidden"`)
		r.idle()
		r.mark()
		check(r.t, r.Fail(errors.New("disk full"), aaep.Say("The copy could not be made: the disk is full.")))
		page.until(spoken + `.at(-1).includes("The copy could not be made")`)
		r.idle()
		if n := r.times("The copy could not be made"); n != 0 {
			r.t.Errorf("in another tab it was read %d times", n)
		}
		r.press("ctrl+Page_Up")
		page.until("!document.hidden")
		r.reads("The copy could not be made")
		r.idle()
		other.do("Page.close", nil)
	}},
	{"keys while it speaks", func(r *fixture) {
		r.writes(four...)
		r.reads(four[0])
		time.Sleep(time.Second) // into the sentence
		r.press("Down")
		r.reads(four[3])
		r.idle()
		outcome := r.paying("$14")
		r.reads("Pay $14")
		r.accepts("It cannot be undone.")
		r.idle()
		eval[any](r.tab, `document.querySelector(".question:not(.settled) button.no").click()`)
		result(r.t, outcome)
		r.reads("not done: Pay $14")
		time.Sleep(time.Second)
		r.press("Down")
		r.reads("not done: Pay $14")
		r.idle()
		check(r.t, r.Fail(errors.New("disk full"), aaep.Say("The backup could not be made: the disk is full.")))
		for _, key := range []string{"Control_L", "Down"} {
			r.reads("The backup could not be made")
			time.Sleep(time.Second)
			r.press(key)
		}
		r.reads("The backup could not be made")
	}},
	{"a long consequence", func(r *fixture) {
		r.slow = true
		defer func() { r.slow = false }()
		outcome := asks(r.t, r.Session, "Delete the folder photos.", long, 6*time.Minute)
		r.reads("Every picture of the year 2004")
		time.Sleep(time.Second)
		r.press("Down")
		r.reads("The last copy is on the disk that is")
		if eval[bool](r.tab, working) {
			r.t.Error("it can be accepted, and its end was not heard")
		}
		r.accepts("It cannot be undone.")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"it needs you", func(r *fixture) {
		for range 2 {
			check(r.t, r.Handoff(aaep.Say("The agent needs you."), aaep.HandoffRequested{Reason: "the bank asks for a person", TargetKind: aaep.TargetHuman}))
			r.reads("The agent needs you.")
			r.idle()
		}
	}},
	{"a flood that fails", func(r *fixture) {
		var lines []string
		for n := range 10000 {
			lines = append(lines, fmt.Sprintf("Compiling file number %d of the project.", n))
		}
		r.writes(append(lines, "main.go:7:2: undefined: x.")...)
		check(r.t, r.Fail(errors.New("exit status 1"), aaep.Say("The program could not be compiled.")))
		r.reads("undefined: x")
	}},
	{"links and code", func(r *fixture) {
		r.writes("Read https://a.example/find?q=1&y=2 or [the page? of it](https://b.example/?a=b), then run `is it so? yes` twice.", "That is all!")
		r.reads("That is all!")
	}},
	{"headings, lists, tables and code by their keys", func(r *fixture) {
		out := r.Output()
		_, err := out.WriteString("# The plan\n\nThree things are **left**.\n\n- read `main.go`\n- mend the loop\n- test it\n\n## Sizes\n\n" +
			"| File | Lines |\n|---|---|\n| main.go | 120 |\n| loop.go | 45 |\n\n## The loop\n\n```go\nfor i := range n {\n\tsend(i)\n}\n```\n\nThat is the plan.\n")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("That is the plan.")
		r.idle()
		r.mark() // what it says of the answer by itself is another scene
		eval[any](r.tab, `document.getElementById("questions").focus()`)
		r.idle()
		for _, keys := range [][]string{{"h", "The plan heading level 3"}, {"l", "List with 3 items"}, {"t", "table with 3 rows"}, {"h", "The loop"}, {"Down", "for i"}, {"Down", "send"}} {
			for range 8 {
				r.press(keys[0])
				r.idle()
				if r.times(keys[1]) > 0 {
					break
				}
			}
		}
	}},
	{"an answer is typed", func(r *fixture) {
		got := make(chan string, 1)
		go func() {
			v, _ := r.AskText(r.t.Context(), producer.Question{Text: aaep.Say("What shall the file be called?"), Timeout: 4 * time.Minute})
			got <- v
		}()
		r.reads("What shall the file")
		r.tabTo(".question:not(.settled) input")
		r.press(strings.Split("n,o,t,e,s", ",")...)
		r.reads("What shall the file")
		r.accepts("What shall the file be called?")
		r.idle()
		r.press("Tab", "Return")
		if v := <-got; v != "notes" {
			r.t.Errorf("the answer is %q", v)
		}
	}},
	{"keys that the screen reader keeps", func(r *fixture) {
		outcome := r.paying("$15")
		for _, key := range []string{"h", "b", "m", "shift", "Insert"} {
			r.reads("Pay $15")
			time.Sleep(1500 * time.Millisecond)
			r.press(key)
		}
		r.wait("it is heard to its end", func() bool { return r.times("It cannot be undone.") > 0 }) // of Insert the page knows nothing
		r.accepts("It cannot be undone.")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"a diff without a fence", func(r *fixture) {
		out := r.Output()
		_, err := out.WriteString("I changed one file.\n\ndiff --git a/config.json b/config.json\n--- a/config.json\n+++ b/config.json\n@@ -1,3 +1,4 @@\n {\n" +
			"-  \"retries\": 3\n+  \"retries\": 5,\n+  \"wait\": 2\n }\n")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("config.json:")
		r.idle()
		out = r.Output()
		_, err = out.WriteString("These two lines change:\n\n- timeout = 30\n+ timeout = 60\n")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("timeout = 60")
	}},
	{"an answer with structure", func(r *fixture) {
		out := r.Output()
		_, err := out.WriteString("# What I found\n\nThe payment service has two faults:\n\n1. It waits too long.\n2. It retries twice. Once is enough.\n\n" +
			"| File | Lines |\n|---|---|\n| pay.go | 120 |\n| bank.go | 80 |\n\n> The bank allows ten seconds.\n\n" +
			"```go\nfunc wait() {\n\ttime.Sleep(10)\n}\n```\n\nI will mend both.\n")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("I will mend both")
	}},
	{"a question after long code", func(r *fixture) {
		out := r.Output()
		_, err := out.WriteString("This is the script:\n\n```sh\n" + strings.Repeat("rm -r \"$folder\"; echo \"Is it gone?\"\n", 60) + "```\n\nIt removes sixty folders.\n")
		check(r.t, err)
		check(r.t, out.Close())
		outcome := asks(r.t, r.Session, "Run the script.", "Sixty folders are removed for good.", 2*time.Minute)
		r.reads("Run the script.")
		r.reads("It removes sixty folders.")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"the log is full", func(r *fixture) {
		r.writes(four...) // the first that go
		r.reads(four[3])
		r.idle()
		out := r.Output()
		_, err := out.WriteString("```sh\n" + strings.Repeat("rm -r \"$folder\"; echo \"Is it gone?\"\n", 396) + "```\n\nIt removes the folders.\n")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("It removes the folders.")
		r.idle()
		r.writes("One is left.", "It is the oldest.")
		r.reads("It is the oldest.")
		r.idle()
		outcome := r.paying("$17")
		r.reads("Pay $17")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"a link is cut by a question", func(r *fixture) {
		out := r.Output()
		_, err := out.WriteString("The bill is there. Read [the page](https://bank.exam")
		check(r.t, err)
		outcome := r.paying("$16")
		r.reads("Pay $16")
		_, err = out.WriteString("ple/?bill=7&y=2) before you pay. It has two pages.")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("It has two pages.")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"an answer is typed while it speaks", func(r *fixture) {
		got := make(chan string, 1)
		go func() {
			v, _ := r.AskText(r.t.Context(), producer.Question{Text: aaep.Say("What shall the folder be called?"), Timeout: 4 * time.Minute})
			got <- v
		}()
		r.reads("What shall the folder")
		r.idle()
		other, err := r.page.StartSession(r.t.Context(), aaep.Say("Another task."))
		check(r.t, err)
		defer other.Close()
		r.tabTo(".question:not(.settled) input")
		r.idle()
		out := other.Output()
		_, err = out.WriteString("The copy is half done. ")
		check(r.t, err)
		r.press(strings.Split("p,l,a,n,s", ",")...)
		check(r.t, other.Fail(errors.New("disk full"), aaep.Say("The copy could not be made: the disk is full.")))
		r.press(strings.Split("space,o,l,d", ",")...)
		r.reads("The copy could not be made")
		r.accepts("What shall the folder be called?")
		r.idle()
		r.press("Tab", "Return")
		if v := <-got; v != "plans old" {
			r.t.Errorf("the answer is %q", v)
		}
	}},
	{"in Spanish", inLanguage("es", "es", "Pagar 5 euros a la compañía del agua.", "El dinero sale hoy de su cuenta.", "¿De qué color?", "Rojo", "Azul")},
	{"in Arabic", inLanguage("ar", "ar", "ادفع ٥ دولارات.", "يغادر المال حسابك اليوم.", "أي لون؟", "أحمر", "أزرق")},
	{"in Chinese", inLanguage("zh", "en", "向水务公司付款五元。", "钱今天就会离开你的账户。", "什么颜色？", "红", "蓝")},
	{"in Yoruba", inLanguage("yo", "yo", "San owó omi.", "Owó náà yóò kúrò lónìí.", "Àwọ̀ wo?", "Pupa", "Búlúù")},
	{"in Yoruba on an English page", inLanguage("yo", "en", "San owó omi.", "Owó náà yóò kúrò lónìí.", "Àwọ̀ wo?", "Pupa", "Búlúù")},
}

// inLanguage has another agent ask in a language, on a page in that or another; Tab cuts the
// question, which is rejected. Then it asks which of two, and is answered the second.
func inLanguage(tag, page, action, consequence, which, one, other string) func(r *fixture) {
	return func(r *fixture) {
		before := r.tab
		r.slow = tag != "es" // Orca's own voice is English here
		defer func() {
			r.slow = false
			r.tab.do("Page.close", nil)
			r.tab = before
			r.tab.do("Page.bringToFront", nil)
			r.idle()
		}()
		st := start(r.t, producer.Config{Language: tag, Languages: []string{"en"}})
		r.open(st.page + "?lang=" + page)
		session := st.session(r.t, action)
		outcome := asks(r.t, session, action, consequence, 4*time.Minute)
		r.reads(action)
		time.Sleep(300 * time.Millisecond)
		r.press("Tab")
		r.accepts(consequence)
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
		got := make(chan any, 1)
		go func() {
			v, _ := session.AskChoice(r.t.Context(), producer.Question{Text: aaep.Say(which), Timeout: 4 * time.Minute,
				Choices: []producer.Choice{{Value: "1", Label: aaep.Say(one)}, {Value: "2", Label: aaep.Say(other)}}})
			got <- v
		}()
		r.reads(which)
		r.idle()
		const second = `document.querySelector(".question:not(.settled) button + button")`
		r.until(second + `?.getAttribute("aria-disabled") === "false"`)
		eval[any](r.tab, second+".click()")
		if v := <-got; v != "2" {
			r.t.Errorf("the answer is %v", v)
		}
		r.reads(other)
		r.idle()
	}
}

// TestOrca: what a person hears who has Orca read the page. It is no part of the other tests: it
// takes minutes, and half a desktop. AAEP_ORCA says how many times; make orca brings what it needs.
func TestOrca(t *testing.T) {
	times, _ := strconv.Atoi(os.Getenv("AAEP_ORCA"))
	if times == 0 {
		t.Skip("make orca runs it")
	}
	d := sit(t)
	st := start(t, producer.Config{ShortTimeouts: true})
	d.open(st.page)
	played, good := map[string]int{}, map[string]int{}
	for range times {
		for _, scene := range scenes {
			t.Run(scene.name, func(t *testing.T) {
				played[scene.name]++
				was := d.t
				d.t, d.browser.t = t, t
				defer func() { d.t, d.browser.t = was, was }()
				s, err := st.StartSession(t.Context(), aaep.Say("Working on it."))
				check(t, err)
				defer s.Close()
				defer func() {
					if !t.Failed() {
						good[scene.name]++
					}
				}()
				d.idle()
				d.mark()
				defer func() { t.Logf("Orca said:\n%s", d.said()) }()
				scene.play(&fixture{desktop: d, t: t, page: st, Session: s, begun: map[string]int{}})
				d.idle()
				d.judge(t, scene.name)
			})
		}
	}
	for _, scene := range scenes {
		if n := played[scene.name]; n > 0 {
			t.Logf("%s: %d of %d", scene.name, good[scene.name], n)
		}
	}
}
