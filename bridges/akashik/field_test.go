package akashik_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer"
)

// A testField is a field of ours, written from the text of Akashik 0.1.0: there is no other that
// has a transport. It has the HTTP binding, the tools of the MCP binding, and pushes over WebSocket
// or server-sent events. How it answers where that text leaves it open is set by its fields.
type testField struct {
	level     int
	stream    bool // it pushes server-sent events, else over WebSocket
	inclusive bool // since_epoch returns what was recorded at that epoch, too
	cut       int  // of units it returns no more than so many; zero is all that are asked for
	pushHost  string
	token     string
	wrap      bool                                 // answers come in envelopes
	refuse    func(operation string) (int, string) // a status and a body in the place of an answer; zero is none

	mu        sync.Mutex
	epoch     int64
	agents    map[string]bool
	subs      []*testSubscription
	units     []*unit
	conflicts []map[string]any
	got       []message // every message that it took
	links     map[chan string]linkEnd
	linked    chan struct{} // is sent to for each link that is opened
	attuned   chan struct{} // is closed at the next answer to ATTUNE
}

// A linkEnd ends a link, and says that it has ended.
type linkEnd struct {
	cut  context.CancelFunc
	done <-chan struct{}
}

type testSubscription struct {
	id, agent string
	events    []string
	least     float64
}

type unit struct {
	id, kind, content, agent, purpose, status string
	epoch                                     int64
	relevance                                 float64
	at                                        time.Time
}

type message struct {
	Protocol  string          `json:"protocol"`
	Version   string          `json:"version"`
	ID        string          `json:"id"`
	Operation string          `json:"operation"`
	AgentID   string          `json:"agent_id"`
	Epoch     float64         `json:"epoch"`
	Payload   json.RawMessage `json:"payload"`
}

func newField() *testField {
	return &testField{level: 2, agents: map[string]bool{}, links: map[chan string]linkEnd{},
		linked: make(chan struct{}, 64), attuned: make(chan struct{})}
}

// change changes the field as a test wants it.
func (f *testField) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

// record adds a unit, with changes, and pushes nothing.
func (f *testField) record(agent, content string, changes ...func(*unit)) *unit {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
	u := &unit{id: fmt.Sprintf("mem-%d", f.epoch), kind: "finding", content: content, agent: agent, status: "active",
		epoch:     f.epoch,
		relevance: 0.8, at: time.Now()}
	for _, change := range changes {
		change(u)
	}
	f.units = append(f.units, u)
	return u
}

// notification is one as the field pushes it.
func notification(event string, epoch int64, relevance float64, summary, unit, conflict string,
	action bool) map[string]any {
	or := func(id string) any {
		if id == "" {
			return nil
		}
		return id
	}
	return map[string]any{"event": event, "epoch": epoch, "relevance_score": relevance, "summary": summary,
		"memory_unit_id": or(unit), "conflict_id": or(conflict), "requires_action": action}
}

// push pushes to each subscription that wants it.
func (f *testField) push(n map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs {
		relevance, isNumber := n["relevance_score"].(float64)
		if event, _ := n["event"].(string); !slices.Contains(s.events, event) || isNumber && relevance < s.least {
			continue
		}
		n["subscription_id"] = s.id
		text, _ := json.Marshal(n)
		f.send(string(text))
	}
}

// send sends text on each link, with f.mu held.
func (f *testField) send(text string) {
	for link, end := range f.links {
		select {
		case link <- text:
		case <-end.done: // what is sent then is lost, as on a network
		}
	}
}

// raw sends text on each link, whatever it is.
func (f *testField) raw(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(text)
}

// cutLinks ends all links.
func (f *testField) cutLinks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for link, end := range f.links {
		delete(f.links, link)
		end.cut()
	}
}

// took returns the payloads of the messages with an operation.
func (f *testField) took(operation string) (all []message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.got {
		if m.Operation == operation {
			all = append(all, m)
		}
	}
	return all
}

func (f *testField) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch r.URL.Path {
	case "/push":
		f.serveLink(w, r)
		return
	case "/mcp":
		f.serveTools(w, r)
		return
	}
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.URL.Path != "/v1/"+strings.ToLower(m.Operation) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	status, answer := f.answer(m)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write([]byte(answer))
}

// serveTools serves the operations as tools of the Model Context Protocol.
func (f *testField) serveTools(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     *int
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&call) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if call.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := any(struct{}{})
	if call.Method == "tools/call" {
		var m message
		json.Unmarshal(call.Params.Arguments, &m)
		status, answer := f.answer(m)
		result = map[string]any{"isError": status != http.StatusOK, "content": []any{map[string]any{"type": "text",
			"text": answer}}}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result})
}

func fieldError(operation, code, text string) (int, string) {
	return http.StatusBadRequest, fmt.Sprintf(`{"code":%q,"message":%q,"operation":%q,"recoverable":true,"suggested_action":null}`, code, text, operation)
}

// answer answers a message.
func (f *testField) answer(m message) (int, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, m)
	if f.refuse != nil {
		if status, body := f.refuse(m.Operation); status != 0 {
			return status, body
		}
	}
	if m.Protocol != "akashik" || m.Version != "0.1.0" || m.ID == "" || m.AgentID == "" ||
		m.Epoch != math.Trunc(m.Epoch) || m.Epoch < 0 {
		return fieldError(m.Operation, "INVALID_TYPE", "that is no envelope")
	}
	if m.Operation != "REGISTER" && !f.agents[m.AgentID] {
		return fieldError(m.Operation, "AGENT_NOT_REGISTERED", "register first")
	}
	f.epoch = max(f.epoch, int64(m.Epoch)) + 1
	var p struct {
		ID, Action, Mode, Type, Content string
		Intent                          struct{ Purpose string }
		Confidence                      *struct{ Score float64 }
		Scope                           struct {
			Role     string
			MaxUnits int `json:"max_units"`
		}
		Since        *float64 `json:"since_epoch"`
		Subscription struct {
			ID     *string
			Events []string
			Least  *float64 `json:"min_relevance"`
		}
	}
	if err := json.Unmarshal(m.Payload, &p); err != nil {
		return fieldError(m.Operation, "INVALID_TYPE", err.Error())
	}
	var answer any
	switch m.Operation {
	case "REGISTER":
		if f.agents[p.ID] {
			return fieldError(m.Operation, "AGENT_ID_TAKEN", "there is one")
		}
		f.agents[p.ID] = true
		answer = map[string]any{"status": "registered", "agent": map[string]any{"id": p.ID},
			"field_capabilities": map[string]any{
				"conformance_level": f.level, "protocol_version": "0.1.0", "supported_operations": []string{"REGISTER",
					"RECORD", "ATTUNE", "SUBSCRIBE"}}}
	case "DEREGISTER":
		delete(f.agents, m.AgentID)
		answer = map[string]any{"status": "ok"}
	case "SUBSCRIBE":
		answer = f.subscribe(m.AgentID, p.Action, p.Subscription.ID, p.Subscription.Events, p.Subscription.Least)
	case "RECORD":
		switch {
		case p.Intent.Purpose == "":
			return fieldError(m.Operation, "MISSING_INTENT", "why?")
		case p.Mode != "committed" || p.Confidence == nil || p.Content == "":
			return fieldError(m.Operation, "MISSING_CONFIDENCE", "how sure?")
		}
		f.units = append(f.units, &unit{id: "mem-" + m.ID, kind: p.Type, content: p.Content, agent: m.AgentID,
			status: "active", epoch: f.epoch, at: time.Now()})
		answer = map[string]any{"status": "accepted", "memory_unit_id": "mem-" + m.ID, "epoch": f.epoch,
			"conflicts_detected": []string{}}
	case "ATTUNE":
		if p.Since != nil && (*p.Since < 0 || *p.Since != math.Trunc(*p.Since)) || p.Scope.Role == "" ||
			p.Scope.MaxUnits < 1 {
			return fieldError(m.Operation, "INVALID_TYPE", "that is no scope")
		}
		answer = f.attune(m.AgentID, p.Since, p.Scope.MaxUnits)
		close(f.attuned)
		f.attuned = make(chan struct{})
	default:
		return fieldError(m.Operation, "UNSUPPORTED_OPERATION", "not here")
	}
	if f.wrap {
		answer = map[string]any{"protocol": "akashik", "version": "0.1.0", "id": "a", "operation": m.Operation,
			"agent_id":   "field",
			"session_id": nil, "epoch": f.epoch, "payload": answer}
	}
	text, _ := json.Marshal(answer)
	return http.StatusOK, string(text)
}

func (f *testField) subscribe(agent, action string, id *string, events []string, least *float64) map[string]any {
	if action == "unsubscribe" {
		f.subs = slices.DeleteFunc(f.subs, func(s *testSubscription) bool {
			return id != nil && s.id == *id &&
				s.agent == agent
		})
		return map[string]any{"status": "ok"}
	}
	s := &testSubscription{id: fmt.Sprintf("sub-%d", f.epoch), agent: agent, events: events}
	if least != nil {
		s.least = *least
	}
	f.subs = append(f.subs, s)
	answer := map[string]any{"status": "ok", "subscription_id": s.id}
	switch {
	case f.level < 2:
	case f.pushHost != "":
		answer["push_url"] = "ws://" + f.pushHost + "/push"
	case f.stream:
		answer["stream_url"] = "/push"
	default:
		answer["push_url"] = "ws://127.0.0.1/push"
	}
	return answer
}

// attune returns the units of others that are current, the most relevant first.
func (f *testField) attune(agent string, since *float64, most int) map[string]any {
	var all []*unit
	for _, u := range f.units {
		after := since == nil || float64(u.epoch) > *since || f.inclusive && float64(u.epoch) == *since
		if after && u.agent != agent && u.status != "retracted" && u.status != "superseded" && u.status != "draft" {
			all = append(all, u)
		}
	}
	slices.SortStableFunc(all, func(a, b *unit) int { return cmp.Compare(b.relevance, a.relevance) })
	given := all[:min(len(all), most)]
	if f.cut > 0 {
		given = given[:min(len(given), f.cut)]
	}
	record := []any{}
	for _, u := range given {
		record = append(record, map[string]any{"relevance_score": u.relevance, "relevance_reason": "it is",
			"format": "full",
			"memory_unit": map[string]any{"id": u.id, "mode": "committed", "type": u.kind, "content": u.content,
				"status": u.status, "epoch": u.epoch,
				"intent": map[string]any{"purpose": u.purpose}, "relations": []any{},
				"source": map[string]any{"agent_id": u.agent, "agent_role": "researcher", "session_id": nil,
					"timestamp": u.at.UTC().Format(time.RFC3339)}}})
	}
	return map[string]any{"status": "ok", "record": record, "conflicts": append([]map[string]any{}, f.conflicts...),
		"epoch": f.epoch,
		"context_budget": map[string]any{"units_returned": len(given), "units_available": len(all), "tokens_used": nil,
			"tokens_budget": nil}}
}

// serveLink pushes what is sent until the link is cut.
func (f *testField) serveLink(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	link := make(chan string)
	send := func(text string) error {
		_, err := fmt.Fprintf(w, "event: akashik.notification\ndata: %s\n\n", text)
		http.NewResponseController(w).Flush()
		return err
	}
	if !f.stream {
		up := websocket.Upgrader{}
		socket, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer socket.Close()
		go func() {
			for _, _, err := socket.ReadMessage(); err == nil; _, _, err = socket.ReadMessage() {
			}
			cancel()
		}()
		send = func(text string) error { return socket.WriteMessage(websocket.TextMessage, []byte(text)) }
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
	}
	f.mu.Lock()
	f.links[link] = linkEnd{cancel, ctx.Done()}
	f.mu.Unlock()
	f.linked <- struct{}{}
	gone := false
	for !gone {
		select {
		case text := <-link:
			if gone = send(text) != nil; gone {
				cancel()
			}
		case <-ctx.Done():
			gone = true
		}
	}
	f.mu.Lock()
	delete(f.links, link)
	f.mu.Unlock()
}

// A fixture is a field that is followed, within a bubble of virtual time.
type fixture struct {
	t         *testing.T
	field     *testField
	producer  *producer.Producer
	transport *http.Transport
	log       strings.Builder
}

// newFixture serves a field at http://127.0.0.1 in a network within the process.
func newFixture(t *testing.T, f *testField) *fixture {
	network := memnet.Listen()
	server := &http.Server{Handler: f}
	go server.Serve(network)
	transport := &http.Transport{DialContext: network.Dial}
	t.Cleanup(func() {
		f.cutLinks()
		server.Close()
		transport.CloseIdleConnections()
	})
	return &fixture{t: t, field: f, producer: bridgetest.NewProducer(t), transport: transport}
}

// follow follows the field until the function that it returns is called, which closes the bridge
// and returns what Follow did.
func (x *fixture) follow(cfg akashik.Config) (stop func() error) {
	x.t.Helper()
	cfg.URL = cmp.Or(cfg.URL, "http://127.0.0.1")
	cfg.Name = "Lab"
	cfg.Logger = slog.New(slog.NewTextHandler(&x.log, nil))
	b, err := akashik.NewOver(x.producer, cfg, x.transport)
	if err != nil {
		x.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Follow(ctx) }()
	return func() error {
		cancel()
		err := <-done
		if err := b.Close(); err != nil {
			x.t.Error(err)
		}
		return err
	}
}
