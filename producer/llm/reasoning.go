package llm

import "strings"

// A reasoningFilter removes what a model thinks aloud: local servers leave it in the answer,
// between <think> and </think> at the beginning.
type reasoningFilter struct {
	state filterState
	held  string // text that may be the beginning of one of the two tags
}

type filterState int

const (
	atStart        filterState = iota // nothing was said but white space
	inReasoning                       // after <think>
	afterReasoning                    // after </think>, and no words yet
	inAnswer
)

const reasoningStart, reasoningEnd = "<think>", "</think>"

// maxHeldSpace is how much white space at the beginning is waited through, in bytes; some models
// never stop writing it.
const maxHeldSpace = 4 << 10

// spokenText returns the part of text, the next piece of the answer, that is announced, after what
// was held back before it; reasoning within <think> is left out.
func (m *reasoningFilter) spokenText(text string) string {
	if m.state == inAnswer {
		return text
	}
	m.held += text
	if m.state == atStart {
		begin := strings.TrimLeft(m.held, " \t\r\n")
		switch {
		case len(m.held)-len(begin) >= maxHeldSpace:
			return m.takeHeld()
		case strings.HasPrefix(begin, reasoningStart):
			m.state, m.held = inReasoning, begin[len(reasoningStart):]
		case strings.HasPrefix(reasoningStart, begin):
			return ""
		default:
			return m.takeHeld()
		}
	}
	if m.state == inReasoning {
		_, rest, hasEnd := strings.Cut(m.held, reasoningEnd)
		if !hasEnd { // keep what may be the beginning of the end tag
			m.held = m.held[max(len(m.held)-len(reasoningEnd)+1, 0):]
			return ""
		}
		m.state, m.held = afterReasoning, rest
	}
	if m.held = strings.TrimLeft(m.held, " \t\r\n"); m.held == "" {
		return ""
	}
	return m.takeHeld()
}

// takeHeld returns the text that was held back and is part of the answer after all; nothing more is
// filtered then. It is also called at the end of the answer.
func (m *reasoningFilter) takeHeld() string {
	if m.state == inReasoning {
		return ""
	}
	held := m.held
	m.state, m.held = inAnswer, ""
	return held
}
