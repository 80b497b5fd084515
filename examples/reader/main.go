// Command reader is a small screen reader for agents; with another present.Output it is a reader for another device.
//
//	go run ./examples/bank                               # an agent to follow
//	go run ./examples/reader http://127.0.0.1:8080       # needs Speech Dispatcher; type y or n when you are asked
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"sync"
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
	person := present.New(announce.Preferences{Speaks: voice.Speaks}) // plans what is said, and when
	go person.Run(ctx, voice)
	one, asked, agent := new(sync.Mutex), new(announce.Questions), sub.Accepted().Producer.AgentID // one thing at a time is put
	go person.TellOutages(agent, sub.Outages(ctx))
	do := func(what func()) {
		one.Lock()
		defer one.Unlock()
		what()
		if q := asked.First(); q != nil && q.Put.IsZero() {
			q.Put = time.Now()
			person.AddWords(agent, q.Event, q.Words(q.Put).And(" ", announce.In("en", "Type y for yes or n for no, then Enter.")))
		}
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			do(func() { answer(ctx, sub, person, asked, in.Text()) })
		}
	}()
	for ev, err := range sub.Events(ctx) { // it goes on when the agent was restarted
		if err != nil {
			person.Tell("The agent cannot be followed any more. Press Control C.", false)
			break
		}
		do(func() {
			asked.Heed(time.Now(), agent, ev) // it may close a question
			if _, asks := ev.Payload.(*aaep.AwaitingConfirmation); !asks {
				person.Add(agent, ev)
			} else if asked.Add(time.Now(), agent, ev) != nil {
				person.Expect(agent, ev)
			}
		})
	}
	<-ctx.Done() // there may be more to hear
	return nil
}

// answer passes on a yes or a no, but no yes to what was not heard.
func answer(ctx context.Context, sub *subscriber.Subscription, person *present.Presenter, asked *announce.Questions, line string) {
	decision, q := map[string]aaep.Decision{"y": aaep.Accept, "n": aaep.Reject}[line], asked.First()
	if q == nil || decision == "" {
		person.WhatWaits()
	} else if decision == aaep.Accept && !person.Armed(time.Now(), q.Event) {
		person.Tell("Hear the question to its end, then say yes.", true)
	} else if err := sub.Reply(ctx, q.Event, decision); err != nil && !errors.Is(err, subscriber.ErrUnknownEvent) {
		person.Tell("The answer was not sent. Type it again.", true)
	} else {
		if err != nil {
			person.Tell("It may be too late for this answer.", true)
		}
		asked.Remove(q)
		person.Settle(q.Event)
	}
}
