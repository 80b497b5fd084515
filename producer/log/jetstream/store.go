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
	run      string // of the process
	revision uint64 // of the meta
	meta     []byte
	owner    *nats.Subscription
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
	minAge           = 100 * time.Millisecond // is the shortest that JetStream knows
	whoseTime        = time.Second
	noSequence       = 1 << 62
)

// Open makes this process the agent of that name. The error is ErrInUse inside one that says who is
// it already, if that process answers; one that does not is taken over from, and can append nothing
// any more.
func (c *Cluster) Open(ctx context.Context, agent string) (_ *Store, err error) {
	if agent == "" {
		return nil, errors.New("the agent has no name")
	}
	s := &Store{streamReader: streamReader{c: c, agent: agent, stream: agentStream + subjectToken(agent)},
		run: nats.NewInbox()[len("_INBOX."):]}
	s.subject = "aaep.e." + subjectToken(agent) + "." + s.run
	whose := "aaep.o." + subjectToken(agent)
	was, err := s.streamInfo(ctx)
	if err == nil { // only the process that the stream is of answers for it: there may be one that was taken over from
		run := was.Config.Subjects[0][strings.LastIndexByte(was.Config.Subjects[0], '.')+1:]
		if who, err := c.nc.RequestWithContext(withTimeout(ctx, whoseTime), whose, []byte(run)); err == nil {
			return nil, fmt.Errorf("%w: %s is %s; end that first, or take another name", ErrInUse, who.Data, agent)
		}
	} else if errors.Is(err, ErrNoAgent) {
		err = nil
	}
	if err == nil {
		err = s.takeOver(ctx, was)
	}
	if err != nil {
		return nil, c.explainError("cannot open the log of "+agent, err)
	}
	on := strings.TrimSuffix(c.opts.Node, fmt.Sprintf(":%d", os.Getpid()))
	me := fmt.Sprintf("process %d on %s (%s, since %s)", os.Getpid(), on, filepath.Base(os.Args[0]),
		time.Now().Format("2006-01-02 15:04"))
	s.owner, err = c.nc.Subscribe(whose, func(m *nats.Msg) {
		if string(m.Data) == s.run || len(m.Data) == 0 { // who asks may be an older version
			m.Respond([]byte(me))
		}
	})
	for tries := 0; err == nil && tries < 10; tries++ {
		if s.meta, s.revision, err = s.streamReader.readMeta(ctx); err == nil {
			err = s.SetMeta(s.meta) // from now on the process before cannot
		}
		if !errors.Is(err, ErrTakenOver) {
			break
		}
		err = nil
	}
	if err != nil {
		s.owner.Unsubscribe()
		return nil, c.explainError("cannot open the log of "+agent, err)
	}
	if _, end := s.Bounds(); was == nil && end == 0 {
		s.meta = nil // it is of a stream that was removed, or of none yet: this is another log
	}
	s.sharedSubjects = newSharedSubjects(c, agent)
	return s, nil
}

// withTimeout returns a context that releases its timer by itself.
func withTimeout(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// takeOver makes the stream, or takes over the one that was there, and waits until all that the
// process before had sent is in it.
func (s *Store) takeOver(ctx context.Context, was *jetstream.StreamInfo) error {
	limits := s.c.opts.Limits
	cfg := jetstream.StreamConfig{Name: s.stream, Replicas: s.c.opts.Replicas,
		Description: "The log of the AAEP agent " + s.agent + "."}
	if was != nil {
		cfg = was.Config
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
	if cfg.MaxMsgs == 1<<63-1 {
		cfg.MaxMsgs = -1
	}
	if cfg.MaxBytes == 1<<63-1 {
		cfg.MaxBytes = -1
	}
	if cfg.MaxAge == 1<<63-1 {
		cfg.MaxAge = 0
	}
	cfg.Duplicates = minAge
	if err := s.c.retryUntil(ctx, func(ctx context.Context) error {
		_, err := s.c.js.CreateOrUpdateStream(ctx, cfg)
		return err
	}, s.stream); err != nil {
		return err
	}
	// What is refused is refused in its turn, with the number of the last message before it.
	var last uint64
	if err := s.c.retryUntil(ctx, func(ctx context.Context) error {
		m := nats.NewMsg(s.subject)
		m.Header.Set(seqHeader, strconv.Itoa(noSequence))
		_, err := s.c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		var refused *jetstream.APIError
		if !errors.As(err, &refused) || refused.ErrorCode != wrongSeq {
			return fmt.Errorf("the stream was not refusing: %w", errors.Join(err, nats.ErrTimeout))
		}
		_, number, _ := strings.Cut(refused.Description, ": ")
		last, err = strconv.ParseUint(number, 10, 64)
		return err
	}, s.subject); err != nil {
		return err
	}
	if was != nil { // what the limits drop is told when they are looked at
		s.raiseTo(startOf(was.State), was.State.LastSeq)
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

// maxClockSkew is by how much the clock of an agent may differ from the servers', which say when an
// answer was kept.
const maxClockSkew = 10 * time.Second

// checkClocks compares the clock of the servers, as it was between two moments here, with the one
// here.
func checkClocks(before, servers, after time.Time) error {
	apart, how := before.Sub(servers), "ahead of"
	if servers.After(after) {
		apart, how = servers.Sub(after), "behind"
	}
	if apart <= maxClockSkew {
		return nil
	}
	return lastingError{
		fmt.Errorf(
			"the clock of this machine is %v %s that of the NATS servers, and more than %v: answers that came in "+
				"time would be taken for late, or late ones for good; set the clocks",
			apart.Round(time.Second), how, maxClockSkew)}
}

// Close lets another process be this agent.
func (s *Store) Close() error {
	s.sharedSubjects.unsubscribeAll()
	if s.owner == nil {
		return nil
	}
	return s.owner.Unsubscribe()
}

// Append is that of log.Store. It tries for as long as Options.Patience.
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
		if most := s.c.nc.MaxPayload(); int64(len(r)) > most-1024 { // headers count
			return fmt.Errorf("an event of %s has %d bytes, and the NATS servers take %d: set their max_payload to 8MB",
				s.agent, len(r), most)
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
		s.sharedSubjects.unsubscribeAll() // who sends to the agent means the other one
	}
	if err != nil {
		return s.c.explainError("the log of "+s.agent+" cannot be written", err)
	}
	end += uint64(len(records))
	most := uint64(s.c.opts.Events)
	s.raiseTo(end-min(end, most), end)
	return nil
}

// publishBatch sends records as one batch, which is kept whole or not at all, and only after the
// message at end.
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

// checkKept finds out what became of records after a failure. Nil is that they are kept; the
// failure itself that they are not, and may be tried again.
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
			return nats.ErrTimeout // what was tried before is on its way
		}
		return failure
	}
	m, err := s.c.newestMessage(ctx, s.stream, s.subject)
	switch last := end + uint64(len(records)); {
	case err != nil:
		return err
	case m == nil || m.Sequence < last: // who says so may lead no more
		return nats.ErrTimeout
	case m.Sequence > last || m.Header.Get(byHeader) != s.run:
		return lastingError{fmt.Errorf("%w: its stream has %d messages, and %d were expected", ErrTakenOver,
			info.State.LastSeq, end)}
	}
	return nil
}

// Meta is that of log.Store.
func (s *Store) Meta() ([]byte, error) {
	if len(s.meta) == 0 {
		return nil, nil
	}
	return s.meta, nil
}

// SetMeta is that of log.Store.
func (s *Store) SetMeta(data []byte) error {
	subject := "aaep.m." + subjectToken(s.agent)
	err := s.c.retryUntil(context.Background(), func(ctx context.Context) error {
		ack, err := s.c.js.Publish(withTimeout(ctx, publishTime), subject, data,
			jetstream.WithExpectLastSequencePerSubject(s.revision), jetstream.WithRetryAttempts(0))
		if err == nil {
			s.revision = ack.Sequence
			return nil
		}
		m, failed := s.c.newestMessage(ctx, metaStream, subject)
		switch {
		case failed != nil:
			return failed
		case m != nil && m.Sequence > s.revision && string(m.Data) == string(data):
			s.revision = m.Sequence
			return nil
		case m != nil && m.Sequence > s.revision:
			return lastingError{ErrTakenOver}
		}
		return nats.ErrTimeout
	}, subject, metaStream)
	if err != nil {
		return s.c.explainError("the log of "+s.agent+" cannot be written", err)
	}
	s.meta = data
	return nil
}
