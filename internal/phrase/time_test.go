package phrase

import (
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	for seconds, want := range map[int]map[string]string{
		-5:    {"en": "0 seconds", "fr": "0 seconde", "ar": "0 ثانية", "fi": "0 seconds"},
		1:     {"en-GB": "1 second", "es": "1 segundo", "de": "1 Sekunde", "fr": "1 seconde", "ar": "ثانية واحدة", "yo": "ìṣẹ́jú àáyá 1"},
		2:     {"en": "2 seconds", "ar": "ثانيتان", "fr": "2 secondes"},
		19:    {"en": "19 seconds", "ar-EG": "19 ثانية"},
		22:    {"en": "about 20 seconds", "es": "cerca de 20 segundos"},
		45:    {"en": "45 seconds", "de": "45 Sekunden"},
		59:    {"en": "about 1 minute", "ar": "دقيقة واحدة تقريبًا"},
		90:    {"en": "1 minute 30 seconds", "es": "1 minuto y 30 segundos", "fr": "1 minute et 30 secondes", "ar": "دقيقة واحدة و30 ثانية", "yo": "ìṣẹ́jú 1 àti ìṣẹ́jú àáyá 30"},
		120:   {"en": "2 minutes", "ar": "دقيقتان"},
		293:   {"en": "about 5 minutes", "de": "etwa 5 Minuten", "ar": "5 دقائق تقريبًا"},
		290:   {"en": "about 5 minutes"},
		285:   {"en": "about 4 minutes 30 seconds"},
		595:   {"en": "about 10 minutes", "es-419": "cerca de 10 minutos", "fr": "environ 10 minutes", "de": "etwa 10 Minuten", "ar": "10 دقائق تقريبًا", "yo": "nǹkan bí ìṣẹ́jú 10", "ar-Latn": "about 10 minutes"},
		660:   {"en": "11 minutes", "ar": "11 دقيقة"},
		3601:  {"en": "about 1 hour", "ar": "ساعة واحدة تقريبًا"},
		7100:  {"en": "about 1 hour 58 minutes", "es": "cerca de 1 hora y 58 minutos"},
		86399: {"en": "about 24 hours", "ar": "24 ساعة تقريبًا", "de": "etwa 24 Stunden"},
	} {
		for tag, want := range want {
			if got := Time(tag, time.Duration(seconds)*time.Second); got != want {
				t.Errorf("%d seconds in %s: %q, want %q", seconds, tag, got, want)
			}
		}
	}
	if got := Lasting("de", LittleTimeLeft, 595*time.Second); got != "Die Zeit zum Antworten ist fast um. Verbleibende Zeit: etwa 10 Minuten." {
		t.Errorf("%q", got)
	}
}

// WCAG 2.2.1: no user is told of noticeably more time than there is, nor of
// much less.
func TestTimeIsNear(t *testing.T) {
	for s := range 25 * 3600 {
		if got := roundSeconds(s); got > s+s/20 || got < s-s/5 {
			t.Fatalf("%d seconds are told as %d", s, got)
		}
	}
}
