// Command reader is a small screen reader for agents; with another present.Output it is a reader
// for another device.
//
//	go run ./examples/bank                               # an agent to follow
//	go run ./examples/reader http://127.0.0.1:8080       # needs Speech Dispatcher
//
// Type y or n when you are asked, /next for another question, /terse to hear less.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/speech"
	"github.com/aaep-go/aaep/transports/sse"
)

func main() {
	flag.Parse() // the address of one agent
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := read(ctx, flag.Arg(0)); err != nil && ctx.Err() == nil {
		log.New(os.Stderr, "reader: ", 0).Fatal(err)
	}
}

// read follows the agent at url and speaks what it says, until the person stops it. Lines of
// standard input are answers and commands.
func read(ctx context.Context, url string) error {
	open := func(ctx context.Context) (present.Output, error) {
		return speech.Open(ctx, speech.Options{Spawn: true})
	}
	voice, err := open(ctx)
	if err != nil {
		return err
	}
	defer voice.Close()
	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: url}, subscriber.Config{ID: "small-reader", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		return err
	}
	defer sub.Close()
	person := present.New(announce.Preferences{Speaks: voice.Speaks, Answering: func(question *aaep.Event) announce.Words {
		if question.Type() == aaep.TypeAwaitingClarification {
			return announce.In("en", "Type your answer, then Enter.")
		}
		return announce.In("en", "Type y for yes or n for no, then Enter.")
	}}) // plans what is said, and when
	go person.RunAgain(ctx, voice, open, func(gone error) { log.Println("the voice:", cmp.Or(gone, errors.New("back"))) })
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			switch text := in.Text(); text {
			case "/next":
				person.NextQuestion()
			case "/terse", "/normal", "/detailed": // which is all that it takes
				go sub.Renegotiate(ctx, aaep.Capabilities{PreferredVerbosity: aaep.Verbosity(text[1:])})
			default:
				person.Answer(text) // no yes to what was not heard; they are told what comes of it
			}
		}
	}()
	err = present.Follow(ctx, sub, sub.Accepted().Producer.AgentID, person) // it goes on when the agent was restarted
	person.Tell("Press Control C.", false)
	<-ctx.Done() // there may be more to hear
	return err
}
