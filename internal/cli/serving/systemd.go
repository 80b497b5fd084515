package serving

import (
	"net"
	"os"
)

// NotifyReady tells systemd, if that started this program and waits for it, that listeners are
// served (sd_notify(3)).
func NotifyReady() {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	os.Unsetenv("NOTIFY_SOCKET") // which is not meant for the program that we run
	if conn, err := net.Dial("unixgram", socket); err == nil {
		defer conn.Close()
		conn.Write([]byte("READY=1"))
	}
}
