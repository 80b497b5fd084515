package conformance_test

import "time"

// fromTheFirst is a mutant that sends ten events in each second that begins with one of them.
func fromTheFirst(name string) mutant {
	type window struct {
		begin time.Time
		sent  int
	}
	return mutant{name: name, caught: []string{"rate-kept"}, in: func(p *proxy, o object) []object {
		if p.hasRequested("max_events_per_second", 10.0) {
			delete(p.caps, "max_events_per_second")
			p.shared.Store(p, &window{})
		}
		return []object{o}
	}, delay: func(p *proxy, o object) (d time.Duration) {
		of, ok := p.shared.Load(p)
		if !ok || o["event_id"] == nil || o["urgency"] == "critical" {
			return 0
		}
		w := of.(*window)
		if time.Since(w.begin) >= time.Second {
			w.begin, w.sent = time.Now(), 0
		}
		if w.sent == 10 {
			w.begin, w.sent = w.begin.Add(time.Second), 0
			d = time.Until(w.begin)
		}
		w.sent++
		return d
	}}
}

// inWindows is a mutant that sends two events in each second after begin.
func inWindows(name string, begin func() time.Time) mutant {
	type windows struct {
		begin    time.Time
		at, sent int
	}
	return mutant{name: name, caught: []string{"rate-kept"}, in: func(p *proxy, o object) []object {
		if p.hasRequested("max_events_per_second", 2.0) {
			delete(p.caps, "max_events_per_second")
			p.shared.Store(p, &windows{begin: begin()})
		}
		return []object{o}
	}, delay: func(p *proxy, o object) (d time.Duration) {
		of, ok := p.shared.Load(p)
		if !ok || o["event_id"] == nil || o["urgency"] == "critical" {
			return 0
		}
		w := of.(*windows)
		if at := int(time.Since(w.begin) / time.Second); at > w.at {
			w.at, w.sent = at, 0
		}
		if w.sent == 2 {
			w.at, w.sent = w.at+1, 0
			d = time.Until(w.begin.Add(time.Duration(w.at) * time.Second))
		}
		w.sent++
		return d
	}}
}
