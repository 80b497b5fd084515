package subscriber

import (
	"slices"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/transports"
)

// A subscription that is made anew goes on after the last event of the one before it, where the
// producer can (P8): it asks for delivery.resume_after. Which event that is a Conn knows that reads
// ids beside the events. Over all others the producer marks the events that are no such place, for
// those who named the extension: the presets do.

// ResumeAfter returns the id of the event after which a new subscription would go on without
// missing any that Next has not returned yet, or "" where the producer has said of none so far that
// it is one. A program that is to go on where it was after it was started again keeps it whenever
// its user had what Next returned, and asks with it for
//
//	caps.AddExtension(extensions.DeliveryVocabulary, extensions.Delivery{ResumeAfter: kept})
//
// Some of what came after that event may come again. Over other transports than Server-Sent Events
// the extension has to be among SupportedExtensions, as it is in the presets.
func (s *Subscription) ResumeAfter() string {
	if !s.isDialed() {
		return ""
	}
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	return s.inbox.place
}

// An identifiedConn is a Conn that knows which event its peer may be asked to go on after; "" is
// none so far.
type identifiedConn interface{ LastEventID() string }

// requestedTerms returns what a new subscription asks for: what the user wants and, where the place
// of the last event is known, to go on behind it. A place that would make the request invalid is
// left out. It takes s.mu.
func (s *Subscription) requestedTerms() aaep.Capabilities {
	s.mu.Lock()
	c, place := s.wanted, s.place
	s.mu.Unlock()
	if place == "" {
		return c
	}
	delivery, d := extensions.DeliveryVocabulary, extensions.Delivery{}
	if declared := c.Extensions[delivery.Prefix]; declared != nil && delivery.Read(declared, &d) != nil {
		return c
	}
	d.ResumeAfter = place
	extended := c
	if extended.AddExtension(delivery, d) != nil ||
		extensions.Check(extended) != nil { // another producer's ids have other forms
		return c
	}
	return extended
}

// keepPlace stores, before conn is given up, the id of the event after which the next connection
// resumes.
func (s *Subscription) keepPlace(conn transports.Conn) {
	place := s.placeOn(conn)
	s.mu.Lock()
	s.place = place
	s.mu.Unlock()
}

// placeOn returns the id of the event to go on after: the one that conn read last where its
// transport carries ids, else the one that the subscription noted; "" if neither is known. It takes
// s.mu.
func (s *Subscription) placeOn(conn transports.Conn) string {
	if c, ok := conn.(identifiedConn); ok {
		if id := c.LastEventID(); id != "" {
			return id
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

// notePlaceLocked makes an event the one to go on after, on a conn that knows no ids, unless the
// producer says that it is no such place. It is called with s.mu held.
func (s *Subscription) notePlaceLocked(ev *aaep.Event) {
	delivery := extensions.DeliveryVocabulary
	if _, knows := s.conn.(identifiedConn); knows {
		return
	}
	if !slices.Contains(s.accepted.HonoredCapabilities.SupportedExtensions, delivery.URI) {
		s.place = ""
		return
	}
	var d extensions.DeliveryData
	data := ev.Extensions[delivery.Prefix]
	isReadable := data == nil || delivery.Read(data, &d) == nil
	isNoPlace := d.Resumable != nil && !*d.Resumable
	if isReadable && !isNoPlace {
		s.place = ev.EventID
	}
}

// goesOnAfter reports whether a producer that was asked for the first terms and honored the second
// goes on after the event that it was asked to go on after.
func goesOnAfter(requested, honored aaep.Capabilities) bool {
	placeIn := func(c aaep.Capabilities) string {
		delivery, d := extensions.DeliveryVocabulary, extensions.Delivery{}
		_ = delivery.Read(c.Extensions[delivery.Prefix], &d)
		return d.ResumeAfter
	}
	wantedPlace := placeIn(requested)
	return wantedPlace != "" && placeIn(honored) == wantedPlace
}
