package llm

import "strings"

// mind keeps to itself what a model thinks aloud: local servers leave it in the answer, between
// <think> and </think> at the beginning.
type mind struct {
	step step
	held string // what may be the beginning of one of the two
}

type step int

const (
	silent   step = iota // nothing was said but white space
	thinking             // after <think>
	awake                // after </think>, and no words yet
	saying
)

const thinks, thought = "<think>", "</think>"

// mostHeld is how much white space at the beginning is waited through, in bytes; some models never
// stop to write it.
const mostHeld = 4 << 10

// aloud returns what is said of the text that comes next.
func (m *mind) aloud(text string) string {
	if m.step == saying {
		return text
	}
	m.held += text
	if m.step == silent {
		begin := strings.TrimLeft(m.held, " \t\r\n")
		switch {
		case len(m.held)-len(begin) >= mostHeld:
			return m.rest()
		case strings.HasPrefix(begin, thinks):
			m.step, m.held = thinking, begin[len(thinks):]
		case strings.HasPrefix(thinks, begin):
			return ""
		default:
			return m.rest()
		}
	}
	if m.step == thinking {
		_, after, over := strings.Cut(m.held, thought)
		if !over {
			m.held = m.held[max(len(m.held)-len(thought)+1, 0):]
			return ""
		}
		m.step, m.held = awake, after
	}
	if m.held = strings.TrimLeft(m.held, " \t\r\n"); m.held == "" {
		return ""
	}
	return m.rest()
}

// rest returns what was held back and is said after all.
func (m *mind) rest() string {
	if m.step == thinking {
		return ""
	}
	held := m.held
	m.step, m.held = saying, ""
	return held
}
