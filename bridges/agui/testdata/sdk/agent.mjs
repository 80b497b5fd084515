// An agent that speaks AG-UI, on the encoder of the protocol's authors. It prints its address, and a line for each file it deletes.
import { createServer } from "node:http";
import { EventType } from "@ag-ui/core";
import { EventEncoder } from "@ag-ui/encoder";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const { threadId, runId, messages, resume } = JSON.parse(body);
  const encoder = new EventEncoder({ accept: request.headers.accept });
  response.writeHead(200, { "Content-Type": encoder.getContentType() });
  const emit = (type, members) => response.write(encoder.encodeBinary({ type: EventType[type], ...members }));
  const say = (messageId, ...deltas) => {
    emit("TEXT_MESSAGE_START", { messageId, role: "assistant" });
    for (const delta of deltas) emit("TEXT_MESSAGE_CONTENT", { messageId, delta });
    emit("TEXT_MESSAGE_END", { messageId });
  };
  emit("RUN_STARTED", { threadId, runId });
  const wants = messages.findLast((message) => message.role === "user").content;
  const [answer] = resume ?? [];
  let outcome;
  if (answer) {
    const asked = messages.some((message) => message.toolCalls?.some((call) => call.function.arguments === '{"path":"report.txt"}'));
    if (wants === "delete" && answer.payload?.approved === true && asked) {
      console.log("deleted");
      emit("TOOL_CALL_RESULT", { messageId: "m3", toolCallId: "t1", content: "done", role: "tool" });
      say("m4", "The report ", "is gone.");
    } else if (answer.status === "resolved" && answer.payload?.city) {
      say("m4", `You said ${answer.payload.city}.`);
    } else {
      say("m4", "Then I leave it.");
    }
  } else if (wants === "delete") {
    say("m1", "I look for ", "the report.");
    emit("TOOL_CALL_START", { toolCallId: "t1", toolCallName: "delete_file", parentMessageId: "m1" });
    emit("TOOL_CALL_ARGS", { toolCallId: "t1", delta: '{"path":' });
    emit("TOOL_CALL_ARGS", { toolCallId: "t1", delta: '"report.txt"}' });
    emit("TOOL_CALL_END", { toolCallId: "t1" });
    outcome = { type: "interrupt", interrupts: [{ id: "i1", reason: "tool_call", message: "Delete the report?", toolCallId: "t1" }] };
  } else if (wants === "ask") {
    const responseSchema = { type: "object", properties: { city: { type: "string", title: "City" } }, required: ["city"] };
    outcome = { type: "interrupt", interrupts: [{ id: "i1", reason: "input_required", message: "Which city?", responseSchema }] };
  } else if (wants === "strange") {
    const responseSchema = { type: "object", properties: { shape: { type: "object", properties: {} } }, required: ["shape"] };
    outcome = { type: "interrupt", interrupts: [{ id: "i1", reason: "input_required", message: "Which shape?", responseSchema }] };
  } else {
    emit("STEP_STARTED", { stepName: "reading the orders" });
    emit("REASONING_START", { messageId: "r1" });
    emit("REASONING_MESSAGE_START", { messageId: "r1", role: "reasoning" });
    emit("REASONING_MESSAGE_CONTENT", { messageId: "r1", delta: "They want May." });
    emit("REASONING_MESSAGE_END", { messageId: "r1" });
    emit("REASONING_END", { messageId: "r1" });
    emit("ACTIVITY_SNAPSHOT", { messageId: "a1", activityType: "PLAN", content: { done: 1, of: 3 } });
    emit("ACTIVITY_DELTA", { messageId: "a1", activityType: "PLAN", patch: [{ op: "replace", path: "/done", value: 2 }] });
    emit("TOOL_CALL_START", { toolCallId: "t2", toolCallName: "search" });
    emit("TOOL_CALL_END", { toolCallId: "t2" });
    emit("TOOL_CALL_RESULT", { messageId: "m2", toolCallId: "t2", content: "3 orders", role: "tool" });
    emit("STEP_FINISHED", { stepName: "reading the orders" });
    say("m5", "There are ", "three.");
  }
  emit("RUN_FINISHED", { threadId, runId, ...(outcome && { outcome }) });
  response.end();
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
