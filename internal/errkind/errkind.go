// Package errkind marks errors with what they are about, for callers that have other words for it.
// A mark changes no text, and is found by errors.Is; what a caller outside this module can act on
// is a sentinel of its own package instead.
package errkind

// Kind is what an error is about.
type Kind string

const (
	// NotEncrypted is an address of another machine whose scheme does not encrypt.
	NotEncrypted Kind = "not encrypted"
	// Gateway is the answer of a proxy that does not reach what is behind it.
	Gateway Kind = "a proxy without its server"
	// NotOffered is an agent that has none of the transports that were asked for.
	NotOffered Kind = "no such transport"
	// Folder is a folder that cannot hold a socket of this user's alone.
	Folder Kind = "the folder of a socket"
	// Unreachable is a server that does not answer, or refuses, though it was named well.
	Unreachable Kind = "a server that cannot be used now"
)

func (k Kind) Error() string { return string(k) }

// Mark returns an error with the text of err that is of a kind, too; of nil, nil.
func (k Kind) Mark(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err, k}
}

// MarkStatus marks err, which an answer of HTTP with this status led to, as Gateway for 502 and
// 504; for any other status it returns err as it is.
func MarkStatus(status int, err error) error {
	if status == 502 || status == 504 {
		return Gateway.Mark(err)
	}
	return err
}

type marked struct {
	error
	kind Kind
}

func (m *marked) Unwrap() error        { return m.error }
func (m *marked) Is(target error) bool { return target == m.kind }
