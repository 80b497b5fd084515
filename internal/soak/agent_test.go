package soak_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports/ipc"
)

// agentPlan says what an agent process does.
type agentPlan struct {
	Dir, Addr, Socket string
	Seed              uint64
}

// gauge is what an agent says of itself once a second, and at the end.
type gauge struct {
	RSS, Goroutines, Files int // RSS in bytes
	Connected              int // of the listeners that are judged
	Produced               int
	Delivered, Merged      int
	Held                   map[string]int `json:",omitempty"` // events that wait for each of them
	Session                string         `json:",omitempty"` // that everybody is told of
}

// measure reads what a process has; files and memory only where there is a /proc.
func measure() (g gauge) {
	g.Goroutines = runtime.NumGoroutine()
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		g.Files = len(files) - 1 // that of reading the folder
	}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		var total int
		fmt.Sscan(string(statm), &total, &g.RSS)
		g.RSS *= os.Getpagesize()
	}
	return g
}

// tell writes one line for the test to read.
func tell(word string, data any) {
	text, err := json.Marshal(data)
	die(err)
	fmt.Println(word, string(text))
}

// An agent is a process with a log, over every transport, that plays sessions until it is killed or
// told to end.
func agent(plan agentPlan) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	before := warm(plan.Socket)
	kept, err := sqlite.Open(plan.Dir, sqlite.Options{Limits: log.Limits{Events: -1, Bytes: -1, Age: -1}})
	die(err)
	p, err := producer.New(producer.Config{
		Agent: aaep.Agent{AgentID: "soak", AgentName: "Soak"}, Languages: []string{"es", "de", "ar"}, Log: kept,
		KeepEvents:       1024,
		MaxSubscriptions: 4096, MaxRequestsPerSecond: -1, ShortTimeouts: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	die(err)
	go func() {
		if err := p.WaitLogFailed(ctx); ctx.Err() == nil {
			die(fmt.Errorf("the log: %w", err))
		}
	}()
	socket, err := ipc.Listen(plan.Socket, nil)
	die(err)
	ln, err := net.Listen("tcp", plan.Addr)
	die(err)
	var serving, agents sync.WaitGroup
	serving.Go(func() {
		if err := p.Serve(ctx, socket); !errors.Is(err, producer.ErrClosed) {
			die(err)
		}
	})
	serving.Go(func() { die(serve.Serve(ctx, ln, p)) })
	tell("ready", before)

	var over atomic.Bool
	r := rand.New(rand.NewPCG(plan.Seed, 0))
	go func() {
		for ctx.Err() == nil {
			tell("gauge", gaugeOf(p))
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "go":
			for i := range 4 {
				own := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
				agents.Go(func() {
					for !over.Load() {
						die(play(ctx, p, own, &over))
					}
				})
			}
		case "gauge":
			tell("asked", gaugeOf(p))
		case "call":
			session, err := call(ctx, p)
			die(err)
			tell("called", gauge{Session: session})
		case "rest":
			over.Store(true)
			agents.Wait()
			tell("resting", gaugeOf(p))
		case "end":
			late, cancel := context.WithTimeout(ctx, 5*time.Minute)
			die(p.Shutdown(late))
			cancel()
			serving.Wait()
			die(kept.Close())
			stop()
			settle(before)
			return
		}
	}
	die(errors.New("nobody says how it goes on"))
}

// warm opens what the runtime keeps for ever once it was needed, and measures what there is then.
func warm(socket string) gauge {
	for network, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix": socket + ".warm"} {
		if ln, err := net.Listen(network, addr); err == nil {
			ln.Close()
		}
	}
	return measure()
}

// settle waits until a process has no more than before, and says so.
func settle(before gauge) {
	g := measure()
	for late := time.Now().Add(patience); g.Goroutines > before.Goroutines || g.Files > before.Files; g = measure() {
		if time.Now().After(late) {
			stacks := make([]byte, 1<<20)
			os.Stderr.Write(stacks[:runtime.Stack(stacks, true)])
			die(fmt.Errorf("%d goroutines and %d files are left, and there were %d and %d", g.Goroutines, g.Files,
				before.Goroutines, before.Files))
		}
		time.Sleep(10 * time.Millisecond)
	}
	tell("left", g)
}

func gaugeOf(p *producer.Producer) gauge {
	g, stats := measure(), p.Stats()
	g.Produced, g.Delivered, g.Merged = stats.Produced, stats.Delivered, stats.Merged
	g.Held = map[string]int{}
	for _, sub := range p.Subscriptions() {
		if strings.HasPrefix(sub.SubscriberID, "crowd") {
			continue
		}
		if sub.Connected {
			g.Connected++
		}
		if sub.Held > 0 {
			g.Held[sub.SubscriberID] = sub.Held
		}
	}
	return g
}

// words says something in every language the agent has.
func words(n int) aaep.Text {
	in := func(terse, normal, detailed string) aaep.Text {
		return aaep.Text{Terse: fmt.Sprintf("%s %d", terse, n), Normal: fmt.Sprintf("%s %d.", normal, n),
			Detailed: fmt.Sprintf("%s %d.", detailed, n)}
	}
	text := in("Step", "This is step", "What you hear now is step").
		In("es", in("Paso", "Este es el paso", "Lo que oye ahora es el paso")).
		In("de", in("Schritt", "Das ist Schritt", "Was Sie jetzt hören, ist Schritt"))
	if n%2 == 0 { // not everything is translated everywhere
		text = text.In("ar", in("خطوة", "هذه الخطوة", "ما تسمعه الآن هو الخطوة"))
	}
	return text
}

// answers are what the agent streams, by language.
var answers = map[string]string{
	"en-US": "Your plan is ready 👩🏽‍🌾! It costs $3.14 a day, e.g. for Dr. Ada Obi. Shall we go on? There is more:\n\n- one\n- two\n\n",
	"es":    "El plan está listo. ¿Seguimos con la Sra. Núñez? Cuesta 3,14 euros al día… y nada más.\n",
	"de":    "Der Plan ist fertig, z. B. für Dr. Özil. Weiter geht’s am 3. Mai! Möchten Sie mehr hören?\n\n",
	"ar":    "الخطة جاهزة. هل نواصل؟ التكلفة ٣٫١٤ في اليوم، ولا شيء أكثر.\n",
	"ja":    "計画ができました。次に進みますか？費用は一日3.14ドルです。以上です。",
	"yo":    "Ọjọ́ ìsinmi rẹ ti súnmọ́lé. Ṣé kí a tẹ̀síwájú? Ó dára.\n",
	"hi":    "योजना तैयार है। क्या हम आगे बढ़ें? यह रोज़ का ख़र्च है।\n",
}

var spoken = []string{"en-US", "es", "de", "ar", "ja", "yo", "hi"} // in an order that a seed can rely on

// play is one session. A seed decides what happens in it, and the listeners what becomes of its
// questions.
func play(ctx context.Context, p *producer.Producer, r *rand.Rand, over *atomic.Bool) error {
	s, err := p.StartSession(ctx, words(r.IntN(1000)))
	if err != nil {
		return err
	}
	defer s.Close()
	var beside sync.WaitGroup
	defer beside.Wait()
	failed := make(chan error, 1)
	for range 3 + r.IntN(6) {
		if over.Load() {
			break
		}
		switch r.IntN(8) {
		case 0, 1, 2:
			err = answer(s, rand.New(rand.NewPCG(r.Uint64(), 0)))
		case 3: // two at once, whose texts are mixed on the way
			own := rand.New(rand.NewPCG(r.Uint64(), 1))
			beside.Go(func() {
				if err := answer(s, own); err != nil {
					failed <- err
				}
			})
			err = answer(s, rand.New(rand.NewPCG(r.Uint64(), 2)))
			beside.Wait()
		case 4:
			for i := range int64(2 + r.IntN(9)) {
				pause(r, 50*time.Millisecond)
				err = errors.Join(err, s.Progress(words(int(i)), aaep.Progress{Percent: new(float64(10 * i))}, 0))
			}
		case 5:
			err = errors.Join(s.State(aaep.StateDeciding, words(r.IntN(1000))),
				s.State(aaep.StateThinking, aaep.Text{}))
		case 6:
			err = tools(ctx, s, r)
		case 7:
			if r.IntN(4) == 0 {
				err = s.Handoff(words(r.IntN(1000)), aaep.HandoffRequested{})
			}
		}
		select {
		case beside := <-failed:
			return beside
		default:
		}
		if err != nil {
			return err
		}
		pause(r, 400*time.Millisecond)
	}
	switch r.IntN(4) {
	case 0:
		return s.Cancel(aaep.CancelledByUser, aaep.Text{})
	case 1:
		return s.Fail(io.ErrUnexpectedEOF, words(r.IntN(1000)))
	default:
		return s.Complete(words(r.IntN(1000)))
	}
}

// call says something critical, which no subscription filters.
func call(ctx context.Context, p *producer.Producer) (session string, err error) {
	s, err := p.StartSession(ctx, words(0))
	if err != nil {
		return "", err
	}
	return s.ID(),
		errors.Join(s.Handoff(words(1), aaep.HandoffRequested{}), s.Handoff(words(2), aaep.HandoffRequested{}),
			s.Fail(io.ErrUnexpectedEOF, words(3)))
}

func pause(r *rand.Rand, most time.Duration) { time.Sleep(time.Duration(r.Int64N(int64(most)))) }

// answer streams a few texts as a model would, cut anywhere.
func answer(s *producer.Session, r *rand.Rand) error {
	out := s.Output()
	for range 1 + r.IntN(3) {
		lang := spoken[r.IntN(len(spoken))]
		if err := out.SetLanguage(lang); err != nil {
			return err
		}
		for text := answers[lang]; text != ""; {
			n := min(1+r.IntN(24), len(text)) // a character may come in two halves
			if _, err := out.WriteString(text[:n]); err != nil {
				return err
			}
			text = text[n:]
			pause(r, 80*time.Millisecond)
		}
	}
	if r.IntN(8) == 0 { // the end of the session closes it
		return nil
	}
	return out.Close()
}

// tools runs tools that ask and some that need not.
func tools(ctx context.Context, s *producer.Session, r *rand.Rand) (err error) {
	tool := producer.Tool{Name: "look", Action: words(r.IntN(1000))}
	switch r.IntN(5) {
	case 0: // what silence allows
		tool.Name, tool.Confirm, tool.Default = "tidy", true, aaep.Accept
		tool.Consequence, tool.Timeout = words(r.IntN(1000)), time.Second
	case 1: // what it does not
		tool.Name, tool.Irreversible, tool.Risk = grave, true, aaep.RiskHigh
		tool.Consequence, tool.Timeout = words(r.IntN(1000)), 2*time.Second
	case 2:
		_, err = s.AskYesNo(ctx,
			producer.Question{Text: words(r.IntN(1000)),
				Default: "false", Timeout: time.Second})
		return err
	}
	_, err = s.Tool(ctx, tool, func(context.Context) (string, error) {
		if r.IntN(8) == 0 {
			return "", io.ErrUnexpectedEOF
		}
		return "done", nil
	})
	for _, as := range []error{producer.ErrRejected, producer.ErrTimedOut, producer.ErrUnreachable,
		io.ErrUnexpectedEOF} {
		if errors.Is(err, as) {
			return nil
		}
	}
	return err
}

// grave is the name of the tool that must never run unless a user allowed it.
const grave = "pay"

func die(err error) {
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
}
