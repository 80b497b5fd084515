//go:build !linux

package questions

import "time"

// suspendedTime returns zero, for the time suspended is not known here: the time to answer stands
// still while the machine is suspended, if Go's clock does.
func suspendedTime() time.Duration { return 0 }
