package writer

import (
	"bytes"
	"crypto/tls"
	"net"
	"syscall"
	"testing"
	"time"
)

// Of what a peer takes slowly, the system holds little: what is critical would have to wait behind
// it. P3, INV-27
func TestLittleIsUnsent(t *testing.T) {
	conn, peer := link(t)
	peer.(*net.TCPConn).SetReadBuffer(64 << 10)
	peer.SetReadDeadline(time.Now().Add(time.Minute))
	w, block, some := New(conn, time.Minute), bytes.Repeat([]byte("x"), 2000), make([]byte, 16<<10)
	sent, read, most := 0, 0, 0
	for read < 4<<20 {
		for {
			n := w.TryWrite(block)
			w.rest = nil // as if it were sent
			if sent += n; n < len(block) {
				break
			}
		}
		most = max(most, sent-read)
		n, err := peer.Read(some)
		if read += n; err != nil {
			t.Fatal(err)
		}
	}
	if most > 512<<10 {
		t.Errorf("%d bytes are ahead of the peer", most)
	}
}

// That holds for what is encrypted too.
func TestLittleIsUnsentEncrypted(t *testing.T) {
	conn, _ := link(t)
	New(tls.Client(conn, &tls.Config{}), time.Minute)
	most, asked := 0, error(nil)
	err := rawConn(conn.(*net.TCPConn)).Control(func(fd uintptr) {
		most, asked = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, notSentLowat)
	})
	if err != nil || asked != nil || most != maxUnsent {
		t.Errorf("the system takes %d bytes beyond what is on its way, want %d; %v, %v", most, maxUnsent, err, asked)
	}
}
