package a2a

// DialOver is Dial over a transport of a test's own.
var DialOver = dial
