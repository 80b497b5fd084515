package phrase

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// times are how a language says a time. {time} and {n} stand for themselves; the time stands where a name would, behind a colon.
type times struct {
	about string     // for one that is not exact
	and   string     // between two units
	units [3]counted // hours, minutes, seconds
}

// counted is a number of things, in each of the plural forms that the language has.
type counted map[plural.Form]string

// Time is a time as a person is told it: in at most two units, and no more exactly than anybody would want to hear, as in "about 10
// minutes". It is rather less than more, for people use up what they are told.
func Time(tag string, d time.Duration) string {
	t, in := &englishTimes, language.English
	if has := known(tag); has != "" {
		for _, l := range languages {
			if l.tag == has {
				t, in = l.times, language.Make(has)
			}
		}
	}
	exact := max(int(d.Round(time.Second)/time.Second), 0)
	left := rounded(exact)
	var parts []string
	for i, size := range []int{3600, 60, 1} {
		n := left / size
		left %= size
		if n == 0 && (size > 1 || parts != nil) {
			continue
		}
		says, ok := t.units[i][plural.Cardinal.MatchPlural(in, n, 0, 0, 0, 0)]
		if !ok {
			says = t.units[i][plural.Other]
		}
		parts = append(parts, strings.Replace(says, "{n}", strconv.Itoa(n), 1))
	}
	says := strings.Join(parts, t.and)
	if rounded(exact) != exact {
		says = strings.Replace(t.about, "{time}", says, 1)
	}
	return says
}

// rounded is a number of seconds to a step that suits it: the one below, or the nearer one above if that is hardly more.
func rounded(seconds int) int {
	step := 1
	for _, s := range []struct{ from, step int }{{20, 5}, {120, 30}, {300, 60}, {2 * 3600, 300}, {10 * 3600, 1800}} {
		if seconds >= s.from {
			step = s.step
		}
	}
	below := seconds - seconds%step
	if over := below + step - seconds; over <= seconds-below && over <= seconds/20 {
		return below + step
	}
	return below
}

// Lasting is In for a time.
func Lasting(tag string, id ID, d time.Duration) string {
	says, _ := In(tag, id, Time(tag, d))
	return says
}
