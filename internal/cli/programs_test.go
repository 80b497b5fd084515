package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/serve"
)

// asker is a little agent that waits for listeners, asks them, and prints what came of it.
func asker() {
	name := flag.String("name", "asker", "what it is called")
	what := flag.String("ask", "confirm", "confirm, swap, choice, number or two")
	timeout := flag.Duration("timeout", 5*time.Minute, "for an answer")
	trail := flag.String("audit", "", "the file that says what was asked and done")
	listeners := flag.Int("listeners", 1, "to wait for")
	flag.Parse()
	ctx := context.Background()
	cfg := producer.Config{ShortTimeouts: true}
	if *trail != "" {
		f := clitest.Must(audit.Open(*trail, audit.Options{}))
		defer f.Close()
		cfg.Audit = f
	}
	p := clitest.Must(serving.NewProducer(*name, cfg))
	ln := clitest.Must(net.Listen("tcp", "127.0.0.1:0"))
	served := make(chan error, 1)
	go func() { served <- serve.Serve(ctx, ln, p) }()
	fmt.Fprintf(os.Stderr, "Serving http://%s\n", ln.Addr())
	for here := 0; here < *listeners; time.Sleep(5 * time.Millisecond) {
		here = 0
		for _, s := range p.Subscriptions() {
			if s.Connected {
				here++
			}
		}
	}
	pay := producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: *timeout,
		Action: aaep.Say("Pay $20 to Ada."), Consequence: aaep.Say("The money is gone.")}
	switch *what {
	case "confirm":
		confirm(ctx, p, pay)
	case "swap": // what is asked for another question, when a line is typed
		harmless, withdraw := context.WithCancel(ctx)
		go func() {
			fmt.Scanln()
			withdraw()
		}()
		confirm(harmless, p, producer.Tool{Name: "look", Confirm: true, Risk: aaep.RiskLow, Timeout: *timeout,
			Action: aaep.Say("Look at the weather."), Consequence: aaep.Say("You know it.")})
		confirm(ctx, p, pay)
	case "two":
		var both sync.WaitGroup
		both.Go(func() { confirm(ctx, p, pay) })
		both.Go(func() {
			confirm(ctx, p, producer.Tool{Name: "delete", Confirm: true, Timeout: *timeout,
				Action: aaep.Say("Delete the letter."), Consequence: aaep.Say("The letter is gone.")})
		})
		both.Wait()
	case "choice":
		clarify(p, (*producer.Session).AskChoice, producer.Question{Text: aaep.Say("Which account?"), Timeout: *timeout,
			Choices: []producer.Choice{{Value: "c-1", Label: aaep.Say("Checking")},
				{Value: "s-1", Label: aaep.Say("Savings")}}})
	case "number":
		clarify(p, (*producer.Session).AskNumber, producer.Question{Text: aaep.Say("How much?"), Timeout: *timeout, Default: "20"})
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p.Shutdown(ctx)
	<-served // which answers a peer that is still asking
}

func confirm(ctx context.Context, p *producer.Producer, tool producer.Tool) {
	s := clitest.Must(p.StartSession(context.Background(), aaep.Say("Working.")))
	defer s.Complete(aaep.Say("Ready."))
	_, err := s.Tool(ctx, tool, func(context.Context) (string, error) { return "", nil })
	switch {
	case err == nil:
		fmt.Println(tool.Name, "accepted")
	case errors.Is(err, producer.ErrRejected):
		fmt.Println(tool.Name, "rejected")
	default:
		fmt.Println(tool.Name, err)
	}
}

func clarify[T any](p *producer.Producer, ask func(*producer.Session, context.Context, producer.Question) (T, error),
	q producer.Question) {
	s := clitest.Must(p.StartSession(context.Background(), aaep.Say("Working.")))
	defer s.Complete(aaep.Say("Ready."))
	answer, err := ask(s, context.Background(), q)
	fmt.Printf("answer %v, error %v\n", answer, err)
}

// printer is a program that prints.
func printer() {
	switch os.Args[1] {
	case "sentences":
		for _, piece := range []string{"One is sh", "ort. Two is lon", "ger than one. Three ", "comes last."} {
			fmt.Print(piece)
		}
		fmt.Println()
	case "fail":
		fmt.Println("This will not work.")
		fmt.Fprintln(os.Stderr, "printer: out of paper")
		os.Exit(3)
	case "binary":
		for _, piece := range []string{"Gr\xc3", "\xbc\xc3\x9fe. ", "\x1b", "[1;3", "1mRed\x1b[0m word. \x1b]0;ti",
			"tle\x1b", "\\Shown. ",
			"\xff\xfe\x00 bytes. ", "Carriage\r\nreturn. \xe2\x82"} {
			fmt.Print(piece)
		}
	case "stay": // until it is told to end, counting how often
		told := make(chan os.Signal, 8)
		signal.Notify(told, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Printf("Here I stay.\nI am process %d.\n", os.Getpid())
		fmt.Printf("Told %v.\n", <-told)
		extra := 0
		for again := time.After(500 * time.Millisecond); ; {
			select {
			case <-told:
				extra++
				continue
			case <-again:
			}
			break
		}
		fmt.Printf("Told %d times more.\n", extra)
	case "leave": // something behind that holds the output
		child := clitest.Must(os.StartProcess(clitest.Must(os.Executable()), []string{"printer", "late"},
			&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}}))
		child.Release()
		fmt.Println("I go.")
	case "late":
		time.Sleep(subprocess.KillDelay + time.Second)
		fmt.Println("I went on.")
	}
}
