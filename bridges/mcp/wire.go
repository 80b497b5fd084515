package mcp

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/toolwords"
)

// message is one of JSON-RPC.
type message struct {
	ID     jsontext.Value `json:"id,omitzero"`
	Method string         `json:"method,omitzero"`
	Params jsontext.Value `json:"params,omitzero"`
	Result jsontext.Value `json:"result,omitzero"`
	Error  jsontext.Value `json:"error,omitzero"`
}

// callParams are those of tools/call.
type callParams struct {
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Task      jsontext.Value `json:"task"`
	Meta      struct {
		ProgressToken jsontext.Value `json:"progressToken"`
	} `json:"_meta"`
}

// callResult is what a tool has answered, of which only text is told.
type callResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	IsError bool `json:"isError"`
}

// readClient reads a line of the client: one message or a batch. The error says why the server
// might read it differently: a member twice or in another case, or a carriage return within the
// line. batch says that the messages came as one.
func readClient(line []byte) (messages []message, batch bool, err error) {
	line = bytes.TrimRight(line, "\r\n")
	switch {
	case bytes.IndexByte(line, '\r') >= 0:
		return nil, false, errors.New("it has the end of a line in it")
	case !utf8.Valid(line):
		return nil, false, errors.New("it is not in UTF-8")
	}
	if messages, batch, err = readLine(line); err != nil {
		return nil, batch, err
	}
	all := []jsontext.Value{line}
	if batch {
		if err := bridge.Decode(line, &all); err != nil {
			return nil, true, err
		}
	}
	for i, m := range messages {
		err = bridge.CheckMembers(all[i], "id", "method", "params")
		if err == nil && m.Method == callTool && m.Params.Kind() == '{' {
			err = bridge.CheckMembers(m.Params, "name", "arguments", "task", "_meta")
		}
		if err != nil {
			return nil, batch, err
		}
	}
	return messages, batch, nil
}

// readLine reads a line of either side: one message, or a batch of them, which batch says. The
// error is that of JSON.
func readLine(line []byte) (messages []message, batch bool, err error) {
	if text := bytes.TrimLeft(line, " \t\r\n"); len(text) > 0 && text[0] == '[' {
		err = bridge.Decode(line, &messages)
		return messages, true, err
	}
	var m message
	err = bridge.Decode(line, &m)
	return []message{m}, false, err
}

// outcome returns what is announced of the answer to a call: the first sentence of its text, "" for
// none, or that there is none beside images and the like; or else the failure that the tool or the
// server reports.
func (m *message) outcome() (text string, failure error) {
	if m.Error != nil {
		var e struct {
			Message string `json:"message"`
		}
		if bridge.Decode(m.Error, &e) != nil || e.Message == "" {
			return "", errors.New("an error without words")
		}
		return "", errors.New(toolcall.Line(e.Message))
	}
	var result callResult
	if bridge.Decode(m.Result, &result) != nil {
		return "", nil
	}
	images := 0
	for _, part := range result.Content {
		switch {
		case part.Type != "text":
			images++
		case text == "":
			text = toolwords.FirstSentence(part.Text)
		}
	}
	if result.IsError {
		return "", errors.New(toolcall.Line(text))
	}
	if text == "" && images > 0 {
		text = "The result has no text."
	}
	return text, nil
}

// lineWriter is one side of the link. The lock is held while a line is written.
type lineWriter struct {
	sync.Mutex
	io.Writer
}

// writeLine writes a line between two others.
func (w *lineWriter) writeLine(line []byte) error {
	w.Lock()
	defer w.Unlock()
	_, err := w.Write(line)
	return err
}
