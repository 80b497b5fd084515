// An agent on the library of the protocol's own authors, which checks every message that it gets. Its one turn uses what other agents in
// the tests do not: a form, notices, a plan, settings, and earlier conversations.
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const config = (model) => [{ id: "model", name: "Model", category: "model", type: "select", currentValue: model,
  options: [{ value: "small", name: "Small" }, { value: "large", name: "Large", description: "slower" }] }];
const say = (client, sessionId, update) => client.notify(acp.methods.client.session.update, { sessionId, update });
const text = (text) => ({ sessionUpdate: "agent_message_chunk", messageId: "m1", content: { type: "text", text } });

acp.agent({ name: "checker" })
  .onRequest(acp.methods.agent.initialize, ({ params }) => {
    if (!params.clientCapabilities.elicitation?.form) throw new Error("the client takes no forms");
    return { protocolVersion: acp.PROTOCOL_VERSION, agentInfo: { name: "checker", title: "Checker", version: "1" },
      agentCapabilities: { sessionCapabilities: { list: {}, resume: {} } } };
  })
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: "s1", configOptions: config("small"),
    modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }, { id: "plan", name: "Plan" }] } }))
  .onRequest(acp.methods.agent.session.list, () => ({ sessions: [{ sessionId: "s0", cwd: "/", title: "Yesterday" }] }))
  .onRequest(acp.methods.agent.session.resume, () => ({ configOptions: config("large") }))
  .onRequest(acp.methods.agent.session.setMode, () => ({}))
  .onRequest(acp.methods.agent.session.setConfigOption, ({ params }) => ({ configOptions: config(params.value) }))
  .onRequest(acp.methods.agent.session.prompt, async ({ params, client }) => {
    const id = params.sessionId;
    await say(client, id, { sessionUpdate: "notice", severity: "warning", title: "The disk is almost full" });
    await say(client, id, { sessionUpdate: "plan", entries: [{ content: "Ask", priority: "high", status: "in_progress" }, { content: "Write", priority: "low", status: "pending" }] });
    const form = await client.request(acp.methods.client.elicitation.create, { sessionId: id, mode: "form", message: "Set it up.",
      requestedSchema: { type: "object", required: ["name"], properties: { name: { type: "string", title: "Its name" } } } });
    await say(client, id, text(`The form: ${form.action} ${form.content?.name}. `));
    const outcome = await client.request(acp.methods.client.session.requestPermission, { sessionId: id,
      toolCall: { toolCallId: "t1", title: "notes.txt", kind: "edit", content: [{ type: "diff", path: "notes.txt", oldText: "a\nb\n", newText: "a\nc\nd\n" }] },
      options: [{ optionId: "y", name: "Yes", kind: "allow_once" }, { optionId: "n", name: "No", kind: "reject_once" }] });
    await say(client, id, text(`The answer: ${outcome.outcome.outcome} ${outcome.outcome.optionId}. `));
    const prompt = params.prompt.map((block) => block.type).join(" ");
    await say(client, id, text(`The prompt: ${prompt}.`));
    return { stopReason: "end_turn" };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
