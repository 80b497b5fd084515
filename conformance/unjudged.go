package conformance

// unjudged are the MUSTs of producers that no case decides, each with the reason.
var unjudged = []struct{ reason, ids string }{}
