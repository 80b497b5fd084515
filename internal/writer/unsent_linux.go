package writer

import (
	"net"
	"syscall"
)

// unsent is how many bytes the system takes beyond what is on its way to the peer. It would take
// megabytes for one who reads slowly, and what is critical cannot overtake those.
const (
	maxUnsent    = 32 << 10
	notSentLowat = 25 // TCP_NOTSENT_LOWAT, which package syscall does not know
)

// limitUnsent has the system buffer no more than maxUnsent bytes of a TCP connection, also below
// TLS, so that a slow reader is noticed soon. Any other connection stays as it is.
func limitUnsent(conn Conn) {
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secured.NetConn()
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if raw := rawConn(tcp); raw != nil {
		raw.Control(func(fd uintptr) { // where that fails it takes more
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, notSentLowat, maxUnsent)
		})
	}
}
