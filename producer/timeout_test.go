package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// CONF-035: without a wish of the author's, the time to answer suits what is at stake.
func TestDefaultTimeouts(t *testing.T) {
	for _, tt := range []struct {
		risk         aaep.Risk
		irreversible bool
		seconds      int64
	}{
		{aaep.RiskLow, false, 60}, {aaep.RiskMedium, false, 120}, {aaep.RiskHigh, false, 300}, {aaep.RiskLow, true, 300},
	} {
		bubble(t, func(t *testing.T, st *stage) {
			l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
			go s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: tt.risk, Irreversible: tt.irreversible, Confirm: true,
				Action: aaep.Say("Pay."), Consequence: aaep.Say("It is gone.")}, func(context.Context) (string, error) { return "", nil })
			synctest.Wait()
			if got := l.question().TimeoutSeconds; got != tt.seconds {
				t.Errorf("risk %s, irreversible %v: %d seconds, want %d", tt.risk, tt.irreversible, got, tt.seconds)
			}
			s.Complete(aaep.Say("Done."))
		})
	}
}

// withoutNotices leaves out what is told of the time that is left.
func withoutNotices(evs []*aaep.Event) []*aaep.Event {
	return slices.DeleteFunc(slices.Clone(evs), func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeProgressUpdated })
}

// noticesOf is what came of the time that is left: when, how critical, and in which words.
func noticesOf(l *listener, since time.Time) (all []string) {
	synctest.Wait()
	for _, a := range l.arrivals() {
		if ev, ok := a.msg.(*aaep.Event); ok && ev.Type() == aaep.TypeProgressUpdated {
			p := ev.Payload.(*aaep.ProgressUpdated)
			all = append(all, fmt.Sprintf("%v %s %.0f%% %ds %s", a.at.Sub(since).Round(time.Second), ev.Urgency, *p.Progress.Percent, *p.ETAMS/1000, p.Progress.Description))
		}
	}
	return all
}

// CONF-038, D-81, WCAG 2.2.1: half the time is told where that is worth it, and its end while there
// is time to hear that and answer: twenty seconds and the speaking time, at the pace of the slowest
// who was asked, or a tenth.
func TestTimeLeftIsTold(t *testing.T) {
	half := func(at, left int) string {
		return fmt.Sprintf("%v background 50%% %ds Half of the time to answer is over. Time left: %s.", time.Duration(at)*time.Second, left, phrase.Time("en", time.Duration(left)*time.Second))
	}
	end := func(at, percent, left int) string {
		return fmt.Sprintf("%v critical %d%% %ds The time to answer is almost over. Time left: %s.", time.Duration(at)*time.Second, percent, left, phrase.Time("en", time.Duration(left)*time.Second))
	}
	for name, tc := range map[string]struct {
		timeout time.Duration
		pace    int64
		want    []string
	}{
		"ten minutes":          {10 * time.Minute, 0, []string{half(300, 300), end(540, 90, 60)}},
		"two minutes":          {2 * time.Minute, 0, []string{half(60, 60), end(93, 77, 27)}},
		"two minutes, slow":    {2 * time.Minute, 60, []string{half(60, 60), end(82, 68, 38)}},
		"a minute":             {time.Minute, 0, []string{end(33, 55, 27)}},
		"half is the end":      {76 * time.Second, 60, []string{end(38, 50, 38)}},
		"no time for a notice": {24 * time.Second, 0, nil},
	} {
		bubble(t, func(t *testing.T, st *stage) {
			c := mayAnswer(allEvents())
			c.PaceWPM = tc.pace
			l := st.listen(c)
			quick := mayAnswer(allEvents())
			quick.PaceWPM = 600
			st.listen(quick)
			s := st.startSession("Paying.")
			slow := pay
			slow.Timeout = tc.timeout
			began := time.Now()
			<-callTool(s, slow, &action{})
			if got := noticesOf(l, began); strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("%s: told\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// D-79: the time that is told is the time that there is, also where the machine slept: as soon as
// it is awake, and to those who are asked once more.
func TestTimeLeftAfterSleep(t *testing.T) {
	for slept, want := range map[time.Duration]struct {
		told string
		left int64
	}{
		100 * time.Second: {"50s background 50% 150s Half of the time to answer is over. Time left: 2 minutes 30 seconds.", 185},
		275 * time.Second: {"15s critical 96% 10s The time to answer is almost over. Time left: 10 seconds.", 10},
	} {
		bubbleWith(t, polyglot, func(t *testing.T, st *stage) {
			sleep := st.p.Suspending()
			l, other, s := st.listen(mayAnswer(allEvents())), st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
			began := time.Now()
			paid := callTool(s, transfer, &action{})
			synctest.Wait()
			time.Sleep(12 * time.Second)
			sleep(slept)
			time.Sleep(3 * time.Second)
			l.renegotiate(inSpanish)
			all := payloadsOf[*aaep.AwaitingConfirmation](l.events())
			if q := all[len(all)-1]; len(all) != 2 || q.TimeoutSeconds != want.left {
				t.Errorf("after %v: asked %d times, the last with %d seconds, want %d", slept, len(all), q.TimeoutSeconds, want.left)
			}
			<-paid
			if got := noticesOf(other, began); len(got) == 0 || got[0] != want.told {
				t.Errorf("after %v: told\n%s\nwant\n%s", slept, strings.Join(got, "\n"), want.told)
			}
		})
	}
}

// The end of the time to answer is told to those too who wanted few events or none of this kind.
func TestTheEndIsToldToAll(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		c := mayAnswer(termsWith(1, aaep.BoundaryCompletion))
		c.CognitiveLoad, c.EventFilters = aaep.LoadLow, &aaep.EventFilters{Include: []string{}}
		l := st.listen(c)
		<-callTool(st.startSession("Paying."), pay, &action{})
		if got := noticesOf(l, time.Now()); len(got) != 1 || !strings.Contains(got[0], "almost over") {
			t.Errorf("told %v", got)
		}
	})
}

// An answer ends the countdown.
func TestNothingIsLeftToTell(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		s := st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		time.Sleep(time.Minute)
		l.reply(l.question(), aaep.Reject)
		<-paid
		time.Sleep(time.Hour)
		if got := noticesOf(l, time.Now()); got != nil {
			t.Errorf("told %v", got)
		}
	})
}

// moreTimeTerms returns terms that ask for more time for a question, with this multiplier.
func moreTimeTerms(token aaep.ReplyToken, multiplier float64) aaep.Capabilities {
	return declare(aaep.Capabilities{}, extensions.TimingVocabulary, extensions.Timing{MoreTimeFor: token, TimeoutMultiplier: multiplier})
}

// CONF-036, CONF-037, WCAG 2.2.1: more time is one message, which works ten times and is told to
// all; the answer to it says that it was given. An answer in the time that was added counts.
func TestMoreTime(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, other := st.listen(mayAnswer(allEvents())), st.addWatcher()
		s, d := st.startSession("Paying."), &action{}
		began := time.Now()
		paid := callTool(s, pay, d) // five minutes
		q := l.question()
		for i := range 12 {
			time.Sleep(4 * time.Minute)
			acc := l.renegotiate(moreTimeTerms(q.ReplyToken, 0))
			if given := strings.Contains(string(acc.HonoredCapabilities.Extensions["timing"]), string(q.ReplyToken)); given != (i < 10) {
				t.Errorf("asked %d times: the answer is %s", i+1, acc.HonoredCapabilities.Extensions)
			}
		}
		l.renegotiate(aaep.Capabilities{PaceWPM: 200}) // asks for nothing
		time.Sleep(time.Minute)
		l.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || d.times != 1 || time.Since(began) != 49*time.Minute {
			t.Errorf("%+v after %v", r, time.Since(began))
		}
		times := noticesOf(other, began)
		given := 0
		for _, line := range times {
			if strings.Contains(line, "There is more time to answer.") {
				given++
			}
		}
		if given != 10 || times[0] != "2m30s background 50% 150s Half of the time to answer is over. Time left: 2 minutes 30 seconds." ||
			times[1] != "4m0s background 40% 360s There is more time to answer. Time left: 6 minutes." {
			t.Errorf("told %d times:\n%s", given, strings.Join(times, "\n"))
		}
	})
}

// More time is for who was asked, while the question is open; and it does not last: without another
// word it ends.
func TestNoMoreTime(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, stranger := st.listen(mayAnswer(allEvents())), st.listen(allEvents())
		s := st.startSession("Paying.")
		began := time.Now()
		paid := callTool(s, pay, &action{})
		q := l.question()
		none := func(l *listener, token aaep.ReplyToken) {
			t.Helper()
			if acc := l.renegotiate(moreTimeTerms(token, 2)); string(acc.HonoredCapabilities.Extensions["timing"]) != `{"timeout_multiplier":2}` {
				t.Errorf("the answer is %s", acc.HonoredCapabilities.Extensions)
			}
		}
		none(stranger, q.ReplyToken)
		none(l, "rpl_00000000000000000000000000000000")
		l.renegotiate(moreTimeTerms(q.ReplyToken, 2))
		if r := <-paid; !errors.Is(r.err, producer.ErrTimedOut) || r.at.Sub(began) != 10*time.Minute {
			t.Errorf("%v after %v", r.err, r.at.Sub(began))
		}
		none(l, q.ReplyToken)
	})
}

// T-LOG: an agent that asks in a loop, with too little time each time, fills no log.
func TestTimeEnoughIsSaidTenTimes(t *testing.T) {
	var log bytes.Buffer
	bubbleWith(t, producer.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}, func(t *testing.T, st *stage) {
		c := mayAnswer(allEvents())
		c.PaceWPM = 80
		l, s := st.listen(c), st.startSession("Paying.")
		brief := pay
		brief.Timeout = 30 * time.Second
		for range 30 {
			paid := callTool(s, brief, &action{})
			l.reply(l.question(), aaep.Reject)
			<-paid
			time.Sleep(time.Second)
		}
	})
	if n := strings.Count(log.String(), "too little time"); n != 10 {
		t.Errorf("it is said %d times, want 10", n)
	}
}

// D-81: a time in which no user can answer is refused; one in which a slow user cannot is warned
// about.
func TestTimeEnough(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	s, err := p.StartSession(t.Context(), aaep.Say("Paying."))
	if err != nil {
		t.Fatal(err)
	}
	short := pay
	short.Timeout = 19 * time.Second
	_, err = s.Tool(t.Context(), short, succeed)
	_, asking := s.AskText(t.Context(), producer.Question{Text: aaep.Say("What?"), Timeout: time.Second})
	for _, err := range []error{err, asking} {
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || invalid.Violations[0].Requirement != "CONF-035" || !strings.Contains(err.Error(), "20 seconds") {
			t.Errorf("a short time: %v", err)
		}
	}
	for pace, warns := range map[int64]bool{0: false, 80: true} {
		var log bytes.Buffer
		bubbleWith(t, producer.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}, func(t *testing.T, st *stage) {
			c := mayAnswer(allEvents())
			c.PaceWPM = pace
			l := st.listen(c)
			brief := pay
			brief.Timeout = 35 * time.Second
			paid := callTool(st.startSession("Paying."), brief, &action{})
			l.reply(l.question(), aaep.Reject)
			<-paid
		})
		if got := strings.Contains(log.String(), "too little time"); got != warns {
			t.Errorf("at %d words a minute: log %s", pace, log.String())
		}
	}
}
