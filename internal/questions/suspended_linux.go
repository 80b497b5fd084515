package questions

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspendedTime returns how long the machine has been suspended since it was started, to a tenth of
// a second, or zero if that cannot be found out.
func suspendedTime() time.Duration {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - mono.Nano()).Round(100 * time.Millisecond)
}
