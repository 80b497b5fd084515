// An agent of the draft of version 2, on the library of the protocol's own authors, which checks every message that it gets.
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk/experimental/v2";

const say = (client, sessionId, update) => client.notify(acp.methods.client.session.update, { sessionId, update });
const text = (text) => ({ sessionUpdate: "agent_message_chunk", messageId: "m1", content: { type: "text", text } });
const offers = [{ optionId: "a", name: "Always", kind: "allow_always" }, { optionId: "y", name: "Yes", kind: "allow_once" },
  { optionId: "n", name: "No", kind: "reject_once" }];

async function work(client, id) {
  await say(client, id, { sessionUpdate: "state_update", state: "running" });
  const form = await client.request(acp.methods.client.elicitation.create, { sessionId: id, mode: "form", message: "Set it up.",
    requestedSchema: { type: "object", required: ["name"], properties: { name: { type: "string", title: "Its name" } } } });
  await say(client, id, text(`The form: ${form.action} ${form.content?.name}. `));
  await say(client, id, { sessionUpdate: "state_update", state: "requires_action" });
  const first = await client.request(acp.methods.client.session.requestPermission, { sessionId: id, title: "Delete the report?",
    description: "It is old.", options: offers, subject: { type: "command", command: "rm report.txt", cwd: "/srv/plans" } });
  await say(client, id, text(`The first: ${first.outcome.outcome} ${first.outcome.optionId}. `));
  const second = await client.request(acp.methods.client.session.requestPermission, { sessionId: id, title: "Change it?", options: offers,
    subject: { type: "tool_call", toolCall: { toolCallId: "t1", title: "notes.txt", kind: "edit", content: [{ type: "diff",
      changes: [{ operation: "modify", path: "/srv/plans/notes.txt" }], patch: { format: "git_patch", text: "-b\n+c\n+d\n" } }] } } });
  await say(client, id, text(`The second: ${second.outcome.outcome} ${second.outcome.optionId}.`));
  await say(client, id, { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
}

acp.agent({ name: "checker" })
  .onRequest(acp.methods.agent.initialize, ({ params }) => {
    if (!params.capabilities?.elicitation?.form) throw new Error("the client takes no forms");
    return { protocolVersion: acp.PROTOCOL_VERSION, info: { name: "checker", title: "Checker 2", version: "1" }, capabilities: { session: {} } };
  })
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: "s1",
    availableCommands: [{ type: "command", name: "tidy", description: "Tidies up" }] }))
  .onRequest(acp.methods.agent.session.prompt, ({ params, client }) => {
    setTimeout(() => work(client, params.sessionId), 0);
    return { messageId: "m0" };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
