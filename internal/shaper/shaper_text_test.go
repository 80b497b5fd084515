package shaper

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

const (
	none       = aaep.BoundaryNone
	word       = aaep.BoundaryWord
	sentence   = aaep.BoundarySentence
	paragraph  = aaep.BoundaryParagraph
	completion = aaep.BoundaryCompletion
)

// D-28, HS-024, HS-038: every set of boundaries against one stream of tokens. Text is cut at the
// finest one listed, labelled with the coarsest one listed that was reached; the closing chunk is
// labelled completion (D-27: positions).
func TestShaperBoundaries(t *testing.T) {
	tokens := []string{"Hé", "llo wor", "ld. ", "How are", " you?", "\n\n", "New pa", "ge. End"}
	raw := []string{`o@0 "Hé" none`, `o@2 "llo wor" none`, `o@9 "ld. " none`, `o@13 "How are" none`,
		`o@20 " you?" none`, `o@25 "\n\n" none`, `o@27 "New pa" none`, `o@33 "ge. End" none`,
		`o@40 "" completion complete`}
	words := func(atSentence, atParagraph string) []string {
		return []string{`o@0 "Héllo " word`, `o@6 "world. " ` + atSentence, `o@13 "How " word`, `o@17 "are " word`,
			`o@21 "you?\n\n" ` + atParagraph, `o@27 "New " word`, `o@31 "page. " ` + atSentence,
			`o@37 "End" completion complete`}
	}
	sentences := func(atParagraph string) []string {
		return []string{`o@0 "Héllo world. " sentence`, `o@13 "How are you?\n\n" ` + atParagraph,
			`o@27 "New page. " sentence`, `o@37 "End" completion complete`}
	}
	paragraphs := []string{`o@0 "Héllo world. How are you?\n\n" paragraph`, `o@27 "New page. End" completion complete`}
	all := []string{`o@0 "Héllo world. How are you?\n\nNew page. End" completion complete`}
	for _, c := range []struct {
		set  []aaep.Boundary
		load aaep.CognitiveLoad
		pace int64
		want []string
	}{
		{nil, aaep.LoadMedium, 0,
			[]string{`o@0 "Héllo world. " none`, `o@13 "How are you?\n\n" none`, `o@27 "New page. " none`,
				`o@37 "End" completion complete`}},
		{[]aaep.Boundary{none}, aaep.LoadMedium, 0, raw},
		{[]aaep.Boundary{none, word}, aaep.LoadMedium, 0, raw},
		{[]aaep.Boundary{sentence, none, completion}, aaep.LoadMedium, 0, raw},
		{[]aaep.Boundary{word}, aaep.LoadMedium, 0, words("word", "word")},
		{[]aaep.Boundary{word, sentence}, aaep.LoadMedium, 0, words("sentence", "sentence")},
		{[]aaep.Boundary{paragraph, word}, aaep.LoadMedium, 0, words("word", "paragraph")},
		{[]aaep.Boundary{word, sentence, paragraph, completion}, aaep.LoadMedium, 0, words("sentence", "paragraph")},
		{[]aaep.Boundary{word, completion}, aaep.LoadMedium, 0, words("word", "word")},
		{[]aaep.Boundary{sentence}, aaep.LoadMedium, 0, sentences("sentence")},
		{[]aaep.Boundary{completion, sentence}, aaep.LoadMedium, 0, sentences("sentence")},
		{[]aaep.Boundary{sentence, paragraph}, aaep.LoadHigh, 0, sentences("paragraph")},
		{[]aaep.Boundary{paragraph}, aaep.LoadMedium, 0, paragraphs},
		{[]aaep.Boundary{paragraph, completion}, aaep.LoadMedium, 0, paragraphs},
		{[]aaep.Boundary{completion}, aaep.LoadMedium, 0, all},
		// D-53: a slow voice gets the next coarser boundary listed, a low load the coarsest.
		{[]aaep.Boundary{word, sentence, paragraph}, aaep.LoadMedium, 119, sentences("paragraph")},
		{[]aaep.Boundary{word, sentence, paragraph}, aaep.LoadMedium, 120, words("sentence", "paragraph")},
		{[]aaep.Boundary{word, word, paragraph}, aaep.LoadMedium, 80, paragraphs},
		{[]aaep.Boundary{sentence}, aaep.LoadMedium, 80, sentences("sentence")},
		{[]aaep.Boundary{none, sentence}, aaep.LoadMedium, 80, sentences("sentence")},
		{[]aaep.Boundary{word, paragraph, sentence}, aaep.LoadLow, 0, paragraphs},
		{[]aaep.Boundary{sentence, completion}, aaep.LoadLow, 0, all},
		{[]aaep.Boundary{none, sentence}, aaep.LoadLow, 0, sentences("sentence")},
		{[]aaep.Boundary{none}, aaep.LoadLow, 80, raw},
	} {
		terms := listener(c.set...)
		terms.CognitiveLoad, terms.PaceWPM = c.load, c.pace
		r, w := newHarness(t, terms), newWriter()
		for _, tok := range tokens {
			r.push(w.say(tok))
		}
		r.push(w.close(""))
		if got := r.lines(); !slices.Equal(got, c.want) {
			t.Errorf("%v, load %s, pace %d:\n\t%s\nwant\n\t%s", c.set, c.load, c.pace, strings.Join(got, "\n\t"),
				strings.Join(c.want, "\n\t"))
		}
		for _, d := range r.out {
			if !d.Resumable {
				t.Errorf("%v: %s is not resumable", c.set, line(d.Event))
			}
		}
		r.checkOut()
	}
}

// While the budget lasts, nothing merges, however many pieces one chunk of the log holds (D-28).
func TestShaperCutsWithinAChunk(t *testing.T) {
	r, w := newHarness(t, paced(10, word)), newWriter()
	r.push(w.close("One two three."))
	r.want(`o@0 "One " word`, `o@4 "two " word`, `o@8 "three." completion complete`)
	r.checkOut()
}

// D-27, D-30: every way in which an output can end.
func TestShaperClosingChunk(t *testing.T) {
	for _, c := range []struct {
		name  string
		drive func(r *harness, w *writer)
		want  []string
	}{
		{"text held", func(r *harness, w *writer) {
			r.push(w.say("Half a"), w.close(""))
		}, []string{`o@0 "Half a" completion complete`}},
		{"text in the last chunk", func(r *harness, w *writer) { r.push(w.say("Half "), w.close("a. Two")) },
			[]string{`o@0 "Half a. " sentence`, `o@8 "Two" completion complete`}},
		{"nothing held", func(r *harness, w *writer) {
			r.push(w.say("Whole."))
			r.wait(time.Second)
			r.push(w.close(""))
		},
			[]string{`o@0 "Whole." sentence`, `o@6 "" completion complete`}},
		{"no text at all", func(r *harness, w *writer) { r.push(w.close("")) }, []string{`o@0 "" completion complete`}},
		{"an empty chunk before", func(r *harness, w *writer) {
			r.push(w.say(""))
			r.wait(time.Second)
			r.push(w.say("Hi"), w.say(""), w.close(""))
		}, []string{`o@0 "Hi" completion complete`}},
		{"the session ends before the output", func(r *harness, w *writer) {
			r.push(w.say("Left "), w.say("open"), done())
		},
			[]string{`o@0 "Left open" none`, "session.completed"}},
		{"an error ends the session before the output", func(r *harness, w *writer) {
			r.push(w.say("Left open"), failed())
		},
			[]string{`o@0 "Left open" none`, "session.errored"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newHarness(t, listener(sentence))
			c.drive(r, newWriter())
			r.want(c.want...)
			if s := r.s.Stats(); s.Held != 0 {
				t.Errorf("%+v, want nothing held", s)
			}
			r.checkOut()
		})
	}
	t.Run("queued text waits", func(t *testing.T) { // the closing chunk joins it
		r, w := newHarness(t, paced(1, sentence)), newWriter()
		r.push(tool("t"), w.say("One. "), w.say("Two. "), w.say("Three"), w.close(""))
		r.want("tool t")
		r.wait(time.Second)
		r.want(`o@0 "One. Two. Three" completion complete`)
		r.checkOut()
	})
	t.Run("queued text fills a chunk", func(t *testing.T) { // an empty closing chunk still fits
		r, w := newHarness(t, paced(1, none)), newWriter()
		r.push(tool("t"), w.say(strings.Repeat("x", 8192)), w.say(strings.Repeat("y", 8192)), w.close(""))
		r.wait(5 * time.Second)
		if len(r.out) != 2 || texts(t, r.out)["a/o"] != strings.Repeat("x", 8192)+strings.Repeat("y", 8192) {
			t.Errorf("%d events", len(r.out))
		}
		r.checkOut()
	})
	t.Run("none listed, nothing held", func(t *testing.T) {
		r, w := newHarness(t, listener(none)), newWriter()
		r.push(w.say("a"), w.close("b"))
		r.want(`o@0 "a" none`, `o@1 "b" completion complete`)
		r.checkOut()
	})
}

// D-12, ENV-061: at most 16384 bytes leave in one event, whether they come at once or gather.
func TestShaperChunkLimit(t *testing.T) {
	line := strings.Repeat("多くの言葉 ", 1500) // 24000 bytes, no sentence ends
	for _, rate := range []int64{0, 1} {
		for _, b := range []aaep.Boundary{none, word, sentence, completion} {
			r, w := newHarness(t, paced(rate, b)), newWriter()
			for chunk := range slices.Chunk([]rune(line), 100) {
				r.push(w.say(string(chunk)))
			}
			r.push(w.close(""))
			r.wait(time.Minute)
			if got := texts(t, r.out)["a/o"]; got != line {
				t.Errorf("rate %d, %s: the text is not whole", rate, b)
			}
			if limit := len(line)/16384 + 3; rate == 1 && len(r.out) > limit {
				t.Errorf("rate %d, %s: %d events, want at most %d", rate, b, len(r.out), limit)
			}
			r.checkOut()
		}
	}
}

// A chunk in another language, or of another content type, begins an event of its own.
func TestShaperLanguages(t *testing.T) {
	for _, rate := range []int64{0, 1} { // also under pressure
		r, w := newHarness(t, paced(rate, sentence)), newWriter()
		r.push(w.say("He said "))
		w.lang = "fr"
		r.push(w.say("c’est "), w.say("la vie"))
		w.lang = "en"
		r.push(w.close(" and left."))
		r.wait(time.Minute)
		r.want(`o@0 "He said " none`, `o@8 "c’est la vie" none`, `o@20 " and left." completion complete`)
		for i, want := range []string{"en", "fr", "en"} {
			if got := r.out[i].Event.Language(); got != want {
				t.Errorf("event %d is in %s, want %s", i, got, want)
			}
		}
		r.checkOut()
	}
	t.Run("hints", func(t *testing.T) { // the language may stand in the envelope instead
		r, w := newHarness(t, listener(sentence)), newWriter()
		w.lang = ""
		a, b := w.say("One "), w.close("deux")
		a.LocalizationHints = &aaep.LocalizationHints{PrimaryLanguage: "en"}
		b.LocalizationHints = &aaep.LocalizationHints{PrimaryLanguage: "fr"}
		r.push(a, b)
		r.want(`o@0 "One " none`, `o@4 "deux" completion complete`)
	})
	t.Run("content type", func(t *testing.T) {
		r, w := newHarness(t, listener(sentence)), newWriter()
		a, b := w.say("One "), w.close("two")
		b.Payload.(*aaep.OutputStreaming).ContentType = "text/markdown"
		r.push(a, b)
		r.want(`o@0 "One " none`, `o@4 "two" completion complete`)
	})
}

// A finished sentence leaves when the stream has been quiet for 400 ms, or the agent turns to
// something else; an unfinished one stays.
func TestShaperPause(t *testing.T) {
	r, w := newHarness(t, listener(sentence)), newWriter()
	r.push(w.say("One"))
	r.wait(300 * time.Millisecond)
	r.push(w.say("."))
	r.wait(399 * time.Millisecond)
	r.want()
	r.wait(time.Millisecond)
	r.want(`o@0 "One." sentence`)

	r.push(w.say(" Two. "), tool("t")) // at once, and before the tool
	r.want(`o@4 " Two. " sentence`, "tool t")

	r.push(w.say("Three"), tool("u"))
	r.wait(time.Hour)
	r.want("tool u")
	if r.out[len(r.out)-1].Resumable {
		t.Error("resuming after the tool would lose the text held before it (D-65)")
	}
	if got := r.s.Stats(); got.Held != 1 {
		t.Errorf("%+v, want 1 held", got)
	}
	if !r.s.Idle() {
		t.Error("held text of an open output makes a Shaper busy")
	}
	r.push(w.say("."), in("b", tool("other")))
	r.want("b: tool other") // another session is no reason
	r.push(advance("x"))    // also what is not sent is one
	r.want(`o@10 "Three." sentence`, "progress x")
	r.push(w.close(""))
	r.want(`o@16 "" completion complete`)
	r.checkOut()

	r, w = newHarness(t, listener(sentence)), newWriter()
	at := int64(0)
	for _, text := range []string{"Let me look at the tests:", "\n\nNow I run `make`.", " It is from 2020.",
		" Well done! 🎉"} {
		// as agents end before a tool
		r.push(w.say(text), tool("t"))
		r.want(fmt.Sprintf("o@%d %q sentence", at, text), "tool t")
		at += countRunes(text)
	}

	terms := listener(paragraph)
	terms.Filters.Exclude = []string{"aaep:agent.tool.*"}
	r, w = newHarness(t, terms), newWriter()
	r.push(w.say("One. "), tool("t"))
	r.wait(time.Second)
	r.want() // a sentence is not enough here
	terms.Boundaries = []aaep.Boundary{sentence}
	r, w = newHarness(t, terms), newWriter()
	r.push(w.say("One. "), tool("t"))
	r.want(`o@0 "One. " sentence`)
	r.checkOut()
}

// The end of a sentence is not waited for for ever: after a while without text its words leave,
// after a longer one also while text comes, and they say that they are words (EVT-061). HS-071, P6
func TestShaperImpatient(t *testing.T) {
	r, w := newHarness(t, listener(sentence, completion)), newWriter()
	r.push(w.say("I think it "))
	r.wait(time.Hour) // a word or two tell nothing
	r.want()
	r, w = newHarness(t, listener(sentence, completion)), newWriter()
	r.push(w.say("I looked at your acc"))
	r.wait(restAfter - time.Millisecond)
	r.want()
	r.wait(time.Millisecond)
	r.want(`o@0 "I looked at your " word`)
	r.wait(time.Hour) // what may be half a word stays
	r.want()
	if _, next := r.s.Pop(r.now); !next.IsZero() {
		t.Errorf("it is tried again without more text, at %v", next)
	}
	r.push(w.say("ounts and "))
	r.wait(time.Hour)
	r.want(`o@17 "accounts and" word`)
	r.push(w.say("found three bills."))
	r.wait(time.Second)
	r.want(`o@29 " found three bills." sentence`)

	for range 60 { // a sentence without an end, four words a second
		r.push(w.say("and "), w.say("on "))
		r.wait(500 * time.Millisecond)
	}
	longest := 0
	for _, d := range r.out[r.shown:] {
		longest = max(longest, len(d.Event.Payload.(*aaep.OutputStreaming).Chunk))
	}
	if n := len(r.out) - r.shown; n != 2 || longest < 200 || longest > 215 {
		t.Errorf("in 30 seconds came %d pieces, the longest of %d bytes", n, longest)
	}
	r.shown = len(r.out)
	r.push(w.close("and an end."))
	r.checkOut()

	r, w = newHarness(t, listener(sentence, completion)), newWriter()
	r.push(w.say("Call `run the tests "))
	r.wait(time.Hour) // no code is divided
	r.want()
	r.push(w.say("` and"), w.say("\n```\nfor x in range"))
	r.wait(time.Hour)
	r.want("o@0 \"Call `run the tests ` and\\n\" sentence")
	for _, whole := range []aaep.Boundary{paragraph, completion} { // who wants it whole gets it whole
		r, w = newHarness(t, listener(whole)), newWriter()
		r.push(w.say("One. Two and "))
		r.wait(time.Hour)
		r.want()
	}
}

// Of code that comes for minutes whole lines leave after the longest wait, so that the person hears
// that it goes on.
func TestShaperLongCode(t *testing.T) {
	r, w := newHarness(t, listener(sentence, completion)), newWriter()
	r.push(w.say("Here it is:\n```go\n"))
	r.want(`o@0 "Here it is:\n" sentence`)
	for range 60 { // two lines a second
		for _, token := range []string{"x := ", "y. ", "Z()", "\n"} {
			r.push(w.say(token))
			r.wait(125 * time.Millisecond)
		}
	}
	pieces := r.out[r.shown:]
	if len(pieces) != 2 {
		t.Errorf("in 30 seconds came %d pieces, want one after 15 s and one after 30", len(pieces))
	}
	for _, d := range pieces {
		p := d.Event.Payload.(*aaep.OutputStreaming)
		if !strings.HasSuffix(p.Chunk, "Z()\n") || p.CoalesceHint != word || len(p.Chunk) < 300 {
			t.Errorf("%q left, with hint %s", p.Chunk, p.CoalesceHint)
		}
	}
	r.shown = len(r.out)
	r.push(w.say("done()\n"), w.say("```\nThat is "))
	if last := r.out[len(r.out)-1].Event.Payload.(*aaep.OutputStreaming); !strings.HasSuffix(last.Chunk,
		"\ndone()\n```\n") || last.CoalesceHint != sentence {
		t.Errorf("the end of the code is %+v", last)
	}
	r.push(w.close("all."))
	r.checkOut()
}

// A pause ends no wait for a boundary where there is none to wait for: Pop must not ask for the
// past.
func TestShaperPauseWithoutBoundary(t *testing.T) {
	r, w := newHarness(t, listener(none)), newWriter()
	r.push(w.say(""), tool("t"))
	r.wait(time.Second)
	if !r.out[0].Resumable {
		t.Error("an empty chunk is in the way")
	}
	r, w = newHarness(t, listener(sentence)), newWriter()
	r.push(w.say("Half"))
	r.s.SetTerms(r.now, listener(none))
	r.wait(time.Second)
	r.want(`o@0 "Half" none`)
	r.checkOut()
}

// What was said first leaves first, where the text of several outputs has waited long enough at
// once; whichever began first.
func TestTextLeavesInTheOrderItCame(t *testing.T) {
	r := newHarness(t, paced(0, sentence))
	a, b := newWriter(), newWriter()
	r.push(a.say("One. "), in("b", b.say("Two.")), a.say("Three."))
	r.wait(time.Minute)
	r.want(`o@0 "One. " sentence`, `b: o@0 "Two." sentence`, `o@5 "Three." sentence`)
}
