package ledger

import "cmp"

// deadlines is a heap of open questions for package container/heap, which alone calls its methods.
// The question with the next deadline is the first.
type deadlines []*open

// byDeadline orders questions by deadline, and those of one deadline by token.
func byDeadline(a, b *open) int {
	return cmp.Or(a.deadline.Compare(b.deadline), cmp.Compare(a.q.Token, b.q.Token))
}

// Len returns how many questions are open.
func (d deadlines) Len() int { return len(d) }

// Less reports whether question i ends before question j.
func (d deadlines) Less(i, j int) bool { return byDeadline(d[i], d[j]) < 0 }

// Swap exchanges two questions and notes their new places in their index, which Extend and
// settleQuestion use.
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push appends a question, an *open, and notes its place in its index.
func (d *deadlines) Push(o any) {
	o.(*open).index = len(*d)
	*d = append(*d, o.(*open))
}

// Pop takes the last question off, which package heap has moved there.
func (d *deadlines) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
