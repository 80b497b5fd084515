// Command anycli makes an agent of any program that prints text, as a wrapper of your own would. It
// shows how output becomes sentences, each listener's way, and how an agent is reached over its
// standard streams, with no address and no port.
//
//	go run ./cmd/aaep listen --exec "go run ./examples/anycli go help buildmode"
//
// The command that starts it follows it: put your own program in the place of "go help buildmode".
// It cannot ask, because a program that only prints cannot wait for an answer; see examples/bank
// for that.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/stdio"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("anycli: name a program to run, with its arguments")
	}
	if _, err := exec.LookPath(os.Args[1]); err != nil { // who listens would hear no more than that it failed
		log.Fatalf("anycli: there is no program %s", os.Args[1])
	}
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal("anycli: ", err)
	}
}

// run starts the program in args and tells the parent process, over standard input and output, what
// it prints.
func run(ctx context.Context, args []string) error {
	name := filepath.Base(args[0])
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "anycli", AgentName: name}})
	if err != nil {
		return err
	}
	parent, err := stdio.Listen(nil) // from here on nothing that is printed by mistake can harm the link
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx) // the program ends with the command that started it
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- p.Serve(context.Background(), parent)
		cancel()
	}()
	if err := p.WaitSubscriber(ctx); err != nil {
		return <-served
	}
	if err := tell(ctx, p, name, args); err != nil {
		return err
	}
	return p.Shutdown(context.Background()) // returns when the end was sent to the listener, at its own rate
}

// tell runs the program as one session.
func tell(ctx context.Context, p *producer.Producer, name string, args []string) error {
	s, err := p.StartSession(ctx, aaep.Say("Running "+name+"."))
	if err != nil {
		return err
	}
	defer s.Close()
	out := s.Output() // text in, in pieces of any length; sentences out
	cmd := exec.CommandContext(s.Context(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	failed := cmd.Run()
	if err := out.Close(); err != nil {
		return err
	}
	if failed != nil {
		return s.Fail(failed, aaep.Say(fmt.Sprintf("%s failed: %s.", name, failed)))
	}
	return s.Complete(aaep.Say(name + " finished."))
}
