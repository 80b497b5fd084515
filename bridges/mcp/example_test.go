package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/mcp"
	"github.com/aaep-go/aaep/producer"
)

func Example() {
	p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "files"}})
	defer p.Shutdown(context.Background())
	fromClient, client := io.Pipe()
	answers, toClient := io.Pipe()
	fromServer, server := io.Pipe()
	type link struct {
		io.Reader
		io.WriteCloser
	}
	go mcp.Tee(p, mcp.Config{}, link{fromClient, toClient}, link{fromServer, server})

	// The client calls a tool that the server has not listed. No user follows p, so none allows it.
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe","arguments":{}}}`)
	answer, _ := bufio.NewReader(answers).ReadString('\n')
	fmt.Print(answer)
	// Output: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Error: no user could be asked; the action was not done"}],"isError":true}}
}
