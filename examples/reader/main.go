// Command reader is a small screen reader for agents; with another present.Output it is a reader for another device.
//
//	go run ./examples/bank                               # an agent to follow
//	go run ./examples/reader http://127.0.0.1:8080       # needs Speech Dispatcher; type y or n when you are asked
package main

import (
	"bufio"
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"time"

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

func read(ctx context.Context, url string) error {
	voice, err := speech.Open(ctx, speech.Options{Spawn: true})
	if err != nil {
		return err
	}
	defer voice.Close()
	wants := subscriber.ScreenReader("en-US").With(aaep.Capabilities{SupportsClarificationReply: new(false)}) // only yes or no
	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: url}, subscriber.Config{ID: "small-reader", Capabilities: wants})
	if err != nil {
		return err
	}
	defer sub.Close()
	person := present.New(announce.Preferences{Speaks: voice.Speaks, Answering: func(*aaep.Event) announce.Words {
		return announce.In("en", "Type y for yes or n for no, then Enter.")
	}}) // plans what is said, and when
	go person.Run(ctx, voice)
	agent := sub.Accepted().Producer.AgentID
	go person.TellOutages(agent, sub.Outages(ctx))
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			answer(ctx, sub, person, in.Text())
		}
	}()
	for ev, err := range sub.Events(ctx) { // it goes on when the agent was restarted
		if err != nil {
			person.Tell("The agent cannot be followed any more. Press Control C.", false)
			break
		}
		person.Add(agent, ev)                                         // of questions, one at a time is put
		context.AfterFunc(sub.Open(ev), func() { person.Settle(ev) }) // answered, or gone with its agent
	}
	<-ctx.Done() // there may be more to hear
	return nil
}

// answer passes on a yes or a no to the question that is put, but no yes to what was not heard.
func answer(ctx context.Context, sub *subscriber.Subscription, person *present.Presenter, line string) {
	decision := map[string]aaep.Decision{"y": aaep.Accept, "n": aaep.Reject}[line]
	if line == "next" {
		person.NextQuestion()
	} else if decision == "" {
		person.WhatWaits()
	} else if _, question := person.Question(time.Now(), decision); question == nil {
		person.Tell("There is no question that you have heard to its end.", true)
	} else {
		person.Answered(question, sub.Reply(ctx, question, decision)) // says that it was sent, or why not, and puts the next
	}
}
