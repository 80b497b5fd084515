package reach

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep/subscriber/discover"
)

// CheckAddress completes and checks the address of an agent that a person typed: without a scheme
// it is http. The error says what is wrong with it and what would be right: a port alone, another
// scheme, credentials or a query.
func CheckAddress(text string) (string, error) {
	if IsLocal(text) {
		path, err := LocalPath(text)
		if err != nil {
			return "", err
		}
		return LocalScheme + path, nil
	}
	if validPort(text) {
		return "", fmt.Errorf("%q is a port alone.\nGive the machine too: http://127.0.0.1:%s", text, text)
	}
	address := text
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return "", fmt.Errorf("%q is not the address of an agent.\nGive one such as http://127.0.0.1:8080", text)
	}
	if port := u.Port(); port != "" && !validPort(port) {
		return "", fmt.Errorf("%q names no port that there is.\nGive one from 1 to 65535, such as http://127.0.0.1:8080", text)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address holds more than an agent's place.\nGive one such as http://127.0.0.1:8080")
	}
	return address, nil
}

// validPort reports whether a TCP port can be dialed.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// IsLocal reports whether an address is one that only the agent's own user can reach, on this
// system or another.
func IsLocal(address string) bool {
	return strings.HasPrefix(address, LocalScheme) || strings.HasPrefix(address, foreignScheme)
}

// LocalPath completes "unix:" and a name, or a path, to a path; on Windows it is "pipe:". The error
// is for the other system's form, for an empty name, and for one that discover does not take.
func LocalPath(address string) (string, error) {
	name, ok := strings.CutPrefix(address, LocalScheme)
	switch {
	case !ok:
		return "", fmt.Errorf("%q is for other systems.\nHere an agent is at a %s, such as %splanner", address, localThing,
			LocalScheme)
	case name == "":
		return "", fmt.Errorf("%q names no %s.\nGive a name or a path, such as %splanner or %s", address, localThing,
			LocalScheme, localExample)
	}
	return discover.LocalPath(name)
}
