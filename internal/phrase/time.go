package phrase

import (
	"strconv"
	"strings"
	"time"
)

// Time returns a time as a person is told it: in at most two units, and no more exactly than is
// worth hearing, as in "about 10 minutes". It is rather less than more, for people use up what they
// are told.
func Time(tag string, d time.Duration) string {
	c := catalogueOrEnglish(tag)
	exact := max(int(d.Round(time.Second)/time.Second), 0)
	remaining := roundSeconds(exact)
	var parts []string
	for _, unit := range []struct {
		id      ID
		seconds int
	}{{hours, 3600}, {minutes, 60}, {seconds, 1}} {
		n := remaining / unit.seconds
		remaining %= unit.seconds
		if n > 0 || unit.seconds == 1 && parts == nil {
			parts = append(parts, strings.Replace(c.count(unit.id, n), "{n}", strconv.Itoa(n), 1))
		}
	}
	sentence := parts[0]
	for _, part := range parts[1:] {
		sentence = strings.NewReplacer("{first}", sentence, "{second}", part).Replace(c.text(twoUnits))
	}
	if roundSeconds(exact) != exact {
		sentence = strings.Replace(c.text(aboutTime), "{time}", sentence, 1)
	}
	return sentence
}

// roundSeconds rounds a number of seconds to a step that suits its size, downwards; upwards only
// where that is nearer, and at most a twentieth more.
func roundSeconds(seconds int) int {
	step := 1
	for _, s := range []struct{ from, step int }{{20, 5}, {120, 30}, {300, 60}, {2 * 3600, 300}, {10 * 3600, 1800}} {
		if seconds >= s.from {
			step = s.step
		}
	}
	floor := seconds - seconds%step
	if excess := floor + step - seconds; excess <= seconds-floor && excess <= seconds/20 {
		return floor + step
	}
	return floor
}

// Lasting is In for a time.
func Lasting(tag string, id ID, d time.Duration) string {
	sentence, _ := In(tag, id, Time(tag, d))
	return sentence
}
