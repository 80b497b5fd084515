package subscriber

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// run reads until the subscription is over, mending the link where it breaks.
func (s *Subscription) run(conn transports.Conn) {
	defer close(s.done)
	defer s.cancel()
	attempt := 0
	for {
		since := time.Now()
		err := s.read(conn)
		if time.Since(since) >= healthyAfter {
			attempt = 0
		}
		if s.over(err) {
			conn.Close()
			return
		}
		s.cfg.Logger.Info("link broken", "error", err)
		s.setStatus(func(st *Status) { st.Connected, st.Err = false, err })
		if conn, err = s.mend(conn, err, &attempt); err != nil {
			s.over(err)
			return
		}
	}
}

// over reports whether err ends the subscription, and keeps it for Next.
func (s *Subscription) over(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil { // closed on this side
		return true
	}
	if final(err) || s.cfg.NoReconnect || s.ctx.Err() != nil {
		s.err = err
		return true
	}
	return false
}

// final reports whether trying again cannot help: the peer said so.
func final(err error) bool {
	var r *aaep.Rejection
	if !errors.As(err, &r) {
		return false
	}
	switch r.Code {
	case aaep.RateLimit, aaep.TransportUnavailable, aaep.ProducerShutdown, aaep.SlowSubscriber:
		return false
	}
	return true
}

// mend brings the link back: by resuming the stream where that can be done, else by a new subscription.
func (s *Subscription) mend(conn transports.Conn, cause error, attempt *int) (transports.Conn, error) {
	for {
		if err := s.sleep(delay(*attempt, cause)); err != nil {
			conn.Close()
			return nil, err
		}
		*attempt++
		if r, ok := conn.(transports.Reopener); ok && errors.Is(cause, transports.ErrInterrupted) {
			ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
			cause = r.Reopen(ctx)
			cancel()
			if cause == nil {
				s.setStatus(func(st *Status) { st.Connected, st.Err = true, nil })
				return conn, nil
			}
			if errors.Is(cause, transports.ErrInterrupted) && *attempt < 4 {
				continue
			}
		}
		// The old subscription is gone, or was away for longer than it may be.
		conn.Close()
		fresh, err := s.subscribe(s.ctx)
		if err == nil {
			return fresh, nil
		}
		if s.ctx.Err() != nil || final(err) {
			return nil, err
		}
		s.cfg.Logger.Debug("not reached", "error", err)
		s.setStatus(func(st *Status) { st.Err = err })
		cause = err
	}
}

// delay honors what the peer asked for, within bounds.
func delay(attempt int, cause error) time.Duration {
	var r *aaep.Rejection
	if errors.As(cause, &r) && r.RetryAfter > 0 {
		return min(max(r.RetryAfter, time.Second), 5*time.Minute)
	}
	return jitter(attempt)
}

func (s *Subscription) sleep(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// read hands on what comes over one link until that breaks.
func (s *Subscription) read(conn transports.Conn) error {
	for {
		data, err := conn.Receive(s.ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the producer ended the link")
			}
			return err
		}
		m, err := aaep.Decode(data)
		if err != nil { // one bad message costs one message
			s.cfg.Logger.Warn("message dropped", "error", err)
			continue
		}
		switch m := m.(type) {
		case *aaep.Event:
			if err := s.take(m); err != nil {
				return err
			}
		case *aaep.SubscriptionAccepted, *aaep.SubscriptionRejected:
			select {
			case s.answers <- m:
			default:
				s.cfg.Logger.Warn("answer without a question", "type", m.MessageType())
			}
			if no, ok := m.(*aaep.SubscriptionRejected); ok {
				return rejection(no) // a refused renegotiation ends the subscription (§5.7)
			}
		case *aaep.SubscriptionClose:
			return &aaep.Rejection{Code: m.ReasonCode, Message: m.ReasonMessage, Remote: true}
		default:
			s.cfg.Logger.Warn("message ignored", "type", m.MessageType())
		}
	}
}

// take hands an event on, unless it came before.
func (s *Subscription) take(ev *aaep.Event) error {
	s.mu.Lock()
	if s.seen[ev.EventID] {
		s.mu.Unlock()
		return nil
	}
	s.seen[ev.EventID] = true
	s.order = append(s.order, ev.EventID)
	if len(s.order) > remembered {
		delete(s.seen, s.order[0])
		s.order = s.order[1:]
	}
	s.noteQuestion(ev)
	s.mu.Unlock()
	select {
	case s.events <- ev:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}
