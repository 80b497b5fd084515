package akashik

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
)

const (
	pushPoll   = time.Minute // between two looks at a field that pushes
	firstUnits = 100         // that are asked for at once; twice as many where there are more
	mostUnits  = 1 << 14
	leaveTime  = 2 * time.Second
	mostLeft   = 8 // subscriptions that could not be ended and are to be ended later
)

// A place is how far a field was told, and what it knows of this listener.
type place struct {
	Agent         string   `json:"agent"`
	Registered    bool     `json:"registered"`
	Known         bool     `json:"known"` // Epoch is
	Epoch         int64    `json:"epoch"`
	Last          []string `json:"last"` // what may come again with the next answer, although it was told
	Subscriptions []string `json:"subscriptions"`
}

// movePlace changes the place, and writes it. A file that is behind has news come again, which are
// known by their names.
func (b *Bridge) movePlace(change func(*place)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.place)
	if err := bridge.WriteState(bridge.PlacesFile(b.cfg.Seen), b.place); err != nil {
		b.cfg.Logger.Error("akashik: how far the field was told is not remembered across a restart", "error", err)
	}
}

// placeNow returns the place.
func (b *Bridge) placeNow() place {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.place
}

// Follow announces the news of the field until ctx ends. A cut link is connected again after a
// minute at most; cuts and returns are announced. The error is ctx's, or says why the field could
// not be followed at first.
func (b *Bridge) Follow(ctx context.Context) error {
	links, err := b.connectField(ctx)
	if ctx.Err() != nil {
		closeLinks(links)
		return ctx.Err()
	}
	if err != nil {
		if b.placeNow().Registered {
			b.leaveField(ctx)
		}
		return fmt.Errorf("akashik: the field at %s cannot be followed: %w", toolwords.Label(b.cfg.URL), err)
	}
	defer func() { b.leaveField(context.WithoutCancel(ctx)) }()
	back := func() string {
		if len(links) > 0 {
			return " What was recorded meanwhile follows; what else happened is not known."
		}
		return " What was recorded meanwhile follows."
	}
	link := bridge.Link{
		Peer:    "field",
		Connect: func(ctx context.Context) (err error) { links, err = b.connectField(ctx); return err },
		Attend:  func(ctx context.Context) error { return b.attendLinks(ctx, links) },
		Note:    b.announceNote,
		Back:    back,
		Holds:   " What happened meanwhile, but for records, is not known.",
		Logger:  b.cfg.Logger,
	}
	return link.Keep(ctx)
}

// connectField registers at the field, looks whether it can be asked, subscribes where it pushes,
// and sets b.about to how it is followed. It returns the links on which the field pushes; none if
// it pushes nothing. The error says why it cannot be followed.
func (b *Bridge) connectField(ctx context.Context) (links []*link, err error) {
	if b.cfg.MCP {
		tools, err := bridge.DialMCP(ctx, bridge.MCPServer{URL: b.cfg.URL, Token: b.cfg.Token, Peer: "field",
			Transport: b.f.http.Transport})
		if err != nil {
			return nil, err
		}
		b.f.useTools(tools)
	}
	level, err := b.registerAgent(ctx)
	if err != nil {
		return nil, err
	}
	since := int64(wholeField)
	if place := b.placeNow(); place.Known {
		since = place.Epoch
	}
	if _, err := b.fetchRecords(ctx, since, 1); err != nil {
		return nil, err
	}
	if !b.cfg.MCP && level != 0 && level != 1 { // where the level is not known, it may push
		links, err = b.subscribeAll(ctx)
	}
	manner := "It pushes its news."
	if len(links) == 0 {
		manner = "It is asked every " + words.Spoken(b.cfg.Poll) +
			"; tasks, agents, and that a conflict was settled cannot be heard so."
	}
	b.mu.Lock()
	b.about = manner
	b.mu.Unlock()
	return links, err
}

const unknownLevel = -1

// registerAgent registers this listener, and returns the level of the field, or unknownLevel. An id
// that is taken is that of this listener before it was cut off, if it was registered then; else it
// is an error, as is a refusal or another version of the protocol.
func (b *Bridge) registerAgent(ctx context.Context) (level int64, err error) {
	needed := []string{"ATTUNE"}
	if b.cfg.Record {
		needed = append(needed, "RECORD")
	}
	var answer struct {
		Status       string `json:"status"`
		Reason       string `json:"rejection_reason"`
		Capabilities struct {
			Level   *int64 `json:"conformance_level"`
			Version string `json:"protocol_version"`
		} `json:"field_capabilities"`
	}
	params := map[string]any{"id": b.f.agent, "role": b.cfg.Role, "interests": append([]string{}, b.cfg.Interests...),
		"required_operations": needed}
	err = b.f.callOperation(ctx, "REGISTER", "", params, &answer)
	switch {
	case codeOf(err) == codeTaken && b.placeNow().Registered:
		return unknownLevel, nil
	case codeOf(err) == codeTaken:
		return 0, fmt.Errorf("there is an agent with the id %s already; give this listener another",
			toolwords.Label(b.f.agent))
	case err != nil:
		return 0, err
	case answer.Status == "rejected":
		return 0, fmt.Errorf("it does not take this listener: %s",
			cmp.Or(toolwords.Label(answer.Reason), "it does not say why"))
	case answer.Status != "registered":
		return 0, bridge.ErrUnreadable
	case answer.Capabilities.Version != "" && answer.Capabilities.Version != protocolVersion:
		return 0, fmt.Errorf("it speaks version %s, want %s", toolwords.Label(answer.Capabilities.Version),
			protocolVersion)
	}
	b.movePlace(func(p *place) { p.Registered = true })
	if answer.Capabilities.Level == nil {
		return unknownLevel, nil
	}
	return *answer.Capabilities.Level, nil
}

// terms are those of a subscription to the field.
type terms struct {
	ID       *string  `json:"id"`
	Events   []string `json:"events"`
	Least    *float64 `json:"min_relevance"`
	Debounce *int64   `json:"debounce_ms"`
}

// subscribeAll makes subscriptions in place of those that were, and opens the links on which the
// field pushes; none if it does not push. Events that are handed over have a subscription of their
// own where the other is limited to what is relevant. After an error, no link is left open.
func (b *Bridge) subscribeAll(ctx context.Context) (links []*link, err error) {
	b.unsubscribeAll(ctx)
	defer func() {
		if err != nil {
			closeLinks(links)
			links = nil
		}
	}()
	var addresses []string
	for _, w := range b.cfg.subscriptionTerms() {
		address, pushes, err := b.subscribe(ctx, w)
		if err != nil || !pushes {
			return links, err
		}
		if address == "" || slices.Contains(addresses, address) {
			continue
		}
		addresses = append(addresses, address)
		pushURL, err := b.f.pushAddress(address)
		if err != nil {
			return links, err
		}
		l, err := b.f.openLink(ctx, pushURL)
		if err != nil {
			return links, err
		}
		links = append(links, l)
	}
	return links, nil
}

// subscriptionTerms returns the terms of the subscriptions that are wanted. Where one is limited to
// what is relevant, events that are handed over have one of their own, without that limit.
func (cfg Config) subscriptionTerms() (wanted []terms) {
	limited, unlimited := cfg.Events, []string(nil)
	if cfg.MinRelevance > 0 {
		isHandedOver := func(name string) bool { return name == handoffIncoming }
		limited = slices.DeleteFunc(slices.Clone(cfg.Events), isHandedOver)
		if len(limited) < len(cfg.Events) {
			unlimited = []string{handoffIncoming}
		}
	}
	if len(limited) > 0 {
		w := terms{Events: limited}
		if cfg.MinRelevance > 0 {
			w.Least = &cfg.MinRelevance
		}
		wanted = append(wanted, w)
	}
	if len(unlimited) > 0 {
		wanted = append(wanted, terms{Events: unlimited})
	}
	if cfg.Debounce > 0 {
		for i := range wanted {
			wanted[i].Debounce = new(cfg.Debounce.Milliseconds())
		}
	}
	return wanted
}

// subscribe makes one subscription, and returns the address on which the field pushes, or "". It
// reports false, without an error, if the field makes no subscriptions at all.
func (b *Bridge) subscribe(ctx context.Context, w terms) (address string, pushes bool, err error) {
	var answer struct {
		Status string `json:"status"`
		ID     string `json:"subscription_id"`
		Push   string `json:"push_url"`
		Stream string `json:"stream_url"`
	}
	err = b.f.callOperation(ctx, "SUBSCRIBE", "", map[string]any{"action": "subscribe", "subscription": w}, &answer)
	var status *bridge.StatusError
	withoutMethod := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
	hasNoMethod := errors.As(err, &status) && slices.Contains(withoutMethod, status.Code)
	if hasNoMethod || codeOf(err) == codeUnsupported {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if answer.Status != "ok" || answer.ID == "" {
		return "", false, errors.New("the field made no subscription, and does not say why")
	}
	b.movePlace(func(p *place) { p.Subscriptions = append(p.Subscriptions, answer.ID) })
	return cmp.Or(answer.Push, answer.Stream), true, nil
}

// unsubscribeAll ends the subscriptions that the place remembers, as far as the field can be
// reached, and remembers those that could not be ended, the newest mostLeft of them.
func (b *Bridge) unsubscribeAll(ctx context.Context) {
	var left []string
	for _, id := range b.placeNow().Subscriptions {
		var answer struct{}
		var refused *fieldError
		err := b.f.callOperation(ctx, "SUBSCRIBE", "", map[string]any{"action": "unsubscribe",
			"subscription": map[string]any{"id": id}}, &answer)
		if err != nil {
			b.cfg.Logger.Warn("akashik: a subscription could not be ended", "subscription", id, "error", err)
			if !errors.As(err, &refused) {
				left = append(left, id)
			}
		}
	}
	b.movePlace(func(p *place) { p.Subscriptions = left[max(0, len(left)-mostLeft):] })
}

// leaveField ends the subscriptions and deregisters this listener at the field, within leaveTime.
// Where the field cannot be reached, that is logged.
func (b *Bridge) leaveField(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	b.unsubscribeAll(ctx)
	var answer struct{}
	if err := b.f.callOperation(ctx, "DEREGISTER", "", map[string]string{"agent_id": b.f.agent}, &answer); err != nil {
		b.cfg.Logger.Warn("akashik: the field does not know that this listener is gone", "error", err)
		return
	}
	b.movePlace(func(p *place) { p.Registered = false })
}

// attendLinks takes what was missed, and then what is pushed, and asks for the rest every
// Config.Poll, or every pushPoll where the field pushes, until a link ends, the field refuses, or
// ctx ends. The error says which. It returns when its reading goroutines have ended.
func (b *Bridge) attendLinks(ctx context.Context, links []*link) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(links))
	var reading sync.WaitGroup
	for _, l := range links {
		reading.Go(func() { ended <- l.readPushes(ctx, b.takePushed) })
	}
	defer reading.Wait()
	defer cancel()
	period := b.cfg.Poll
	if len(links) > 0 {
		period = max(period, pushPoll)
	}
	due := time.NewTicker(period)
	defer due.Stop()
	for {
		if err := b.catchUp(ctx); err != nil {
			return err
		}
		select {
		case err := <-ended:
			return err
		case <-due.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// takePushed announces a notification that the field pushes. One of an ended subscription is
// dropped; one that cannot be read is logged, and said once. The goroutines of the links call it.
func (b *Bridge) takePushed(message []byte) {
	n, subscription, problem := decodeNotification(message)
	if n != nil && !slices.Contains(b.placeNow().Subscriptions, subscription) {
		return // that of a subscription that was ended, or of another
	}
	if problem != nil {
		b.cfg.Logger.Warn("akashik: " + problem.Error())
	}
	if n == nil {
		b.announceNoteOnce("The field sends what cannot be read, and is not told.")
		return
	}
	b.f.advanceClock(n.epoch)
	if err := b.takeNews([]*news{n}); err != nil {
		b.cfg.Logger.Warn("akashik: a notification was not told", "error", err)
	}
}

// A recordsAnswer is the answer to ATTUNE.
type recordsAnswer struct {
	Status string `json:"status"`
	Record []struct {
		Unit      memoryUnit     `json:"memory_unit"`
		Relevance jsontext.Value `json:"relevance_score"`
	} `json:"record"`
	Conflicts []conflict `json:"conflicts"`
	Budget    struct {
		Available jsontext.Value `json:"units_available"`
	} `json:"context_budget"`
	EpochText jsontext.Value `json:"epoch"`

	epoch     int64
	available int64
}

// wholeField is no epoch: what is asked for is all that there is.
const wholeField = -1

// fetchRecords asks the field, with ATTUNE, for at most so many records after an epoch, or
// wholeField, within what Config says is of interest. An answer without an epoch is
// bridge.ErrUnreadable.
func (b *Bridge) fetchRecords(ctx context.Context, since int64, most int) (*recordsAnswer, error) {
	scope := map[string]any{"role": b.cfg.Role, "max_units": most}
	if len(b.cfg.Interests) > 0 {
		scope["interests"] = b.cfg.Interests
	}
	if b.cfg.Task != "" {
		scope["active_task_id"] = b.cfg.Task
	}
	if b.cfg.MinRelevance > 0 {
		scope["relevance_threshold"] = b.cfg.MinRelevance
	}
	payload := map[string]any{"scope": scope, "format": "full"}
	if since != wholeField {
		payload["since_epoch"] = since
	}
	answer := &recordsAnswer{}
	if err := b.f.callOperation(ctx, "ATTUNE", "", payload, answer); err != nil {
		return nil, err
	}
	var ok bool
	if answer.epoch, ok = epochOf(answer.EpochText); !ok || answer.Status != "ok" {
		return nil, bridge.ErrUnreadable
	}
	answer.available, _ = epochOf(answer.Budget.Available)
	return answer, nil
}

// fetchAllRecords asks for all records after an epoch. A field returns the most relevant of those
// it has, so fetchRecords is called with twice the number until it returns all.
func (b *Bridge) fetchAllRecords(ctx context.Context, since int64) (*recordsAnswer, error) {
	for most := firstUnits; ; most *= 2 {
		answer, err := b.fetchRecords(ctx, since, most)
		if err != nil {
			return nil, err
		}
		received := int64(len(answer.Record))
		if received >= answer.available {
			return answer, nil
		}
		if received < int64(most) || most >= mostUnits { // asking for more brings no more
			b.cfg.Logger.Warn("akashik: the field keeps records back", "given", received, "available", answer.available)
			b.announceNoteOnce("The field gives less than it says that it holds. Some records may not be told.")
			return answer, nil
		}
	}
}

// catchUp announces what was recorded after the place up to which the field was announced. Without
// a place, what the field holds already is its past: it is counted, and only open conflicts are
// announced.
func (b *Bridge) catchUp(ctx context.Context) error {
	before := b.placeNow()
	if !before.Known {
		return b.findPlace(ctx)
	}
	answer, err := b.fetchAllRecords(ctx, before.Epoch)
	if err != nil {
		return err
	}
	if answer.epoch < before.Epoch {
		b.cfg.Logger.Warn("akashik: the field's epoch went back", "from", before.Epoch, "to", answer.epoch)
		b.announceNoteOnce("The field's clock went back, as if it was set up anew. All that it holds is looked at again; " +
			"what you heard may be told again.")
		if answer, err = b.fetchAllRecords(ctx, wholeField); err != nil {
			return err
		}
	}
	all := answer.listNews()
	fresh := slices.DeleteFunc(slices.Clone(all), func(n *news) bool {
		return slices.Contains(before.Last, n.repeatName())
	})
	if err := b.takeNews(fresh); err != nil {
		return err
	}
	b.advancePlace(answer, all)
	return nil
}

// findPlace sets the place of a field that was never followed to its head, and announces how much
// it holds and which conflicts are open.
func (b *Bridge) findPlace(ctx context.Context) error {
	head, err := b.fetchRecords(ctx, wholeField, 1)
	if err != nil {
		return err
	}
	answer, err := b.fetchAllRecords(ctx, head.epoch)
	if err != nil {
		return err
	}
	b.announceNote(fmt.Sprintf("It holds %s and %s.", words.Count(max(head.available, int64(len(head.Record))), "record"),
		words.Count(len(head.Conflicts), "open conflict")))
	all := answer.listNews()
	open := slices.DeleteFunc(slices.Clone(all), func(n *news) bool { return n.conflict == "" })
	if err := b.takeNews(open); err != nil {
		return err
	}
	answer.epoch = head.epoch
	b.advancePlace(answer, all)
	return nil
}

// listNews returns the news in an answer to ATTUNE, records and open conflicts, oldest first. What
// has no id is left out.
func (a *recordsAnswer) listNews() (all []*news) {
	for i := range a.Record {
		if u := &a.Record[i]; u.Unit.ID != "" {
			relevance, _ := relevanceOf(u.Relevance)
			all = append(all, newsOfUnit(&u.Unit, relevance))
		}
	}
	for i := range a.Conflicts {
		if c := &a.Conflicts[i]; c.ID != "" {
			all = append(all, newsOfConflict(c, a.epoch))
		}
	}
	slices.SortStableFunc(all, func(a, b *news) int { return cmp.Compare(a.epoch, b.epoch) })
	return all
}

// repeatName returns the name by which news are recognized when the next answer has them again.
func (n *news) repeatName() string {
	if n.wantAction {
		return strings.Join(n.actionName(), " ")
	}
	return strings.Join(n.name, " ")
}

// advancePlace moves the place to the epoch of an answer whose news were announced. A field may
// return records of that epoch again, and returns open conflicts each time; their names are kept so
// that they are known.
func (b *Bridge) advancePlace(answer *recordsAnswer, all []*news) {
	var last []string
	for _, n := range all {
		if n.conflict != "" || n.epoch >= answer.epoch {
			last = append(last, n.repeatName())
		}
	}
	slices.Sort(last)
	if before := b.placeNow(); before.Known && before.Epoch == answer.epoch && slices.Equal(before.Last, last) {
		return
	}
	b.movePlace(func(p *place) { p.Known, p.Epoch, p.Last = true, answer.epoch, last })
}
