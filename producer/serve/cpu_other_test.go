//go:build !unix

package serve_test

// cpuTime is not known here.
func cpuTime() int64 { return 0 }
