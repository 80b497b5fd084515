package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Store is the log of an agent, for the process that is the agent. All its methods may be called at
// once, but see log.Store.
//
// One process at a time is an agent. Each writes under a subject of its own, and opening a log
// makes its stream take only that: from then on nothing that the process before still sends is
// kept. Besides, each message says after which one it comes, so that trying again never doubles
// anything.
type Store struct {
	streamReader
	subject  string
	run      string             // names this opening of the log
	revision uint64             // the sequence of the message that holds meta
	meta     []byte             // see SetMeta
	owner    *nats.Subscription // answers other processes that want to be this agent
	*sharedSubjects
}

const (
	seqHeader = jetstream.ExpectedLastSeqHeader
	byHeader  = "Aaep-By" // the run that wrote the message
	batchID   = "Nats-Batch-Id"
	batchSeq  = "Nats-Batch-Sequence"
	batchEnd  = "Nats-Batch-Commit"
	maxAtOnce = 256
	wrongSeq  = jetstream.JSErrCodeStreamWrongLastSequence
	// wrongSeqInFlight is wrongSeq where what is there has not been kept yet.
	wrongSeqInFlight = jetstream.JSErrCodeStreamWrongLastSequenceConstant
	minAge           = 100 * time.Millisecond // the shortest that JetStream knows
	whoseTime        = time.Second            // for the process that is the agent to answer
	noSequence       = 1 << 62                // a sequence that no stream reaches
)

// Open makes this process the agent of that name. The error is ErrInUse inside one that says who is
// it already, if that process answers; one that does not is taken over from, and can append nothing
// any more.
func (c *Cluster) Open(ctx context.Context, agent string) (_ *Store, err error) {
	if agent == "" {
		return nil, errors.New("the agent has no name")
	}
	if err := c.makeShared(ctx); err != nil {
		return nil, err
	}
	s := &Store{streamReader: streamReader{c: c, agent: agent, stream: agentStream + subjectToken(agent)},
		run: nats.NewInbox()[len("_INBOX."):]}
	s.subject = "aaep.e." + subjectToken(agent) + "." + s.run
	ownerSubject := "aaep.o." + subjectToken(agent)
	previous, err := s.streamInfo(ctx)
	if err == nil {
		// Only the process whose run the stream takes answers for it: one that was taken over from
		// may still be there.
		run := previous.Config.Subjects[0][strings.LastIndexByte(previous.Config.Subjects[0], '.')+1:]
		if owner, err := c.nc.RequestWithContext(withTimeout(ctx, whoseTime), ownerSubject, []byte(run)); err == nil {
			return nil, fmt.Errorf("%w: %s is %s; end that first, or take another name", ErrInUse, owner.Data, agent)
		}
	} else if errors.Is(err, ErrNoAgent) {
		err = nil
	}
	if err == nil {
		err = s.takeOver(ctx, previous)
	}
	if err == nil {
		err = s.answerAsOwner(ownerSubject)
	}
	if err == nil {
		err = s.takeMeta(ctx)
	}
	if err != nil {
		s.owner.Unsubscribe() // an error where there is none, which says nothing more
		return nil, c.explainError("cannot open the log of "+agent, err)
	}
	if _, end := s.Bounds(); previous == nil && end == 0 {
		s.meta = nil // what was read is of a stream that was removed: this is another log
	}
	s.sharedSubjects = newSharedSubjects(c, agent)
	return s, nil
}

// answerAsOwner answers other processes that want to be this agent, on the subject that they ask
// on, with which process it is. Open calls it; Close ends it.
func (s *Store) answerAsOwner(subject string) (err error) {
	host := strings.TrimSuffix(s.c.opts.Node, fmt.Sprintf(":%d", os.Getpid()))
	self := fmt.Sprintf("process %d on %s (%s, since %s)", os.Getpid(), host, filepath.Base(os.Args[0]),
		time.Now().Format("2006-01-02 15:04"))
	s.owner, err = s.c.nc.Subscribe(subject, func(m *nats.Msg) {
		if string(m.Data) == s.run || len(m.Data) == 0 { // an older version names no run
			m.Respond([]byte(self))
		}
	})
	return err
}

// takeMeta reads what the log keeps of itself, and writes it again, after which the previous
// process can change it no more. Where that was quicker it tries again, ten times in all. Open
// calls it.
func (s *Store) takeMeta(ctx context.Context) (err error) {
	for range 10 {
		if s.meta, s.revision, err = s.streamReader.readMeta(ctx); err == nil {
			err = s.SetMeta(s.meta)
		}
		if !errors.Is(err, ErrTakenOver) {
			return err
		}
	}
	return nil
}

// withTimeout returns a context that releases its timer by itself.
func withTimeout(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// takeOver makes the stream of the agent, or has the previous one take messages of this process
// only, and waits until all that the previous process had sent is in it. It sets the bounds.
// previous is nil if there is no stream.
func (s *Store) takeOver(ctx context.Context, previous *jetstream.StreamInfo) error {
	cfg := s.streamConfig(previous)
	if err := s.c.retryUntil(ctx, func(ctx context.Context) error {
		_, err := s.c.js.CreateOrUpdateStream(ctx, cfg)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process has just made it
			err = lastingError{ErrTakenOver}
		}
		return err
	}, s.stream); err != nil {
		return err
	}
	last, err := s.lastSequence(ctx)
	if err != nil {
		return err
	}
	if previous != nil { // its start, since Bounds must tell of what the new limits drop
		s.raiseTo(startOf(previous.State), previous.State.LastSeq)
	}
	for {
		asked := time.Now()
		info, err := s.streamInfo(ctx)
		if err == nil {
			err = checkClocks(asked, info.TimeStamp, time.Now())
		}
		if err != nil {
			return err
		}
		if info.State.LastSeq >= last {
			s.raiseTo(0, info.State.LastSeq)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// streamConfig returns the settings of the agent's stream for this process: those of the previous
// stream, which may be nil, with the subject of this process and the limits of the options.
func (s *Store) streamConfig(previous *jetstream.StreamInfo) jetstream.StreamConfig {
	limits := s.c.opts.Limits
	cfg := jetstream.StreamConfig{Name: s.stream, Replicas: s.c.opts.Replicas,
		Description: "The log of the AAEP agent " + s.agent + "."}
	if previous != nil {
		cfg = previous.Config
	}
	cfg.Subjects = []string{s.subject}
	if cfg.Metadata == nil {
		cfg.Metadata = map[string]string{}
	}
	cfg.Metadata[formatKey] = format
	cfg.RePublish = &jetstream.RePublish{Source: "aaep.e." + subjectToken(s.agent) + ".*", Destination: "aaep.l." +
		subjectToken(s.agent)}
	cfg.AllowDirect, cfg.AllowAtomicPublish = true, true
	cfg.MaxMsgs, cfg.MaxBytes, cfg.MaxAge = int64(limits.Events), limits.Bytes, max(limits.Age, minAge)
	if cfg.MaxMsgs == 1<<63-1 { // no limit, here and below
		cfg.MaxMsgs = -1
	}
	if cfg.MaxBytes == 1<<63-1 {
		cfg.MaxBytes = -1
	}
	if cfg.MaxAge == 1<<63-1 {
		cfg.MaxAge = 0
	}
	cfg.Duplicates, cfg.Discard = minAge, jetstream.DiscardOld // Append drops some of the oldest
	return cfg
}

// lastSequence returns the sequence of the last message that the stream has or is about to have. It
// publishes a message that the stream must refuse: that is refused in its turn, and the refusal
// names the last message before it.
func (s *Store) lastSequence(ctx context.Context) (last uint64, err error) {
	err = s.c.retryUntil(ctx, func(ctx context.Context) error {
		m := nats.NewMsg(s.subject)
		m.Header.Set(seqHeader, strconv.Itoa(noSequence))
		_, err := s.c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		var refused *jetstream.APIError
		if errors.As(err, &refused) && refused.ErrorCode != wrongSeq && !isPassing(err) {
			return err // such as one that was sealed
		}
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			if info, err := s.streamInfo(ctx); err == nil && !slices.Equal(info.Config.Subjects, []string{s.subject}) {
				return lastingError{ErrTakenOver}
			}
		}
		if refused == nil || refused.ErrorCode != wrongSeq {
			return fmt.Errorf("the stream was not refusing: %w", errors.Join(err, nats.ErrTimeout))
		}
		_, number, _ := strings.Cut(refused.Description, ": ")
		last, err = strconv.ParseUint(number, 10, 64)
		return err
	}, s.subject)
	return last, err
}

// maxClockSkew is by how much the clock of an agent may differ from the servers', which say when an
// answer was kept.
const maxClockSkew = 10 * time.Second

// checkClocks returns a lastingError if the clock of this machine and that of the servers differ by
// more than maxClockSkew. servers is what theirs showed between the moments asked and answered of
// this machine's.
func checkClocks(asked, servers, answered time.Time) error {
	skew, relation := asked.Sub(servers), "ahead of"
	if servers.After(answered) {
		skew, relation = servers.Sub(answered), "behind"
	}
	if skew <= maxClockSkew {
		return nil
	}
	return lastingError{
		fmt.Errorf(
			"the clock of this machine is %v %s that of the NATS servers, and more than %v: answers that came in "+
				"time would be taken for late, or late ones for good; set the clocks",
			skew.Round(time.Second), relation, maxClockSkew)}
}

// Close lets another process be this agent. It ends the subscriptions; the log stays.
func (s *Store) Close() error {
	s.sharedSubjects.unsubscribeAll()
	if s.owner == nil {
		return nil
	}
	return s.owner.Unsubscribe()
}

// Append is that of log.Store. It tries for as long as Options.Patience. ErrTakenOver says that
// another process is the agent now. No records ask how far the log is kept.
func (s *Store) Append(records [][]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.c.opts.Patience)
	defer cancel()
	if len(records) == 0 {
		if err := s.refreshBounds(ctx); err != nil && !isPassing(err) {
			return s.c.explainError("cannot look at the log of "+s.agent, err)
		}
		return nil
	}
	if len(records) > maxAtOnce {
		return fmt.Errorf("%d records are more than the %d that are kept at once", len(records), maxAtOnce)
	}
	for _, r := range records {
		if maxPayload := s.c.nc.MaxPayload(); int64(len(r)) > maxPayload-1024 { // headers count
			return fmt.Errorf("an event of %s has %d bytes, and the NATS servers take %d: set their max_payload to 8MB",
				s.agent, len(r), maxPayload)
		}
	}
	_, end := s.current()
	err := s.c.retryUntil(ctx, func(ctx context.Context) error {
		err := s.publishBatch(withTimeout(ctx, publishTime), records, end)
		if err != nil && !errors.Is(err, nats.ErrMaxPayload) {
			err = s.checkKept(ctx, records, end, err)
		}
		return err
	}, s.subject, s.stream)
	if errors.Is(err, ErrTakenOver) {
		s.sharedSubjects.unsubscribeAll() // messages to the agent are for the other process
	}
	if err != nil {
		return s.c.explainError("the log of "+s.agent+" cannot be written", err)
	}
	end += uint64(len(records))
	s.raiseTo(end-min(end, uint64(s.c.opts.Events)), end)
	return nil
}

// publishBatch publishes records as one batch, which the stream takes whole or not at all, and only
// right after the message at end. After an error it may have been taken: see checkKept.
func (s *Store) publishBatch(ctx context.Context, records [][]byte, end uint64) error {
	id := nats.NewInbox()[len("_INBOX."):]
	for i, r := range records {
		m := &nats.Msg{Subject: s.subject, Data: r, Header: nats.Header{}}
		m.Header.Set(byHeader, s.run)
		if i == 0 {
			m.Header.Set(seqHeader, strconv.FormatUint(end, 10))
		}
		if len(records) > 1 {
			m.Header.Set(batchID, id)
			m.Header.Set(batchSeq, strconv.Itoa(i+1))
		}
		if i < len(records)-1 {
			if err := s.c.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		if len(records) > 1 {
			m.Header.Set(batchEnd, "1")
		}
		ack, err := s.c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		if err == nil && ack.Sequence != end+uint64(len(records)) {
			err = lastingError{fmt.Errorf("event %d came as %d", end+uint64(len(records)), ack.Sequence)}
		}
		return err
	}
	return nil
}

// behindAfter is how long a server that should have a copy of the log may be silent.
const behindAfter = 10 * time.Second

// ServersBehind returns the names of the servers that should have a copy of the log and have none
// that is up to date, for they are down, cannot be heard, or keep nothing: one whose disk is full
// ends its JetStream. While so many are missing that none leads, the error says so.
func (s *Store) ServersBehind(ctx context.Context) (names []string, err error) {
	stream, err := s.c.streamInfo(ctx, s.stream)
	if err != nil {
		return nil, s.c.explainError("cannot look at the log of "+s.agent, err)
	}
	if cluster := stream.CachedInfo().Cluster; cluster != nil {
		for _, server := range cluster.Replicas {
			if server.Offline || !server.Current && server.Active > behindAfter {
				names = append(names, server.Name)
			}
		}
	}
	return names, nil
}

// checkKept finds out whether the stream has taken records after all, after publishing them behind
// end has failed with failure. Nil says that it has; a passing error, such as failure, that they
// may be published again; a lastingError that another process has taken over.
func (s *Store) checkKept(ctx context.Context, records [][]byte, end uint64, failure error) error {
	info, err := s.streamInfo(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Equal(info.Config.Subjects, []string{s.subject}):
		return lastingError{ErrTakenOver}
	case info.State.LastSeq <= end: // a new leader may not see all of it yet
		var refused *jetstream.APIError
		if errors.As(failure, &refused) && (refused.ErrorCode == wrongSeq || refused.ErrorCode == wrongSeqInFlight) {
			return nats.ErrTimeout // an earlier try is on its way
		}
		return failure
	}
	m, err := s.c.newestMessage(ctx, s.stream, s.subject)
	switch last := end + uint64(len(records)); {
	case err != nil:
		return err
	case m == nil || m.Sequence < last: // the server that says so may no longer lead
		return nats.ErrTimeout
	case m.Sequence > last || m.Header.Get(byHeader) != s.run:
		return lastingError{fmt.Errorf("%w: its stream has %d messages, and %d were expected", ErrTakenOver,
			info.State.LastSeq, end)}
	}
	return nil
}

// Meta returns what SetMeta kept last, as log.Store demands; this process alone can have changed
// it.
func (s *Store) Meta() ([]byte, error) {
	if len(s.meta) == 0 {
		return nil, nil
	}
	return s.meta, nil
}

// SetMeta keeps data as log.Store demands. It publishes a message that the servers take only behind
// the one that this process knows, s.revision: if another process has published since, the error is
// ErrTakenOver.
func (s *Store) SetMeta(data []byte) error {
	subject := "aaep.m." + subjectToken(s.agent)
	behind := s.revision
	err := s.c.retryUntil(context.Background(), func(ctx context.Context) error {
		ack, err := s.c.js.Publish(withTimeout(ctx, publishTime), subject, data,
			jetstream.WithExpectLastSequencePerSubject(behind), jetstream.WithRetryAttempts(0))
		if err == nil {
			s.revision = ack.Sequence
			return nil
		}
		m, readErr := s.c.newestMessage(ctx, metaStream, subject) // it may have been taken all the same
		switch {
		case readErr != nil:
			return readErr
		case m != nil && m.Sequence > s.revision && string(m.Data) == string(data):
			s.revision = m.Sequence
			return nil
		case m != nil && m.Sequence > s.revision:
			return lastingError{ErrTakenOver}
		case m == nil: // it was removed from the stream by hand
			behind = 0
		default:
			behind = s.revision
		}
		if !isPassing(err) { // the message that refused this one is not there yet, or not any more
			return nats.ErrTimeout
		}
		return err
	}, subject, metaStream)
	if err != nil {
		return s.c.explainError("the log of "+s.agent+" cannot be written", err)
	}
	s.meta = data
	return nil
}
