// A web app on the client of the protocol's authors, which verifies the order of the events. node app.mjs ADDRESS MESSAGE
import { HttpAgent } from "@ag-ui/client";

const [url, content] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId: "thread-1", initialMessages: [{ id: "u1", role: "user", content }] });
await agent.runAgent({ runId: "run-1" }, {
  onRunFinishedEvent({ event }) {
    console.log(`finished ${event.runId} ${event.outcome?.type ?? "success"}`);
  },
  onRunErrorEvent({ event }) {
    console.log(`error ${event.message}`);
  },
});
for (const message of agent.messages) if (message.role === "assistant" && message.content) console.log(`says ${message.content}`);
