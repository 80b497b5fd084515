package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/mcp"
	"github.com/aaep-go/aaep/producer"
)

// Whatever a client writes, no call of a tool that is not listed as harmless reaches the server, as
// a program reads it that takes members in any case, the last of two, and two kinds of line ends.
func FuzzClientLine(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"wipe"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"wipe"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","NAME":"wipe"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"wipe"}}]`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + "\r" + `{"method":"tools/call","params":{"name":"wipe"}}` + "\r}",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"Method":"tools/call","params":{"name":"wipe"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		f.Add(seed)
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		f.Fatal(err)
	}
	fromClient, clientOut := io.Pipe()
	clientIn, toClient := io.Pipe()
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	go mcp.Tee(p, mcp.Config{}, struct {
		io.Reader
		io.Writer
	}{fromClient, toClient}, struct {
		io.Reader
		io.WriteCloser
	}{fromServer, toServer})
	answers, passed := bufio.NewReader(clientIn), bufio.NewReader(serverIn)
	io.WriteString(clientOut, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`+"\n")
	if _, err := passed.ReadString('\n'); err != nil {
		f.Fatal(err)
	}
	io.WriteString(serverOut, `{"jsonrpc":"2.0","id":"l","result":`+someTools+"}\n")
	if _, err := answers.ReadString('\n'); err != nil {
		f.Fatal(err)
	}
	go io.Copy(io.Discard, answers)
	f.Fuzz(func(t *testing.T, text string) {
		const last = `{"jsonrpc":"2.0","id":"end of this text","method":"ping"}`
		go io.WriteString(clientOut, text+"\n"+last+"\n")
		for {
			line, err := passed.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == last+"\n" {
				return
			}
			for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == '\r' || r == '\n' }) {
				for _, read := range []string{part, strings.TrimSuffix(strings.TrimPrefix(part, "["), "]")} {
					var m struct {
						Method string
						Params struct{ Name string }
					}
					json.NewDecoder(strings.NewReader(read)).Decode(&m)
					if m.Method == "tools/call" && m.Params.Name != "look" && m.Params.Name != "note" {
						t.Fatalf("%q reached the server", line)
					}
				}
			}
		}
	})
}
