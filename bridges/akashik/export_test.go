package akashik

// NewOver is New over a transport of a test's own.
var NewOver = newOver
