package soak_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/websocket"
)

// groupPlan says what a process of listeners does.
type groupPlan struct {
	Dir     string // of the journals
	Wires   map[string]string
	Host    string // what the agent is called, whatever stands in between
	Members []member
	Crowd   int // so many more, whose journals are not kept
}

// A member is one listener.
type member struct {
	Name, Wire string
	Shape      shape
}

// A group is a process of listeners. It ends when the producer has closed all of their
// subscriptions.
func group(plan groupPlan) {
	before := warm(filepath.Join(plan.Dir, "group"))
	var listening sync.WaitGroup
	for _, m := range plan.Members {
		listening.Go(func() {
			j, err := openJournal(filepath.Join(plan.Dir, m.Name))
			die(err)
			l := &listener{member: m, at: plan.Wires[m.Wire], host: plan.Host, note: j.add, last: &j.last}
			l.run()
			die(j.f.Close())
		})
	}
	for i := range plan.Crowd {
		listening.Go(func() {
			m := member{fmt.Sprint("crowd", i), "sse", shapes()[2+i%2]} // of those that are asked nothing
			j := &journal{}
			l := &listener{member: m, at: plan.Wires[m.Wire], host: plan.Host, last: &j.last,
				note: func(n note) error { j.keep(n); return nil }}
			l.run()
		})
	}
	tell("ready", before)
	listening.Wait()
	http.DefaultClient.CloseIdleConnections()
	settle(before)
}

// A listener follows one wire and comes back at once, as often as its link breaks, to the event
// after its place.
type listener struct {
	member
	at   string // the address of the wire
	host string
	note func(note) error
	last *note
}

func (l *listener) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for l.last.Closed == "" {
		var err error
		if l.Wire == "sse" {
			err = l.stream(ctx)
		} else {
			err = l.socket(ctx)
		}
		if err != nil && l.last.Closed == "" { // it is not known when the producer is there again
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// took writes down a message, and answers.
func (l *listener) took(data []byte, place string, reply func(aaep.Message)) error {
	m, err := aaep.Decode(data)
	if err != nil {
		return l.note(note{Event: data, Place: place}) // the judge will say
	}
	switch m := m.(type) {
	case *aaep.SubscriptionClose:
		if m.ReasonCode == aaep.ProducerShutdown {
			return l.note(note{Closed: string(m.ReasonCode)})
		}
		l.last.Link = nil // subscribe anew
		return fmt.Errorf("closed: %s, %s", m.ReasonCode, m.ReasonMessage)
	case *aaep.Event:
		if err := l.note(note{Event: data, Place: place}); err != nil {
			die(err)
		}
		l.answer(m, reply)
	}
	return nil
}

// answer says yes to some questions, no to some and nothing to the others, by their ids.
func (l *listener) answer(ev *aaep.Event, reply func(aaep.Message)) {
	choice := fnv.New32()
	fmt.Fprint(choice, ev.EventID, l.Name)
	n := choice.Sum32() % 16
	decision := map[uint32]aaep.Decision{0: aaep.Accept, 1: aaep.Reject}[n]
	if n > 1 {
		return
	}
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		if decision == aaep.Accept { // before it is said
			die(l.note(note{Reply: string(p.ReplyToken)}))
		}
		reply(&aaep.ConfirmationReply{ReplyToken: p.ReplyToken, Decision: decision,
			SubscriptionID: l.last.Link.Subscription, Timestamp: time.Now()})
	case *aaep.AwaitingClarification:
		reply(&aaep.ClarificationReply{ReplyToken: p.ReplyToken, Response: n == 0,
			SubscriptionID: l.last.Link.Subscription, Timestamp: time.Now()})
	}
}

func (l *listener) request() []byte {
	data, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: l.Name,
		Capabilities: l.Shape.asking(l.last.Place)})
	die(err)
	return data
}

// accepted notes the answer to a request.
func (l *listener) accepted(data []byte, location string) error {
	m, err := aaep.Decode(data)
	acc, ok := m.(*aaep.SubscriptionAccepted)
	if err != nil || !ok {
		return fmt.Errorf("the answer is %s (%v)", data, err)
	}
	return l.note(
		note{Link: &link{Subscription: acc.SubscriptionID, Location: location, After: l.last.Place,
			GoesOn: goesOn(acc, l.last.Place)}})
}

// socket follows one link that is its own subscription.
func (l *listener) socket(ctx context.Context) error {
	var dialer transports.Dialer = ipc.Dialer{Path: l.at}
	if l.Wire == "websocket" {
		dialer = websocket.Dialer{URL: "ws://" + l.at, Header: http.Header{"Host": {l.host}}}
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := dialer.Dial(short)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Send(short, l.request()); err != nil {
		return err
	}
	data, err := conn.Receive(short)
	if err != nil {
		return err
	}
	if err := l.accepted(data, ""); err != nil {
		return err
	}
	for l.last.Closed == "" {
		data, err := conn.Receive(ctx)
		if err != nil {
			return err
		}
		place := ""
		if ev, ok := decoded(data); ok && isPlace(ev) {
			place = ev.EventID
		}
		err = l.took(data, place, func(m aaep.Message) {
			if msg, err := aaep.Encode(m); err == nil {
				conn.Send(ctx, msg) // it may be lost
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func decoded(data []byte) (*aaep.Event, bool) {
	m, err := aaep.Decode(data)
	ev, ok := m.(*aaep.Event)
	return ev, ok && err == nil
}

// stream follows one stream of Server-Sent Events, with nothing but HTTP: of the subscription there
// is or of a new one.
func (l *listener) stream(ctx context.Context) error {
	was := l.last.Link
	if was == nil || was.Location == "" {
		resp, data, err := l.post("/aaep/v1/subscriptions", l.request())
		if err != nil {
			return err
		}
		if err := l.accepted(data, resp.Header.Get("Location")); err != nil {
			return err
		}
		was = l.last.Link
	}
	conn, err := net.Dial("tcp", l.at)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n", was.Location, l.host)
	if place := l.last.Place; place != "" {
		fmt.Fprintf(conn, "Last-Event-ID: %s\r\n", place)
	}
	io.WriteString(conn, "\r\n")
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		l.last.Link = nil
		return fmt.Errorf("the stream is %s", resp.Status)
	}
	again := link{Subscription: was.Subscription, Location: was.Location, After: l.last.Place, GoesOn: was.GoesOn ||
		l.last.Place != ""}
	if err := l.note(note{Link: &again}); err != nil {
		return err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	id, data := "", ""
	for l.last.Closed == "" {
		conn.SetReadDeadline(time.Now().Add(45 * time.Second)) // three heartbeats
		if !lines.Scan() {
			return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
		}
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			id = value
		case field == "data":
			data += value
		case lines.Text() == "" && data != "":
			err := l.took([]byte(data), id, func(m aaep.Message) {
				if msg, err := aaep.Encode(m); err == nil {
					go l.post("/aaep/v1/replies", msg) // it may be lost
				}
			})
			if err != nil {
				return err
			}
			id, data = "", ""
		}
	}
	return nil
}

func (l *listener) post(path string, msg []byte) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.at+path, bytes.NewReader(msg))
	if err != nil {
		return nil, nil, err
	}
	req.Host = l.host
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, data, err
}
