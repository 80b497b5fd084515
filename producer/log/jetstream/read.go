package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aaep-go/aaep/producer/log"
)

const (
	maxRead     = 1 << 20 // bytes that are read at once, more or less
	maxReadMsgs = 256
	readTries   = 20 // on whichever server answers, before it is given up
)

// A streamReader reads one stream.
type streamReader struct {
	c      *Cluster
	agent  string
	stream string
	streamBounds
}

// Bounds returns the bounds that are known to this process, as log.Store demands.
func (r *streamReader) Bounds() (start, end uint64) { return r.current() }

// Read returns records after the cursor, as log.Store demands. Any server that has the stream may
// answer; while that one is behind, or does not answer, it tries again, readTries times.
func (r *streamReader) Read(cursor uint64, n int) ([][]byte, error) {
	var last error
	for range readTries {
		records, err := r.readBatch(cursor, n)
		if len(records) > 0 {
			return records, nil
		}
		if err == nil { // it was dropped, or this server is behind: the leader knows
			last = cmp.Or(r.refreshBounds(context.Background()), r.skipHole(context.Background(), cursor))
		}
		if start, _ := r.current(); cursor < start {
			return nil, log.ErrTrimmed
		}
		if err != nil {
			last = err
		}
		if last != nil && !isPassing(last) {
			break
		}
		time.Sleep(pause)
	}
	return nil, r.c.explainError(fmt.Sprintf("cannot read event %d of %s", cursor+1, r.agent),
		cmp.Or(last, nats.ErrTimeout))
}

// skipHole raises the start of the log behind the events after the cursor that the stream's leader
// does not have, though it has some before them: they were removed from the stream by hand, or
// cannot be read any more. Where there are none, as where the server that was asked first is only
// behind, it does nothing.
func (r *streamReader) skipHole(ctx context.Context, cursor uint64) error {
	if start, end := r.current(); cursor < start || cursor >= end {
		return nil
	}
	return callOnce(ctx, func(ctx context.Context) error {
		stream, err := r.c.streamInfo(ctx, r.stream)
		if err != nil || stream.CachedInfo().State.NumDeleted == 0 {
			return err
		}
		info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
		if err != nil {
			return err
		}
		behind := cursor
		for slices.Contains(info.State.Deleted, behind+1) {
			behind++
		}
		if behind > cursor {
			r.raiseTo(behind, 0)
		}
		return nil
	})
}

// readBatch reads the records after the cursor from whichever server answers, at most n and
// maxReadMsgs, up to a gap between them. No records without an error say that this server does not
// have the next one.
func (r *streamReader) readBatch(cursor uint64, n int) (records [][]byte, err error) {
	n = min(n, maxReadMsgs)
	began := time.Now()
	request, _ := json.Marshal(map[string]any{"seq": cursor + 1, "batch": n, "max_bytes": maxRead})
	inbox := r.c.nc.NewInbox()
	answers, err := r.c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer answers.Unsubscribe()
	if err := r.c.nc.PublishRequest("$JS.API.DIRECT.GET."+r.stream, inbox, request); err != nil {
		return nil, err
	}
	for {
		m, err := answers.NextMsg(answerTime)
		if err != nil {
			return records, cmp.Or(r.c.deniedError(began, r.stream), err)
		}
		if status := m.Header.Get("Status"); status != "" {
			if status == "503" {
				err = nats.ErrNoResponders
			}
			return records, err // a status ends the batch, also an empty one
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return records, lastingError{errors.New("a message without a sequence")}
		}
		if seq != cursor+1+uint64(len(records)) {
			return records, nil
		}
		if records = append(records, m.Data); len(records) == n {
			return records, nil
		}
	}
}

// refreshBounds raises the bounds to those that the stream's leader knows.
func (r *streamReader) refreshBounds(ctx context.Context) error {
	info, err := r.streamInfo(ctx)
	if err == nil {
		r.raiseTo(startOf(info.State), info.State.LastSeq)
	}
	return err
}

// streamInfo asks the leader for the state of the stream. The error is ErrNoAgent if there is no
// stream, and ErrNewer if its format is not known.
func (r *streamReader) streamInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	var info *jetstream.StreamInfo
	err := r.c.retryUntil(ctx, func(ctx context.Context) error {
		s, err := r.c.streamInfo(ctx, r.stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return lastingError{ErrNoAgent}
		}
		if err == nil {
			info = s.CachedInfo()
			if v := info.Config.Metadata[formatKey]; v != "" && v != format {
				err = lastingError{
					fmt.Errorf("%w: its log has format %s, and this program knows %s: use a newer program",
						ErrNewer, v, format)}
			}
		}
		return err
	}, r.stream)
	return info, err
}

// What is in a stream's metadata.
const (
	formatKey = "aaep_log_format"
	format    = "1"
)

// startOf returns the cursor before the oldest message.
func startOf(s jetstream.StreamState) uint64 {
	if s.Msgs == 0 {
		return s.LastSeq
	}
	return s.FirstSeq - 1
}

// newestMessage reads the newest message on a subject from the stream's leader, which alone knows
// it for sure; nil is none. The client's own function asks any server where a stream allows that.
func (c *Cluster) newestMessage(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	request, _ := json.Marshal(map[string]any{"last_by_subj": subject})
	m, err := askRepeatedly(ctx, func(ctx context.Context) (*nats.Msg, error) {
		return c.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Message *struct {
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	err = json.Unmarshal(m.Data, &answer)
	switch {
	case err != nil:
		return nil, err
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Message == nil:
		return nil, jetstream.ErrInvalidJetStreamResponse
	}
	message := &jetstream.RawStreamMsg{Subject: subject, Sequence: answer.Message.Sequence, Data: answer.Message.Data,
		Time: answer.Message.Time}
	if len(answer.Message.Header) > 0 {
		message.Header, err = nats.DecodeHeadersMsg(answer.Message.Header)
	}
	return message, err
}

// readMeta returns what SetMeta kept last for the agent's log, or nil, and the sequence of that
// message, which the next SetMeta must name.
func (r *streamReader) readMeta(ctx context.Context) (data []byte, revision uint64, err error) {
	err = r.c.retryUntil(ctx, func(ctx context.Context) error {
		m, err := r.c.newestMessage(ctx, metaStream, "aaep.m."+subjectToken(r.agent))
		if m != nil {
			data, revision = m.Data, m.Sequence
		}
		return err
	}, metaStream)
	return data, revision, err
}
