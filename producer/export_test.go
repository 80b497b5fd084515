package producer

import "slices"

// Grouped returns how many members each group has, the largest first.
func (p *Producer) Grouped() (sizes []int) {
	for _, g := range *p.groups.all.Load() {
		g.mu.Lock()
		if len(g.members) > 0 {
			sizes = append(sizes, len(g.members))
		}
		g.mu.Unlock()
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	return sizes
}

// HoldGroup has the first group busy until release is called.
func (p *Producer) HoldGroup() (release func()) {
	g := (*p.groups.all.Load())[0]
	g.mu.Lock()
	return g.mu.Unlock
}
