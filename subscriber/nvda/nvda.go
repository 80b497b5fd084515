// Package nvda presents through NVDA, a screen reader of Windows, with its controller client: in
// the voice and on the braille display of its user, silenced by the same key. It needs NVDA 2024.1
// or later, and the library nvdaControllerClient.dll of NVDA's controller client for the
// architecture of the program, which NV Access offers for download and which a program may bring
// along. No cgo is needed. On other systems Open returns errors.ErrUnsupported.
//
// NVDA tells when it has spoken: Present puts a mark behind the text, and a text whose mark was not
// reached was cut. So silence by the user's key is known here, as announce.ErrCut. A voice that has
// never reached a mark is taken for one that cannot tell, and what it was given for spoken.
//
// A text is marked with its language, and NVDA changes the voice for it where its user lets it and
// there is one. What is not Critical waits until NVDA is silent, even while a book is being read:
// give ctx an end.
//
// What is Critical interrupts what is being spoken, which NVDA resumes afterwards. It does not
// interrupt another critical text. The end of ctx silences everything that NVDA has to say, since a
// single text cannot be taken back.
//
// NVDA speaks on the lock screen too, to any person who is there.
//
// All that presents is in nvda_windows.go.
package nvda

import "errors"

// What can be wrong with NVDA. After each of them a later Present may succeed.
var (
	ErrAbsent = errors.New("nvda: NVDA is not running")
	ErrOld    = errors.New("nvda: this NVDA is older than 2024.1 and cannot say when it has spoken")
	ErrHung   = errors.New("nvda: NVDA does not answer")
)

// Options may be zero.
type Options struct {
	// Library is where the controller client is: an absolute path, for a library that is searched
	// for can be another program's. "" stands for nvdaControllerClient.dll beside the program
	// itself.
	Library string
}
