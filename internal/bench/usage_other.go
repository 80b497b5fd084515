//go:build !unix

package bench

// cpuTime returns 0 on this system, where the time of the processor is not measured.
func cpuTime() int64 { return 0 }
