package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// acpCoder is an agent that speaks ACP. It asks before it deletes a file upon a prompt, and prints
// what it was answered on standard error.
func acpCoder() {
	prompt := json.RawMessage("null")
	for r := bufio.NewScanner(os.Stdin); r.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		if err := json.Unmarshal(r.Bytes(), &m); err != nil {
			panic(err)
		}
		switch m.Method {
		case "session/prompt":
			prompt = m.ID
			fmt.Println(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"There is an old report. "}}}}`)
			fmt.Println(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"rm report.txt","kind":"execute"},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}`)
		case "":
			fmt.Fprintln(os.Stderr, "answered "+strings.TrimSpace(string(m.Result)))
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`+"\n", prompt)
		}
	}
}
