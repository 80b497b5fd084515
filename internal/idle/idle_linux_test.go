package idle

import "testing"

// What is there and not read keeps the system from nothing, and its one goroutine from turning
// round and round.
func TestUnread(t *testing.T) {
	ours, theirs := pair(t, "tcp")
	called := make(chan struct{})
	begin(t, ours, func() { close(called) })
	silent, _ := pair(t, "unix")
	w := begin(t, silent, func() { t.Error("called for nothing") })
	theirs.Write([]byte("a"))
	await(t, called, "something is there")
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		raw, err := processPoller.epoll.SyscallConn()
		if err == nil {
			err = raw.Control(func(epoll uintptr) { processPoller.dispatchReady(epoll) })
		}
		if err != nil {
			t.Error(err)
		}
	}()
	await(t, looked, "there is nothing more to look at")
	w.Stop()
}
