package control

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Age returns how long ago this process was made; 0 where the kernel does not say. A key of the
// desktop makes one when it is pressed, and on a busy machine it runs much later.
func Age() time.Duration {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	const (
		startTime = 21 - 2 // of the fields behind the program's name, in parentheses
		ticks     = 100    // of a second, in what the kernel tells programs
	)
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	var now unix.Timespec
	if len(fields) <= startTime || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	started, err := strconv.ParseInt(fields[startTime], 10, 64)
	if err != nil {
		return 0
	}
	return max(time.Duration(now.Nano())-time.Duration(started)*time.Second/ticks, 0)
}
