package llm

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Google's generateContent. Its calls may have no ids: they are then known by the tool's name and
// what was said before.

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"functionCall"`
	Response *struct {
		ID       string                    `json:"id"`
		Name     string                    `json:"name"`
		Response map[string]jsontext.Value `json:"response"`
	} `json:"functionResponse"`
	Code   *struct{} `json:"executableCode"`
	Result *struct {
		Outcome string `json:"outcome"`
	} `json:"codeExecutionResult"`
}

func geminiRequest(body []byte) (q request) {
	var in struct {
		Contents []jsontext.Value `json:"contents"`
		Config   struct {
			MIME string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	decode(body, &in)
	q.json = in.Config.MIME == "application/json"
	newest, before, all := since(in.Contents, func(raw jsontext.Value) bool {
		var c geminiContent
		decode(raw, &c)
		return c.Role == "model"
	})
	q.prefix = all
	for _, raw := range newest {
		var c geminiContent
		decode(raw, &c)
		for _, p := range c.Parts {
			if r := p.Response; r != nil {
				_, failed := r.Response["error"]
				q.result(keyOf(r.ID, r.Name, before), failed, slices.Collect(maps.Values(r.Response))...)
			}
		}
	}
	return q
}

// since returns the newest answer of the model in a conversation and what that led to, and names
// what was said before it, and all that was said.
func since(said []jsontext.Value, models func(jsontext.Value) bool) (newest []jsontext.Value, before, all string) {
	begins, theirs := 0, false
	for i, raw := range slices.Backward(said) {
		was := theirs
		if theirs = models(raw); was && !theirs {
			begins = i + 1
			break
		}
	}
	h := sha256.New()
	name := func() string { return fmt.Sprintf("%x", h.Sum(nil)[:12]) }
	for i, raw := range said {
		if i == begins {
			before = name()
		}
		fmt.Fprintf(h, "%d:%s", len(raw), raw)
	}
	return said[begins:], before, name()
}

type geminiAnswer struct {
	*answer
	prefix string
	codes  int     // pieces of code that the provider ran
	noted  *ending // if nothing more comes
}

func newGeminiAnswer(a *answer, q request) hears { return &geminiAnswer{answer: a, prefix: q.prefix} }

type geminiChunk struct {
	Candidates []struct {
		Index        int           `json:"index"`
		Content      geminiContent `json:"content"`
		FinishReason string        `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Error jsontext.Value `json:"error"`
}

func (g *geminiAnswer) event(_ string, data []byte) {
	var in geminiChunk
	if decode(data, &in) {
		g.chunk(in)
	}
}

// whole takes one answer, or the array of pieces that a stream is without alt=sse.
func (g *geminiAnswer) whole(data []byte) bool {
	chunks := make([]geminiChunk, 1)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		chunks = nil
		if !decode(data, &chunks) {
			return false
		}
	} else if !decode(data, &chunks[0]) {
		return false
	}
	for _, in := range chunks {
		g.chunk(in)
	}
	g.done()
	return g.over
}

// done ends the answer as was noted: some models say STOP with each piece.
func (g *geminiAnswer) done() {
	if g.noted != nil {
		g.end(*g.noted)
	}
}

func (g *geminiAnswer) chunk(in geminiChunk) {
	switch {
	case in.Error.Kind() == '{':
		g.end(errorOf(in.Error))
	case in.Feedback.BlockReason != "":
		g.end(declined)
	}
	for _, c := range in.Candidates {
		if c.Index != 0 || g.over { // of several answers the first is told
			continue
		}
		for _, p := range c.Content.Parts {
			g.part(p)
		}
		switch c.FinishReason {
		case "", "FINISH_REASON_UNSPECIFIED":
		case "STOP":
			g.noted = &whole
		case "MAX_TOKENS", "CONTINUATION":
			g.noted = &tooLong
		case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
			"IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
			g.noted = &declined
		default: // MALFORMED_FUNCTION_CALL, and more of the kind
			g.noted = new(faultOf(""))
		}
	}
}

func (g *geminiAnswer) part(p geminiPart) {
	switch {
	case p.Call != nil:
		g.call(keyOf(p.Call.ID, p.Call.Name, g.prefix), p.Call.Name)
	case p.Code != nil:
		g.codes++
		g.begins(fmt.Sprint(g.codes), "code_execution")
	case p.Result != nil:
		g.ends(fmt.Sprint(g.codes), p.Result.Outcome != "OUTCOME_OK")
	case p.Thought:
		g.pause()
	default:
		g.text(p.Text)
	}
}
