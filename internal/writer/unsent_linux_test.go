package writer

import (
	"bytes"
	"crypto/tls"
	"net"
	"syscall"
	"testing"
	"time"
)

// Of what a peer takes slowly, the system holds little: what is critical would have to wait behind it. P3, INV-27
func TestLittleIsUnsent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	peer.(*net.TCPConn).SetReadBuffer(64 << 10)
	peer.SetReadDeadline(time.Now().Add(20 * time.Second))
	w, block, some := New(conn, time.Minute), bytes.Repeat([]byte("x"), 2000), make([]byte, 16<<10)
	sent, read, most := 0, 0, 0
	for read < 4<<20 {
		for {
			n := w.Try(block)
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
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	New(tls.Client(conn, &tls.Config{}), time.Minute)
	most := 0
	if err := own(conn.(*net.TCPConn)).Control(func(fd uintptr) {
		most, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, notSentLowat)
	}); err != nil || most != unsent {
		t.Errorf("the system takes %d bytes beyond what is on its way, want %d; %v", most, unsent, err)
	}
}
