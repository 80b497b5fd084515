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
// Section signs (§) refer to the chapters of the AAEP specification, version 1.0.0.
package aaep
