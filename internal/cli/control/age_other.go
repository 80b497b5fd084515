//go:build !linux

package control

import "time"

var started = time.Now()

// Age returns how long ago this process began to run.
func Age() time.Duration { return time.Since(started) }
