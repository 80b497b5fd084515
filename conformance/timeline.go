package conformance

import (
	"fmt"
	"math"
	"strings"
)

// A timeline is the picture of one scenario run: a lane for each subscriber, and below it, for each
// agreed rate, how many events came within the second before. Shapes tell apart what colours do as
// well.
type timeline struct {
	ID, Title, Desc string
	Height          int
	Lanes           []lane
	Shapes          []shape
	Ticks           []label
	Charts          []chart
}

type lane struct {
	Name string
	Y    int
}

type shape struct {
	Path, Class string
	Tip         string
}

type label struct {
	X    float64
	Y    int
	Text string
}

// A chart is a rate against its budget.
type chart struct {
	Name, Path string
	Top, Base  int     // of the plot
	Budget     float64 // where the line of the budget is
	Line       string  // what the line says
}

// The plot lies between these, in units of the picture, which is 720 wide.
const (
	plotLeft, plotRight = 110.0, 700.0
	laneHeight          = 32
	chartHeight         = 84
)

// drawTimeline lays out the lanes, shapes, ticks and charts of the picture of a scenario run, for
// the HTML report, in units of its view box.
func (p runSummary) drawTimeline() timeline {
	span := math.Max(p.Seconds, 0.1)
	x := func(seconds float64) float64 { return plotLeft + seconds/span*(plotRight-plotLeft) }
	links := 1
	for _, m := range p.Marks {
		links = max(links, m.Link+1)
	}
	t := timeline{ID: "play-" + p.Name, Title: "Timeline of " + p.Name, Desc: p.describeTimeline(links)}
	for link := range links {
		t.Lanes = append(t.Lanes, lane{p.Lane(link), 20 + link*laneHeight})
	}
	lanes := links
	if p.caller {
		t.Lanes = append(t.Lanes, lane{p.Lane(hookLink), 20 + links*laneHeight})
		lanes++
	}
	for _, m := range p.Marks {
		s := shape{Tip: fmt.Sprintf("%.3f s: %s", m.Seconds, m.Type)}
		laneOf := (m.Link + lanes) % lanes // hookLink is -1, and its lane the last
		s.Class, s.Path = m.drawMark(x(m.Seconds), float64(t.Lanes[laneOf].Y))
		t.Shapes = append(t.Shapes, s)
	}
	y := 20 + lanes*laneHeight
	for i := range 5 {
		seconds := span * float64(i) / 4
		t.Ticks = append(t.Ticks, label{x(seconds), y, fmt.Sprintf("%.3g s", seconds)})
	}
	y += 12
	for _, b := range p.Budgets {
		if times := p.rateLimitedTimes(b.Link); len(times) > 0 && b.PerSecond > 0 {
			t.Charts = append(t.Charts, b.drawChart(times, span, x, y))
			y += chartHeight
		}
	}
	t.Height = y + 8
	return t
}

// drawMark returns the class and the path of the shape of a mark, at a place in a lane: a triangle
// that points up, to the target, for what the suite sent, a diamond for what is critical, a bar for
// another event, and a ring for an answer.
func (m mark) drawMark(x, lane float64) (class, path string) {
	switch {
	case m.Sent && !m.Session:
		return "sent", fmt.Sprintf("M%.1f %.1fl5 9h-10z", x, lane+3)
	case m.Critical:
		return "critical", fmt.Sprintf("M%.1f %.1fl7 7l-7 7l-7 -7z", x, lane-11)
	case m.Session:
		return "event", fmt.Sprintf("M%.1f %.1fh3v10h-3z", x-1.5, lane-9)
	}
	return "answer", fmt.Sprintf("M%.1f %.1fa4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x-4, lane-5)
}

// drawChart draws, over time, how many events came within the second before. times are when the
// events came, span is the whole time, x makes a place of a time, and top is where the chart
// begins. The agreed rate is a line in it.
func (b budget) drawChart(times []float64, span float64, x func(float64) float64, top int) chart {
	c := chart{Name: runSummary{}.Lane(b.Link), Top: top + 12, Base: top + chartHeight - 10,
		Line: fmt.Sprintf("%g a second", b.PerSecond)}
	most := math.Max(b.PerSecond, float64(b.Peak)) * 1.15
	y := func(n float64) float64 { return float64(c.Base) - n/most*float64(c.Base-c.Top) }
	c.Budget = y(b.PerSecond)
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %d", x(0), c.Base)
	n, gone := 0, 0 // an event counts from when it came until a second later, when it is gone
	for came := 0; came < len(times) || gone < len(times); {
		var at float64
		if came < len(times) && (gone == came || times[came] < times[gone]+1) {
			at = times[came]
			came++
			n++
		} else {
			at = times[gone] + 1
			gone++
			n--
		}
		fmt.Fprintf(&path, "H%.1fV%.1f", x(math.Min(at, span)), y(float64(n)))
	}
	fmt.Fprintf(&path, "H%.1f", x(span))
	c.Path = path.String()
	return c
}

// describeTimeline returns the description of a run's picture in words, for a reader who cannot see
// it.
func (p runSummary) describeTimeline(links int) string {
	var events, critical, answers, sent int
	for _, m := range p.Marks {
		switch {
		case m.Sent && !m.Session:
			sent++
		case m.Session:
			events++
		default:
			answers++
		}
		if m.Critical {
			critical++
		}
	}
	does := p.Does
	if does != "" {
		does = strings.ToUpper(does[:1]) + does[1:] + ". "
	}
	text := fmt.Sprintf("%s%s over %.1f seconds. Received: %s, %d of them critical, and %s. Sent: %s.", does,
		pluralOf(links, "subscriber"), p.Seconds,
		pluralOf(events, "event"), critical, pluralOf(answers, "answer"), pluralOf(sent, "message"))
	if p.caller {
		text = fmt.Sprintf("%s, over %.1f seconds. The suite sent: %s, %d of them critical, and %s. It received and was told: %s.", pluralOf(links, "link"), p.Seconds,
			pluralOf(events, "event"), critical, pluralOf(sent, "other message"), pluralOf(answers, "message"))
	}
	for _, b := range p.Budgets {
		text += fmt.Sprintf(" Subscriber %d got at most %s within any second that were not critical; the rate agreed is %g a second.", b.Link+1, pluralOf(b.Peak, "event"), b.PerSecond)
	}
	if p.Left > 0 {
		text += fmt.Sprintf(" %s more are left out.", pluralOf(p.Left, "message"))
	}
	return text
}

// pluralOf returns a number with its noun, in the plural unless the number is 1.
func pluralOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
