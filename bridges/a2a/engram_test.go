package a2a_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/npmtest"
)

// The records of a store are followed: what there is, each change as it becomes, thousands as a few
// sentences, a patch that does not fit by reading the record, and an approval that is written only
// while the record is as it was told. The store is a peer of ours over the library of A2A's
// authors, written from Engram's founding text, for there is no public one.
func TestEngramPeerOfOurs(t *testing.T) {
	dir := npmtest.Install(t, "testdata/sdk")
	for _, version := range []string{"1.0", "0.3"} {
		t.Run(version, func(t *testing.T) {
			if testing.Short() && version != "1.0" {
				t.Skip("make test-all has it follow both versions")
			}
			store := bridgetest.Start(t, dir, "node", "engram.mjs", version)
			url := store.Line(t)
			do := func(format string, args ...any) {
				fmt.Fprintf(store.In, format+"\n", args...)
				if got := store.Line(t); got != "done" {
					t.Fatal(got)
				}
			}
			agent := dial(t, url, a2a.Config{})
			do(`["set","plan/a",{"count":0,"title":"First"}]`)
			do(`["set","plan/b",{"count":0}]`)
			do(`["set","other",{"count":0}]`)
			p := bridgetest.NewProducer(t)
			asked := make(chan *aaep.Event, 8)
			l := bridgetest.Listen(t, p, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
			ended := make(chan error, 1)
			go func() {
				ended <- agent.FollowRecords(t.Context(), p, a2a.RecordConfig{Prefix: "plan/", Approval: "/approval",
					Window: 300 * time.Millisecond})
			}()
			l.AwaitHeard(t, "2 records: a, b.")
			l.AwaitState(t, "Waiting for the next change.")
			do(`["patch","plan/a",[{"op":"replace","path":"/title","value":"Second"}]]`)
			l.AwaitHeard(t, "a: title is now Second.")
			do(`["count","plan/b",1000]`)
			l.AwaitHeard(t, "b: count is now 1000.")
			do(`["repeat"]`) // all of it again, backwards: nothing of it is told
			do(`["delete","other"]`)
			do(`["set","plan/c",{"approval":"pending","cost":20}]`)
			ev := <-asked
			if q := ev.Payload.(*aaep.AwaitingConfirmation); q.Action != "Store asks you to approve c." ||
				q.Consequence != "The record says: approval is pending, cost is 20." {
				t.Errorf("asked %q, %q", q.Action, q.Consequence)
			}
			l.Sub.Question(ev).Accept(context.Background())
			l.AwaitHeard(t, "c is approved.")
			l.AwaitHeard(t, "c: approval is now approved.")
			do(`["race"]`)
			do(`["set","plan/d",{"approval":"pending"}]`)
			l.Sub.Question(<-asked).Accept(context.Background())
			l.AwaitHeard(t, "Your answer about d was not written: the agent reports: the version is another.")
			do(`["end","ttl"]`) // the next subscription goes on after the last that was applied
			do(`["patch","plan/a",[{"op":"replace","path":"/title","value":"Third"}]]`)
			l.AwaitHeard(t, "a: title is now Third.")
			do(`["cut"]`) // the subscription is taken up again, and its history has what was missed
			do(`["patch","plan/a",[{"op":"replace","path":"/title","value":"Fourth"}]]`)
			l.AwaitHeard(t, "a: title is now Fourth.")
			do(`["forget"]`) // where the history has not, the next subscription does
			do(`["cut"]`)
			do(`["patch","plan/a",[{"op":"replace","path":"/title","value":"Fifth"}]]`)
			l.AwaitHeard(t, "a: title is now Fifth.")
			for _, reason := range []string{"idle_timeout", "error"} { // so does the next subscription after these
				do(`["end",%q]`, reason)
				do(`["patch","plan/a",[{"op":"replace","path":"/title","value":"After %s"}]]`, reason)
				l.AwaitHeard(t, "a: title is now After "+reason+".")
			}
			do(`["delete","plan/b"]`)
			l.AwaitHeard(t, "b was removed.")
			fmt.Fprintln(store.In, `["asked"]`)
			if got := store.Line(t); got != `["all","1008","1010","1011","1012"]` {
				t.Errorf("subscriptions go on after %s", got)
			}
			do(`["end","cancelled"]`)
			if err := <-ended; err == nil || err.Error() != "a2a: the task was cancelled" {
				t.Errorf("it ended with %v", err)
			}
			heard := l.AwaitEnd(t, 1)
			for _, once := range []string{"title is now Second", "title is now Third", "title is now Fourth",
				"title is now Fifth", "After idle_timeout", "After error", "2 records", "c is new",
				"count is now 1000"} {
				if n := strings.Count(heard, once); n != 1 {
					t.Errorf("%q was heard %d times", once, n)
				}
			}
			if n := strings.Count(heard, "\n"); n > 30 || strings.Contains(heard, "other:") {
				t.Errorf("heard %d lines:\n%s", n, heard)
			}
		})
	}
}

// A store whose sequences rise for each record alone is followed, too: after a cut or the end of a
// subscription all of it is asked for, and what is known is not told again.
func TestEngramPeerOfOursPerKey(t *testing.T) {
	if testing.Short() {
		t.Skip("its store is a process of its own: make test-all runs it")
	}
	dir := npmtest.Install(t, "testdata/sdk")
	store := bridgetest.Start(t, dir, "node", "engram.mjs", "1.0", "per-key")
	agent := dial(t, store.Line(t), a2a.Config{})
	do := func(command string) {
		fmt.Fprintln(store.In, command)
		if got := store.Line(t); got != "done" {
			t.Fatal(got)
		}
	}
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	ended := make(chan error, 1)
	go func() {
		ended <- agent.FollowRecords(t.Context(), p, a2a.RecordConfig{Window: 50 * time.Millisecond})
	}()
	do(`["set","a",{"count":0}]`)
	l.AwaitHeard(t, "1 record: a.")
	do(`["count","a",3]`)
	l.AwaitHeard(t, "a: count is now 3.")
	do(`["set","b",{"count":0}]`) // the first of its versions, and so before the last
	l.AwaitHeard(t, "b is new: count is 0.")
	do(`["forget"]`)
	do(`["cut"]`)
	do(`["count","b",1]`)
	l.AwaitHeard(t, "b: count is now 1.")
	do(`["end","ttl"]`)
	do(`["count","a",7]`)
	l.AwaitHeard(t, "a: count is now 7.")
	fmt.Fprintln(store.In, `["asked"]`)
	if got := store.Line(t); got != `["all","all","all"]` {
		t.Errorf("subscriptions go on after %s", got)
	}
	do(`["end","cancelled"]`)
	<-ended
	heard := l.AwaitEnd(t, 1)
	for _, once := range []string{"count is now 3", "b is new", "b: count is now 1.", "count is now 7"} {
		if n := strings.Count(heard, once); n != 1 {
			t.Errorf("%q was heard %d times in\n%s", once, n, heard)
		}
	}
}

// An agent whose card does not name the extension has no records to follow.
func TestNoRecords(t *testing.T) {
	dir := npmtest.Install(t, "testdata/sdk")
	_, url := sdkAgent(t, dir, "1.0")
	if err := dial(t, url, a2a.Config{}).FollowRecords(t.Context(), bridgetest.NewProducer(t),
		a2a.RecordConfig{}); !errors.Is(err, a2a.ErrNoRecords) {
		t.Error(err)
	}
}
