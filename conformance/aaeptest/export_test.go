package aaeptest

import (
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/subscriber/present"
)

// Voice tells a hook what is said.
func Voice(h *conformance.Hook) present.Output { return voice{h} }
