// Package aaep holds the words of AAEP, the Agent Accessibility Event Protocol: the events with
// which an AI agent says what it is doing, and the messages with which assistive technology chooses
// how much of it to hear and answers for its user.
//
//	agent ── producer ──── events ────▶ subscriber ── speech, braille, haptics, web page
//	  ▲         │                            │
//	  └─ decision ◀──── confirmation reply ◀──┴── the person
//
// This package only describes: it opens no connection, starts no goroutine and reads no clock.
// Package producer is for agents, package subscriber for assistive technology; both meet in Decode
// and Encode, which read and write every message exactly.
//
// The events are in event.go, their payloads in payload.go, the messages in message.go and what a
// subscriber may ask for in capabilities.go. The enumerations are in vocabulary.go, the reason
// codes of rejections in errors.go. Which values are allowed is checked in validate_message.go for
// messages, validate_payload.go for payloads and validate.go for the envelope; the limits of size
// are in check.go. What a peer writes in another form is read in liberal.go and liberal_unknown.go.
//
// Section signs (§) refer to the chapters of the AAEP specification, version 1.0.0.
package aaep
