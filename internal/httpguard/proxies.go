package httpguard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ParseProxies returns the ranges of addresses of proxies that are trusted, of texts such as
// "10.0.0.0/8" or "192.0.2.1". A text of another form is an error, and so is a range that holds
// every address.
func ParseProxies(ranges []string) (trusted []netip.Prefix, err error) {
	for _, s := range ranges {
		p, err := netip.ParsePrefix(s)
		if addr, addrErr := netip.ParseAddr(s); addrErr == nil {
			p, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil,
				fmt.Errorf("the proxy %q must be an address or a range of them, such as 127.0.0.1 or 10.1.0.0/16", s)
		}
		trusted = append(trusted, p.Masked())
	}
	return trusted, ValidateProxies(trusted)
}

// ValidateProxies returns an error if one of the ranges is not valid, or holds every address.
func ValidateProxies(trusted []netip.Prefix) error {
	for _, p := range trusted {
		if !p.IsValid() {
			return errors.New("a range of proxies is the zero netip.Prefix")
		}
		if p.Bits() == 0 {
			return fmt.Errorf(
				"the range of proxies %s is everybody, who could then claim any address; name those of the proxies", p)
		}
	}
	return nil
}

// TrustProxies serves h with the address of who sent a request in its RemoteAddr, where it comes
// from one of the trusted proxies and says which that is, in X-Forwarded-For or Forwarded (RFC
// 7239). Of the addresses that it names, only those count that a trusted proxy added: from the end
// of the list up to the first that is none of theirs. Of both headers neither counts where they
// differ, for a proxy sets one and may pass on the other as it came.
func TrustProxies(trusted []netip.Prefix, h http.Handler) http.Handler {
	if len(trusted) == 0 {
		return h
	}
	isTrusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a.Unmap().WithZone("")) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, ok := addressOf(r.RemoteAddr); ok && isTrusted(peer) {
			client := clientAddress(peer, readXForwardedFor(r.Header), isTrusted)
			other := clientAddress(peer, readForwarded(r.Header), isTrusted)
			switch {
			case client == peer: // the first header names none
				client = other
			case other != peer && other != client: // they differ, so neither counts
				client = peer
			}
			if client != peer {
				r = r.WithContext(r.Context())
				r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
			}
		}
		h.ServeHTTP(w, r)
	})
}

// clientAddress returns the address of the client that a request comes from. list is a header to
// which each proxy appended the address that came to it, and peer the one that came to this server.
// From the end of the list, addresses count as long as a trusted proxy has appended them. Where an
// entry is no address, the proxy that appended it counts as the client.
func clientAddress(peer netip.Addr, list []string, isTrusted func(netip.Addr) bool) netip.Addr {
	for i := len(list) - 1; i >= 0 && isTrusted(peer); i-- {
		next, ok := addressOf(strings.TrimSpace(list[i]))
		if !ok {
			break
		}
		peer = next
	}
	return peer
}

// addressOf parses an address with or without a port, and with or without brackets, and reports
// whether it is one.
func addressOf(s string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap(), err == nil
}

// readXForwardedFor returns the addresses of the X-Forwarded-For headers, in their order, or nil.
func readXForwardedFor(h http.Header) []string {
	values := h.Values("X-Forwarded-For")
	if len(values) == 0 {
		return nil
	}
	return strings.Split(strings.Join(values, ","), ",")
}

// readForwarded returns the values of "for" in the Forwarded headers (RFC 7239), one for each proxy
// in their order; "" for a proxy that gives none.
func readForwarded(h http.Header) (list []string) {
	for _, element := range strings.Split(strings.Join(h.Values("Forwarded"), ","), ",") {
		client := ""
		for _, pair := range strings.Split(element, ";") {
			if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok &&
				strings.EqualFold(strings.TrimSpace(name), "for") {
				client = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
		list = append(list, client)
	}
	return list
}
