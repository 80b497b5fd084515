// Package acp connects agents that speak the Agent Client Protocol (ACP), version 1 or, where that
// is wanted, the draft of version 2, to AAEP. Start runs such an agent and is its client; each turn
// of the user with it is then a session of a producer.Producer, which any assistive technology can
// follow and answer:
//
//	agent, err := acp.Start(ctx, exec.Command("gemini", "--acp"), acp.Config{Folder: folder})
//	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "gemini", AgentName: agent.Name()}})
//	conversation, err := agent.NewConversation(ctx, p)
//	err = conversation.Prompt(ctx, "Delete the old report.")
//
// What ACP calls a session is a Conversation here, since a session of AAEP is one request of the
// user.
//
// The package never lets an agent do what no user allowed. An answer that allows anything is
// written in one place, after a confirmation of exactly that option was accepted. A plain yes only
// ever selects an option of the kind allow_once; every other outcome is a rejection, or cancelled.
// All text of the agent is untrusted: it is told as such, with what could deceive made visible.
//
// One goroutine reads the agent's lines and applies its updates in their order. Each request of the
// agent has a goroutine of its own, since it may wait for a person. Begin reading at
// Conversation.Prompt, and at permission.go for consent; version2.go has what differs there.
//
// Starting an agent and its settings are in agent.go, what is told of a turn in turn.go and
// words.go, files in files.go, commands in terminal.go, and the agent's own questions in elicit.go.
// Lines and calls of JSON-RPC are in peer.go, ACP's objects in wire.go. Tee, which stands between
// an editor and its agent, is in tee.go.
package acp
