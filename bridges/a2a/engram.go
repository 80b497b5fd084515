package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// EngramURI names the extension of A2A by which an agent's records are followed.
const EngramURI = "https://github.com/EmberAGI/a2a-engram/tree/v0.1"

// ErrNoRecords is returned by FollowRecords where the agent's card does not name EngramURI.
var ErrNoRecords = errors.New("a2a: the agent does not offer its records: its card does not name " + EngramURI)

// RecordConfig says which of an agent's records are followed, and how.
type RecordConfig struct {
	// Prefix is how the keys of the records begin. Empty is all of them.
	Prefix string
	// Approval is a JSON pointer, such as /approval: where a record has "pending" there, the user
	// is asked, and "approved" or "rejected" is written there, unless the record has changed
	// meanwhile. Empty asks nothing.
	Approval string
	// Window is how long what follows a change is gathered and told together. Zero is 2 seconds.
	Window time.Duration
}

const (
	maxRecords    = 10_000
	mostApprovals = 16 // that wait to be asked
)

type engramEvent struct {
	Kind     string                  `json:"kind"`
	Key      engramKey               `json:"key"`
	Record   *engramRecord           `json:"record"`
	Patch    []bridge.PatchOperation `json:"patch"`
	Version  int64                   `json:"version"`
	Sequence string                  `json:"sequence"`
}

type engramKey struct {
	Key    string            `json:"key"`
	Labels map[string]string `json:"labels,omitzero"`
}

type engramRecord struct {
	Key     engramKey      `json:"key"`
	Value   jsontext.Value `json:"value"`
	Version int64          `json:"version"`
}

// A record is what is known of one.
type record struct {
	value   any
	version int64
	gone    bool
}

// records follow an agent's records. They belong to the goroutine of FollowRecords.
type records struct {
	agent    *Agent
	cfg      RecordConfig
	s        *producer.Session
	taskID   string
	all      map[string]*record
	sequence string // the last that was applied
	lastKey  string // of the record that it belongs to
	perKey   bool   // sequences rise for each key alone, and say nothing of the whole
	first    bool   // the snapshots of the beginning are not told yet
	full     bool   // that there are too many records was told
	garbled  bool   // that something cannot be read was told
	fresh    []string
	changes  []string // sentences that wait for the window to end
	changed  map[string]bool
	open     bool // a window is open
	timer    *time.Timer
	waiting  []string // keys whose approval is to be asked
	asking   string   // the key that is asked about
	withdraw context.CancelFunc
	answers  chan approval
	problem  error
}

type approval struct {
	key     string
	version int64
	done    func(error) // tells what came of it
	err     error
}

// FollowRecords follows the records that an agent keeps, by the extension Engram, as one session of
// p: first the records that there are, then each change. It returns when ctx ends, the agent
// cancels it, or the agent has not answered for ten minutes. A cut link is resumed and an expired
// subscription renewed; only cuts are announced.
func (a *Agent) FollowRecords(ctx context.Context, p *producer.Producer, cfg RecordConfig) error {
	if !slices.ContainsFunc(a.card.Capabilities.Extensions, func(e extension) bool { return e.URI == EngramURI }) {
		return ErrNoRecords
	}
	summary := "Following the records."
	if cfg.Prefix != "" {
		summary = "Following the records under " + words.Sentence(toolwords.Label(cfg.Prefix))
	}
	s, err := p.StartSession(context.WithoutCancel(ctx), bridge.Ours(summary))
	if err != nil {
		return err
	}
	defer s.Close()
	cfg.Window = cmp.Or(cfg.Window, 2*time.Second)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &records{agent: a, cfg: cfg, s: s, all: map[string]*record{}, changed: map[string]bool{}, first: true,
		timer: time.NewTimer(cfg.Window), answers: make(chan approval, 1)}
	r.timer.Stop()
	r.enterIdle()
	err = r.keepFollowing(ctx)
	if r.asking != "" {
		r.withdraw()
		<-r.answers
	}
	r.flushChanges()
	switch {
	case ctx.Err() != nil:
		s.Cancel(aaep.CancelledBySystem, bridge.Ours("The records are no longer followed."))
		return ctx.Err()
	case errors.Is(err, errCanceled):
		s.Cancel(aaep.CancelledByUser, bridge.Ours("The agent ended the following of its records, as it was asked."))
		return err
	}
	s.Fail(err, bridge.Ours(words.Sentence(upperFirst(toolwords.Label(err.Error())))))
	return fmt.Errorf("a2a: %w", err)
}

// keepFollowing subscribes to the agent's records, follows, and begins again where it was cut,
// until ctx ends, the agent ended the subscription, or there was no news for giveUp. The error says
// which. It runs on the goroutine that owns r.
func (r *records) keepFollowing(ctx context.Context) error {
	retry, lastNews, away := bridge.FirstRetry, time.Now(), false
	for {
		before, isNew := r.sequence, r.taskID == ""
		err := r.ensureSubscription(ctx)
		if err == nil {
			err = r.followStream(ctx, !isNew)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errCanceled):
			return err
		case r.sequence != before:
			retry, lastNews, away = bridge.FirstRetry, time.Now(), false
		}
		if err == nil && r.taskID == "" { // it ended by its limits, or cannot say what was missed
			continue
		}
		if time.Since(lastNews) > giveUp {
			return fmt.Errorf("the agent's records cannot be followed: %w", cmp.Or(err, r.problem))
		}
		if err != nil && !away {
			away = true
			r.announceNote("The link to the records was cut; it is tried again.")
		}
		if err := r.pauseFollowing(ctx, retry); err != nil {
			return err
		}
		retry = min(2*retry, bridge.LastRetry)
	}
}

// pauseFollowing waits for d, and handles the user's answers and the window meanwhile. The error is
// that of ctx.
func (r *records) pauseFollowing(ctx context.Context, d time.Duration) error {
	until := time.NewTimer(d)
	defer until.Stop()
	for {
		select {
		case <-until.C:
			return nil
		case <-r.timer.C:
			r.flushChanges()
		case a := <-r.answers:
			r.writeAnswer(ctx, a)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ensureSubscription has the agent make a subscription where there is none, which goes on after
// what was applied. The error is the agent's, or that its answer names none.
func (r *records) ensureSubscription(ctx context.Context) error {
	if r.taskID != "" {
		return nil
	}
	params := struct {
		Filter struct {
			KeyPrefix string `json:"keyPrefix,omitzero"`
		} `json:"filter"`
		Snapshot bool   `json:"includeSnapshot"`
		From     string `json:"fromSequence,omitzero"`
	}{Snapshot: r.sequence == "" || r.perKey}
	params.Filter.KeyPrefix = r.cfg.Prefix
	if !params.Snapshot {
		params.From = r.sequence
	}
	value, err := r.agent.callMethod(ctx, "engram/subscribe", params)
	if err != nil {
		return err
	}
	var created struct {
		TaskID string `json:"taskId"`
	}
	if bridge.Decode(value, &created) != nil || created.TaskID == "" {
		return errors.New("the agent's answer names no subscription")
	}
	r.taskID = created.TaskID
	return nil
}

// followStream applies what comes on the stream of the subscription until it ends. No error and no
// task says that another subscription is needed: this one ended by its limits, or it was taken up
// again and its history does not reach back to what was applied last.
func (r *records) followStream(ctx context.Context, reattached bool) error {
	s := r.agent.openStream(ctx, "SubscribeToTask", taskParams{r.taskID})
	defer s.cancel()
	for {
		select {
		case u, ok := <-s.updates:
			if ok && reattached && !r.reachesLast(u) {
				r.agent.callMethod(ctx, "CancelTask", taskParams{r.taskID}) // else it ends when it is idle
				r.taskID = ""
				return nil
			}
			reattached = false
			if !ok {
				if code := codeOf(s.err); code == codeNotFound || code == codeUnsupported { // it is over
					r.taskID = ""
				}
				return cmp.Or(s.err, errors.New("the stream ended"))
			}
			if isOver, err := r.takeUpdate(ctx, u); isOver {
				r.taskID = ""
				return err
			}
		case <-r.timer.C:
			r.flushChanges()
		case a := <-r.answers:
			r.writeAnswer(ctx, a)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reachesLast reports whether an update, the first of a stream that was taken up again, has the
// event that was applied last, so that all which followed is there, too.
func (r *records) reachesLast(u update) bool {
	if u.Task == nil || u.Task.ID != r.taskID {
		return false
	}
	for _, a := range u.Task.Artifacts {
		for e := range eventsIn(a.Parts) {
			if e.Sequence == r.sequence && e.Key.Key == r.lastKey {
				return true
			}
		}
	}
	return u.Task.Status.stateName() == completed // the next subscription has the rest
}

// takeUpdate applies an update, and reports whether the subscription is over; err says why, where
// that is an error. One that cannot be read is announced once. The goroutine that owns r calls it.
func (r *records) takeUpdate(ctx context.Context, u update) (over bool, err error) {
	var status taskStatus
	switch {
	case u.Unreadable:
		if !r.garbled {
			r.garbled = true
			r.announceNote("The agent sent something that cannot be read. A change of a record may be missing.")
		}
	case u.Task != nil && u.Task.ID == r.taskID:
		for _, a := range u.Task.Artifacts {
			r.applyAll(ctx, a.Parts)
		}
		status = u.Task.Status
	case u.Artifact != nil && u.Artifact.TaskID == r.taskID:
		r.applyAll(ctx, u.Artifact.Artifact.Parts)
	case u.Status != nil && u.Status.TaskID == r.taskID:
		status = u.Status.Status
	}
	r.announceUpdate()
	switch status.stateName() {
	case completed:
		return true, nil
	case canceled:
		return true, errCanceled
	case failed, rejected:
		return true, fmt.Errorf("the agent ended it: %s",
			cmp.Or(toolwords.Label(status.messageText()), status.stateName()))
	}
	return false, nil
}

// applyAll applies the events in the parts of an artifact.
func (r *records) applyAll(ctx context.Context, parts []part) {
	for e := range eventsIn(parts) {
		r.applyEvent(ctx, e)
	}
}

// eventsIn yields the events in the parts of an artifact, in their order. A part that holds none,
// or cannot be read, is passed over.
func eventsIn(parts []part) iter.Seq[*engramEvent] {
	return func(yield func(*engramEvent) bool) {
		for _, p := range parts {
			var data struct {
				Type  string      `json:"type"`
				Event engramEvent `json:"event"`
			}
			if p.Data == nil || bridge.Decode(p.Data, &data) != nil || data.Type != "engram/event" {
				continue
			}
			if !yield(&data.Event) {
				return
			}
		}
	}
}

// applyEvent applies an event, once and in the order of its versions; one that is outside
// Config.Prefix, or older than what is known, is left out. A change that does not fit what is known
// has the record read anew. Beyond maxRecords records, new ones are left out, and that is said
// once. A sequence that goes back shows that each key has its own, so that no later subscription
// can go on after one of them.
func (r *records) applyEvent(ctx context.Context, e *engramEvent) {
	key := e.Key.Key
	if !strings.HasPrefix(key, r.cfg.Prefix) || e.Version < 0 {
		return
	}
	have := r.all[key]
	if have != nil && e.Version <= have.version {
		return
	}
	if have == nil && len(r.all) >= maxRecords {
		if !r.full {
			r.full = true
			r.addChange(key, "There are more than "+words.Count(maxRecords, "record")+
				". What becomes of the others is not told.")
		}
		return
	}
	if e.Sequence != "" {
		if r.sequence != "" && isBefore(e.Sequence, r.sequence) {
			r.perKey = true
		}
		r.sequence, r.lastKey = e.Sequence, key
	}
	if e.Kind != "snapshot" {
		r.announceList()
	}
	var now any
	switch {
	case e.Kind == "snapshot" && e.Record != nil:
		if bridge.Decode(e.Record.Value, &now) != nil {
			return
		}
		r.setRecord(key, now, e.Version)
	case e.Kind == "delete":
		r.all[key] = &record{version: e.Version, gone: true}
		r.addChange(key, r.spokenName(key)+" was removed.")
	case e.Kind == "delta":
		var err error = errors.New("the record is not known")
		if have != nil && !have.gone && e.Version == have.version+1 {
			now, err = bridge.ApplyPatch(have.value, e.Patch)
		}
		if err != nil {
			r.rereadRecord(ctx, key, e.Version)
			return
		}
		r.setRecord(key, now, e.Version)
	}
}

// isBefore reports whether a sequence is before another: shorter numbers are, whatever zeros they
// begin with.
func isBefore(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return len(a) < len(b) || len(a) == len(b) && a < b
}

// spokenName is how a sentence names a record.
func (r *records) spokenName(key string) string {
	return cmp.Or(toolwords.Label(strings.TrimPrefix(key, r.cfg.Prefix)), "A record")
}

// setRecord stores the new value of a record and queues a sentence about what changed, if anything
// did; what the first snapshots hold is only counted. A question about its old value is withdrawn,
// and one is queued where the new value waits for approval, for mostApprovals records at once.
func (r *records) setRecord(key string, now any, version int64) {
	have := r.all[key]
	r.all[key] = &record{value: now, version: version}
	switch {
	case r.first:
		r.fresh = append(r.fresh, key)
	case have == nil || have.gone:
		r.addChange(key, r.spokenName(key)+" is new: "+words.Sentence(bridge.DescribeValue(now)))
	default:
		if changes := bridge.Changes(have.value, now); len(changes) > 0 {
			r.addChange(key, r.spokenName(key)+": "+words.Sentence(bridge.List(changes)))
		}
	}
	if r.asking == key { // what was asked about is no longer so
		r.withdraw()
	}
	if r.isPending(key) && !slices.Contains(r.waiting, key) && len(r.waiting) < mostApprovals {
		r.waiting = append(r.waiting, key)
	}
}

// isPending reports whether a record waits for the user's approval, by the member at
// Config.Approval; false for one that is not known or gone.
func (r *records) isPending(key string) bool {
	have := r.all[key]
	if r.cfg.Approval == "" || have == nil || have.gone {
		return false
	}
	state, _ := bridge.At(have.value, r.cfg.Approval)
	return state == "pending"
}

// rereadRecord takes over a record as the agent has it now, of the given version or later. Where it
// cannot be had, that is announced, and it counts as gone.
func (r *records) rereadRecord(ctx context.Context, key string, version int64) {
	value, err := r.agent.callMethod(ctx, "engram/get", map[string]any{"key": engramKey{Key: key}})
	var got struct {
		Records []engramRecord `json:"records"`
	}
	if err == nil {
		err = bridge.Decode(value, &got)
	}
	var now any
	if err != nil || len(got.Records) != 1 || got.Records[0].Key.Key != key ||
		bridge.Decode(got.Records[0].Value, &now) != nil {
		r.problem = err
		r.addChange(key, "What became of "+r.spokenName(key)+" cannot be told.")
		r.all[key] = &record{version: version, gone: true}
		return
	}
	r.setRecord(key, now, got.Records[0].Version)
}

// addChange gathers a sentence.
func (r *records) addChange(key, text string) {
	r.changes = append(r.changes, text)
	r.changed[key] = true
}

// announceUpdate announces what an update of the agent changed, at once or when the window ends,
// and asks the next question.
func (r *records) announceUpdate() {
	switch {
	case r.open:
	case r.first && len(r.fresh) > 0: // more of them may come
		r.openWindow()
	default:
		r.flushChanges()
	}
	r.askNext()
}

// openWindow has what follows gathered and told together.
func (r *records) openWindow() {
	r.open = true
	r.timer.Reset(r.cfg.Window)
}

// announceList announces, in one sentence, the names of the records that were there at first. Later
// calls, and one without such records, do nothing.
func (r *records) announceList() {
	if len(r.fresh) == 0 {
		return
	}
	var names []string
	for _, key := range r.fresh {
		names = append(names, r.spokenName(key))
	}
	r.first, r.fresh = false, nil
	r.announceResult(words.Count(len(names), "record") + ": " + words.Sentence(bridge.List(names)))
}

const mostChanges = 5 // that are told one by one

// flushChanges announces the changes that were gathered, many of them as a number and the newest,
// and opens the next window where there were any.
func (r *records) flushChanges() {
	r.open = false
	r.announceList()
	if len(r.changes) == 0 {
		return
	}
	if len(r.changes) <= mostChanges {
		r.announceResult(strings.Join(r.changes, " "))
	} else {
		r.announceResult(fmt.Sprintf("%s of %s, the newest: %s", words.Count(len(r.changes), "change"),
			words.Count(len(r.changed), "record"), r.changes[len(r.changes)-1]))
	}
	r.changes = nil
	clear(r.changed)
	r.openWindow()
}

// announceResult emits a sentence as an output of its own, which later news does not replace.
func (r *records) announceResult(text string) {
	bridge.AnnounceResult(r.s, text)
	r.enterIdle()
}

// enterIdle says that nothing is under way until the next change: a session else counts as
// thinking.
func (r *records) enterIdle() {
	r.s.State(aaep.StateIdle, bridge.Ours("Waiting for the next change."))
}

// announceNote announces a sentence that is of no record, such as that the agent is out of reach.
// The session then waits for the next change again.
func (r *records) announceNote(text string) {
	bridge.AnnounceNotice(r.s, text)
	r.enterIdle()
}

// askNext asks for the next approval that still waits, one at a time, on a goroutine of its own,
// which sends the answer to r.answers. The goroutine that owns r calls it.
func (r *records) askNext() {
	for r.asking == "" && len(r.waiting) > 0 {
		key := r.waiting[0]
		r.waiting = r.waiting[1:]
		if !r.isPending(key) {
			continue
		}
		have := r.all[key]
		ctx, cancel := context.WithCancel(r.s.Context())
		r.asking, r.withdraw = key, cancel
		tool := producer.Tool{Name: "approve", Title: "approve", Confirm: true, Risk: aaep.RiskMedium,
			Timeout: r.agent.cfg.AnswerTime,
			Action:  aaep.Say(r.agent.spokenName() + " asks you to approve " + words.Sentence(r.spokenName(key))),
			Consequence: aaep.Say(words.Fit("The record says: "+words.Sentence(bridge.DescribeValue(have.value)),
				mostAsked))}
		version := have.version
		go func() {
			_, done, err := r.s.Confirm(ctx, tool)
			r.answers <- approval{key, version, done, err}
		}()
	}
}

var errChanged = errors.New("a2a: the record has changed")

// writeAnswer writes the user's answer into the record, unless the record has changed since they
// were asked. It announces what came of it, and asks for the next approval. A question that was
// withdrawn or not answered writes nothing. The goroutine that owns r calls it.
func (r *records) writeAnswer(ctx context.Context, a approval) {
	r.withdraw()
	r.asking = ""
	defer func() {
		r.enterIdle()
		r.askNext()
	}()
	now := "approved"
	switch {
	case errors.Is(a.err, producer.ErrRejected):
		now = "rejected"
	case a.err != nil:
		return
	}
	name := r.spokenName(a.key)
	if have := r.all[a.key]; have == nil || have.gone || have.version != a.version {
		a.done(errChanged)
		r.announceNote(name + " has changed since you were asked. Nothing was written.")
		return
	}
	params := map[string]any{"key": engramKey{Key: a.key}, "expectedVersion": a.version,
		"patch": []map[string]any{{"op": "replace", "path": r.cfg.Approval, "value": now}}}
	_, err := r.agent.callMethod(ctx, "engram/patch", params)
	if a.done(err); err != nil {
		r.announceNote("Your answer about " + name + " was not written: " + words.Sentence(toolwords.Label(err.Error())))
		return
	}
	r.announceNote(words.Sentence(name + " is " + now))
}
