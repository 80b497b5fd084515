package bridge

import (
	"slices"

	"github.com/aaep-go/aaep/internal/words"
)

// mostSingles is how many news a Digest tells one by one.
const mostSingles = 3

// A Digest is news that is told together: one by one where they are few, else how many of each kind
// there are, and the newest of each. Its zero value is empty.
type Digest struct {
	kinds   map[string]*newsOfKind
	singles []string // the sentences of news that came alone, mostSingles at most
	several bool     // some were counted by the sender, or they are more than mostSingles
}

type newsOfKind struct {
	count  int
	order  int64
	latest string // a sentence; empty where it was not sent
}

// A DigestKind is a kind of news, and what one of it is called.
type DigestKind struct{ Name, Noun string }

// Add adds one that came alone. Its order is its place among those of its kind: the newest is that
// with the highest, whenever it came.
func (d *Digest) Add(kind string, order int64, sentence string) {
	d.Join(Digest{kinds: map[string]*newsOfKind{kind: {1, order, sentence}}, singles: []string{sentence}})
}

// AddCounted adds some that the sender counted, with the sentence of the newest, or "".
func (d *Digest) AddCounted(kind string, count int, order int64, latest string) {
	d.Join(Digest{kinds: map[string]*newsOfKind{kind: {count, order, latest}}, several: true})
}

// Count has news told as how many they are, however few.
func (d *Digest) Count() { d.several, d.singles = true, nil }

// Join adds to d the news of more, which came later: it counts them together, and keeps the newest
// of each kind. Beyond mostSingles, single sentences are only counted.
func (d *Digest) Join(more Digest) {
	if d.kinds == nil {
		d.kinds = map[string]*newsOfKind{}
	}
	for kind, k := range more.kinds {
		joined := d.kinds[kind]
		if joined == nil {
			joined = &newsOfKind{}
			d.kinds[kind] = joined
		}
		joined.count += k.count
		if k.latest != "" && (k.order >= joined.order || joined.latest == "") {
			joined.order, joined.latest = k.order, k.latest
		}
	}
	d.several = d.several || more.several || len(d.singles)+len(more.singles) > mostSingles
	if d.singles = append(d.singles, more.singles...); d.several {
		d.singles = nil
	}
}

// Total returns how many news there are.
func (d *Digest) Total() (n int) {
	for _, k := range d.kinds {
		n += k.count
	}
	return n
}

// Sentences returns the sentences that announce what was gathered: each item by itself where they
// are few, else one sentence with numbers: of all, each called a noun (whose follows it), and of
// each of the kinds, in their order; other kinds come last.
func (d *Digest) Sentences(noun, whose string, kinds []DigestKind) []string {
	if !d.several {
		return d.singles
	}
	text := words.Count(d.Total(), noun) + whose + "."
	for _, kind := range kinds {
		if k := d.kinds[kind.Name]; k != nil {
			text += " " + k.describeKind(kind.Noun)
		}
	}
	others := 0
	for name, k := range d.kinds {
		if !slices.ContainsFunc(kinds, func(kind DigestKind) bool { return kind.Name == name }) {
			others += k.count
		}
	}
	if others > 0 {
		text += " " + words.Count(others, noun) + " of other kinds."
	}
	return []string{text}
}

// describeKind returns a sentence with the number of news of a kind, each called a noun, and the
// newest of them where its text is known.
func (k *newsOfKind) describeKind(noun string) string {
	text := words.Count(k.count, noun)
	if k.latest == "" {
		return text + "."
	}
	return text + ", the newest: " + k.latest
}
