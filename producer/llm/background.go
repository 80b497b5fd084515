package llm

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Programs also ask a model for what no person reads: a title for the conversation, which model is
// to answer, what to search for. Nothing in such a request says so for certain. What is looked for
// here is what they have in common, and what a person's own request has not.

const (
	maxInstructions  = 4 << 10 // bytes of the instructions that are looked at
	maxChoiceTokens  = 16      // that an answer may have which is a choice, or a trial whether a key works
	maxTemplateStart = 400     // bytes, within which a request says that it is a template's
)

// A proxyRequest is what tells a program's own requests from a person's, of any dialect.
type proxyRequest struct {
	Model string `json:"model"`

	MaxTokens     int `json:"max_tokens"`
	MaxCompletion int `json:"max_completion_tokens"`
	MaxOutput     int `json:"max_output_tokens"`
	Options       struct {
		Predict int `json:"num_predict"`
	} `json:"options"`

	ResponseFormat jsonFormat `json:"response_format"`
	Text           struct {
		Format jsonFormat `json:"format"`
	} `json:"text"`
	OutputFormat jsonFormat `json:"output_format"`
	OutputConfig struct {
		Format jsonFormat `json:"format"`
	} `json:"output_config"`
	Format           jsontext.Value `json:"format"` // Ollama's
	GenerationConfig struct {
		MIME      string `json:"responseMimeType"`
		MaxOutput int    `json:"maxOutputTokens"`
	} `json:"generationConfig"`

	Tools      []jsontext.Value `json:"tools"`
	Functions  []jsontext.Value `json:"functions"`
	ToolChoice jsontext.Value   `json:"tool_choice"`
	ToolConfig struct {
		Calling struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`

	System       jsontext.Value `json:"system"`
	Instructions jsontext.Value `json:"instructions"`
	GeminiSystem jsontext.Value `json:"systemInstruction"`
	SnakeSystem  jsontext.Value `json:"system_instruction"`

	Messages []jsontext.Value `json:"messages"`
	Contents []jsontext.Value `json:"contents"`
	Input    jsontext.Value   `json:"input"`
	Prompt   string           `json:"prompt"`
	Suffix   string           `json:"suffix"`
}

// jsonFormat is a member that says in which form the answer is to be.
type jsonFormat struct {
	Type string `json:"type"`
}

// An entry is one of a conversation, of any dialect.
type entry struct {
	Role    string         `json:"role"`
	Type    string         `json:"type"`
	Content jsontext.Value `json:"content"`
	Parts   jsontext.Value `json:"parts"`
}

// entries returns the entries of the conversation so far, oldest first, in whichever member the
// provider's format has them.
func (in *proxyRequest) entries() []jsontext.Value {
	var input []jsontext.Value
	if in.Input.Kind() == '[' {
		decodeLenient(in.Input, &input)
	}
	return slices.Concat(in.Messages, in.Contents, input)
}

// isModelEntry reports whether an entry of a conversation is of a model's answer, in any dialect.
// What follows the newest of these is new in a request; see splitConversation.
func isModelEntry(raw jsontext.Value) bool {
	var e entry
	decodeLenient(raw, &e)
	return e.Role == "assistant" || e.Role == "model" || e.Type == "reasoning" || strings.HasSuffix(e.Type, "_call")
}

// modelOf returns the name of the model that a request asks for: the one in the body, or else in
// the path, where Gemini's requests have it.
func (in *proxyRequest) modelOf(path string) string {
	if _, name, ok := strings.Cut(path, "/models/"); ok && in.Model == "" {
		name, _, _ = strings.Cut(name, ":")
		return name
	}
	return in.Model
}

// isBackground reports whether a program seems to make a request for itself, such as for a title,
// so that the answer is not announced.
func (in *proxyRequest) isBackground() bool {
	entries := in.entries()
	if len(entries) == 0 && in.Prompt == "" && in.Input.Kind() != '"' { // Ollama loads a model so
		return true
	}
	return in.wantsJSON() || in.wantsChoice() || in.Suffix != "" || // which is to be completed in the middle
		len(in.Tools)+len(in.Functions) == 0 && in.isTemplate(entries)
}

// wantsJSON reports whether the answer is to be read by a program.
func (in *proxyRequest) wantsJSON() bool {
	return isJSON(in.ResponseFormat.Type) || isJSON(in.Text.Format.Type) || isJSON(in.OutputFormat.Type) ||
		isJSON(in.OutputConfig.Format.Type) || in.Format.Kind() == '{' || textOf(in.Format) == "json" ||
		in.GenerationConfig.MIME == "application/json" || in.GenerationConfig.MIME == "text/x.enum"
}

// wantsChoice reports whether the answer can only be a few tokens, or the call of one tool that the
// program has chosen itself: such a request is the program's own.
func (in *proxyRequest) wantsChoice() bool {
	tokens := []int{in.MaxTokens, in.MaxCompletion, in.MaxOutput, in.Options.Predict, in.GenerationConfig.MaxOutput}
	if n := slices.Max(tokens); n > 0 && n <= maxChoiceTokens {
		return true
	}
	return in.ToolChoice.Kind() == '{' && slices.Contains([]string{"function", "tool"}, kindOf(in.ToolChoice)) ||
		len(in.Tools) > 0 && in.ToolConfig.Calling.Mode == "ANY" && countFunctions(in.Tools) == 1
}

// kindOf returns the member "type" of a JSON object, or "".
func kindOf(v jsontext.Value) string {
	var object jsonFormat
	decodeLenient(v, &object)
	return object.Type
}

// countFunctions returns how many functions Gemini's tools have.
func countFunctions(tools []jsontext.Value) (n int) {
	for _, raw := range tools {
		var in struct {
			Functions []struct{} `json:"functionDeclarations"`
		}
		decodeLenient(raw, &in)
		n += len(in.Functions)
	}
	return n
}

// templates are what a program's own instructions to a model say.
var templates = []*regexp.Regexp{
	// A title, short as titles are, for what is said.
	regexp.MustCompile(`(?is)\b(generate|create|craft|write|provide|suggest|reply|respond|output|extract|generator)\b` +
		`.*\btitles?\b`),
	regexp.MustCompile(`(?is)\btitles?\b.*\b(generator|only|nothing else)\b`),
}

var (
	aboutTalk = regexp.MustCompile(`(?i)\b(conversation|chat|thread|session|first message|user's message)\b`)
	aboutSize = regexp.MustCompile(`(?i)\b(concise|brief|short|words?|word-or-less|only|characters)\b`)

	// A choice of the model or of the next step; a summary in the place of what was said; a
	// question that is rewritten for a search.
	aboutRouting = regexp.MustCompile(`(?i)\byou are (an? |the )?([\w-]+ ){0,4}(router|classifier|routing)\b`)
	aboutHistory = regexp.MustCompile(`(?i)\bsummar\w+ ([\w-]+ ){0,4}` +
		`(conversations|chat history|conversation history|partial conversation)\b`)
	aboutSearch = regexp.MustCompile(`(?i)\bstandalone question\b`)

	// A task that is set out under headings, behind which stands what was said.
	taskHeading = regexp.MustCompile(`(?i)^\s*#{1,4} ?(task|instructions?):?\s*\n`)
)

// isTemplate reports whether the instructions of a request, or what stands in the place of the
// user's words, are a program's own, such as for a title, so that its answer is not told.
func (in *proxyRequest) isTemplate(entries []jsontext.Value) bool {
	system, last := in.instructions(entries), lastWords(entries)
	if aboutRouting.MatchString(system) || aboutHistory.MatchString(system) || wantsTitle(system) ||
		taskHeading.MatchString(last) {
		return true
	}
	start := last[:min(len(last), maxTemplateStart)]
	return wantsTitle(start) || aboutSearch.MatchString(start)
}

// wantsTitle reports whether a text asks for the title of a conversation.
func wantsTitle(text string) bool {
	return aboutTalk.MatchString(text) && aboutSize.MatchString(text) &&
		slices.ContainsFunc(templates, func(x *regexp.Regexp) bool { return x.MatchString(text) })
}

// instructions returns the beginning of the program's own instructions to the model, which are
// members of the request or the first entries of the conversation.
func (in *proxyRequest) instructions(entries []jsontext.Value) (text string) {
	for _, v := range []jsontext.Value{in.System, in.Instructions, in.GeminiSystem, in.SnakeSystem} {
		text += anyText(v)
	}
	for _, raw := range entries[:min(len(entries), 3)] {
		var e entry
		if decodeLenient(raw, &e); e.Role == "system" || e.Role == "developer" {
			text += anyText(e.Content)
		}
	}
	return text[:min(len(text), maxInstructions)]
}

// lastWords returns the text of the last entry of a conversation if it is the user's, else "".
func lastWords(entries []jsontext.Value) string {
	var e entry
	if len(entries) == 0 || !decodeLenient(entries[len(entries)-1], &e) || e.Role != "user" {
		return ""
	}
	return anyText(e.Content) + anyText(e.Parts)
}

// anyText returns the text of a member that is a string, a list of parts, or Gemini's content; ""
// for any other value.
func anyText(v jsontext.Value) (text string) {
	var content struct {
		Parts jsontext.Value `json:"parts"`
	}
	var parts []struct {
		Text string `json:"text"`
	}
	switch v.Kind() {
	case '"':
		decodeLenient(v, &text)
	case '{':
		if decodeLenient(v, &content); content.Parts.Kind() == '[' {
			return anyText(content.Parts)
		}
	case '[':
		decodeLenient(v, &parts)
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text + "\n")
		}
		return b.String()
	}
	return text
}
