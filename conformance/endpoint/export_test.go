package endpoint

import "net"

// ListenOn is Listen over a listener of the test's own.
func ListenOn(ln net.Listener, address string) (*Endpoint, error) {
	return listenWith(address, nil, func(string, string) (net.Listener, error) { return ln, nil })
}
