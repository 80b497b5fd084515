package llm

// Waiting returns how many calls of tools have yet to bring their results.
func (t *Tap) Waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.turns {
		n += len(x.calls)
	}
	return n
}
