package sse

// Bubble is for tests from outside, where producers and subscribers meet.
var Bubble = serveInMemory
