package llm

import "strings"

// mind keeps to itself what a model thinks aloud: local servers leave it in the answer, between <think> and </think> at the
// beginning.
type mind struct {
	held string // while it may be one of the two
	step int    // 0 before the first words, 1 thinking, 2 saying
}

const thinks, thought = "<think>", "</think>"

// aloud returns what is said of the text that comes next.
func (m *mind) aloud(text string) string {
	if m.step == 2 {
		return text
	}
	m.held += text
	if m.step == 0 {
		begin := strings.TrimLeft(m.held, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, thinks):
			m.step, m.held = 1, begin[len(thinks):]
		case strings.HasPrefix(thinks, begin):
			return ""
		default:
			return m.rest()
		}
	}
	if _, said, over := strings.Cut(m.held, thought); over {
		m.step, m.held = 2, ""
		return strings.TrimLeft(said, " \t\r\n")
	}
	m.held = m.held[max(len(m.held)-len(thought)+1, 0):]
	return ""
}

// rest returns what was held back and is said after all.
func (m *mind) rest() string {
	if m.step == 1 {
		return ""
	}
	held := m.held
	m.step, m.held = 2, ""
	return held
}
