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

// geminiRequest reads the results of tools behind the last answer of the conversation in a body of
// Gemini's format, and whether JSON is wanted. Calls without an id are known by the conversation
// before them.
func geminiRequest(body []byte) (q request) {
	var in struct {
		Contents []jsontext.Value `json:"contents"`
		Config   struct {
			MIME string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	decodeLenient(body, &in)
	q.json = in.Config.MIME == "application/json"
	newest, before, whole := splitConversation(in.Contents, func(raw jsontext.Value) bool {
		var c geminiContent
		decodeLenient(raw, &c)
		return c.Role == "model"
	})
	q.prefix = whole
	for _, raw := range newest {
		var c geminiContent
		decodeLenient(raw, &c)
		for _, p := range c.Parts {
			if r := p.Response; r != nil {
				_, failed := r.Response["error"]
				texts := slices.Collect(maps.Values(r.Response))
				q.addResult(callKey(r.ID, r.Name, before), failed, texts...)
				if r.ID != "" { // some clients make up ids for calls that have none
					q.addResult(callKey("", r.Name, before), failed, texts...)
				}
			}
		}
	}
	return q
}

// splitConversation returns the entries of the model's newest answer in a conversation and all that
// follow it; a name for the entries before it; and a name for the whole conversation. Equal entries
// have equal names. isModelEntry reports whether an entry is the model's.
func splitConversation(entries []jsontext.Value, isModelEntry func(jsontext.Value) bool) (newest []jsontext.Value, before,
	whole string) {
	start, isAnswer := 0, false // the newest answer begins at start; it may have several entries
	for i, raw := range slices.Backward(entries) {
		wasAnswer := isAnswer
		if isAnswer = isModelEntry(raw); wasAnswer && !isAnswer {
			start = i + 1
			break
		}
	}
	h := sha256.New()
	name := func() string { return fmt.Sprintf("%x", h.Sum(nil)[:12]) }
	for i, raw := range entries {
		if i == start {
			before = name()
		}
		fmt.Fprintf(h, "%d:%s", len(raw), raw)
	}
	return entries[start:], before, name()
}

type geminiAnswer struct {
	*answer
	prefix      string
	codeRuns    int     // how many pieces of code the provider ran
	notedEnding *ending // the ending if nothing more comes
}

// newGeminiAnswer returns the answerReader of generateContent.
func newGeminiAnswer(a *answer, q request) answerReader {
	return &geminiAnswer{answer: a, prefix: q.prefix}
}

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

// readEvent reads one chunk of a streamed answer.
func (g *geminiAnswer) readEvent(_ string, data []byte) {
	var in geminiChunk
	if decodeLenient(data, &in) {
		g.readChunk(in)
	}
}

// readWhole reads one answer, or the array of chunks that a stream is without alt=sse, and reports
// whether the answer has ended.
func (g *geminiAnswer) readWhole(data []byte) bool {
	chunks := make([]geminiChunk, 1)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		chunks = nil
		if !decodeLenient(data, &chunks) {
			return false
		}
	} else if !decodeLenient(data, &chunks[0]) {
		return false
	}
	for _, in := range chunks {
		g.readChunk(in)
	}
	g.finishStream()
	return g.ended
}

// finishStream ends the answer with the reason of its last chunk: some models give STOP with each
// chunk.
func (g *geminiAnswer) finishStream() {
	if g.notedEnding != nil {
		g.setEnding(*g.notedEnding)
	}
}

// readChunk reads the error, the first candidate's parts and its finish reason of a chunk. Of
// several candidates only the first counts.
func (g *geminiAnswer) readChunk(in geminiChunk) {
	switch {
	case in.Error.Kind() == '{':
		g.setEnding(endingOfError(in.Error))
	case in.Feedback.BlockReason != "":
		g.setEnding(endedDeclined)
	}
	for _, c := range in.Candidates {
		if c.Index != 0 || g.ended { // of several answers the first is told
			continue
		}
		for _, p := range c.Content.Parts {
			g.readPart(p)
		}
		switch c.FinishReason {
		case "", "FINISH_REASON_UNSPECIFIED":
		case "STOP":
			g.notedEnding = &endedWhole
		case "MAX_TOKENS", "CONTINUATION":
			g.notedEnding = &endedTooLong
		case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
			"IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
			g.notedEnding = &endedDeclined
		default: // MALFORMED_FUNCTION_CALL, and more of the kind
			g.notedEnding = new(endingOfErrorName(""))
		}
	}
}

// readPart reads one part of the content: a call, the provider's code, its result, or text.
func (g *geminiAnswer) readPart(p geminiPart) {
	switch {
	case p.Call != nil:
		g.addCall(callKey(p.Call.ID, p.Call.Name, g.prefix), p.Call.Name)
	case p.Code != nil:
		g.codeRuns++
		g.beginProviderTool(fmt.Sprint(g.codeRuns), "code_execution")
	case p.Result != nil:
		g.endProviderTool(fmt.Sprint(g.codeRuns), p.Result.Outcome != "OUTCOME_OK")
	case p.Thought:
		g.closeOutput()
	default:
		g.writeText(p.Text)
	}
}
