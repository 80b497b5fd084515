// Asks a model about the weather, runs the tool that it wants, and prints what it says, with the library of one provider.
// node client.mjs LIBRARY ADDRESS
import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";

const [library, address] = process.argv.slice(2);
const schema = { type: "object", properties: { city: { type: "string" } } };
const question = { role: "user", content: "How is the weather in Ibadan?" };
const print = (text) => process.stdout.write(text ?? "");

const asks = {
  async chat() {
    const client = new OpenAI({ baseURL: address + "/v1", apiKey: "key-1" });
    const messages = [question];
    for (;;) {
      const stream = client.chat.completions.stream({
        model: "fake", messages, tools: [{ type: "function", function: { name: "weather", parameters: schema } }],
      });
      stream.on("content", print);
      const said = (await stream.finalChatCompletion()).choices[0].message;
      if (!said.tool_calls?.length) return;
      messages.push(said);
      for (const call of said.tool_calls) messages.push({ role: "tool", tool_call_id: call.id, content: "sun" });
    }
  },
  async responses() {
    const client = new OpenAI({ baseURL: address + "/v1", apiKey: "key-1" });
    const input = [question];
    for (;;) {
      const stream = await client.responses.create({
        model: "fake", input, stream: true, tools: [{ type: "function", name: "weather", parameters: schema, strict: false }],
      });
      let output = [];
      for await (const event of stream) {
        if (event.type === "response.output_text.delta") print(event.delta);
        if (event.type === "response.completed") output = event.response.output;
      }
      const calls = output.filter((item) => item.type === "function_call");
      if (!calls.length) return;
      input.push(...output);
      for (const call of calls) input.push({ type: "function_call_output", call_id: call.call_id, output: "sun" });
    }
  },
  async messages() {
    const client = new Anthropic({ baseURL: address, apiKey: "key-1" });
    const messages = [question];
    for (;;) {
      const stream = client.messages.stream({
        model: "fake", max_tokens: 1000, messages, tools: [{ name: "weather", input_schema: schema }],
      });
      stream.on("text", print);
      const said = await stream.finalMessage();
      const calls = said.content.filter((block) => block.type === "tool_use");
      if (!calls.length) return;
      messages.push({ role: "assistant", content: said.content });
      messages.push({ role: "user", content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "sun" })) });
    }
  },
  async ollama() {
    const client = new Ollama({ host: address });
    const messages = [question];
    for (;;) {
      let said = { role: "assistant", content: "", tool_calls: [] };
      const tools = [{ type: "function", function: { name: "weather", description: "", parameters: schema } }];
      for await (const part of await client.chat({ model: "fake", messages, stream: true, tools })) {
        print(part.message.content);
        said.content += part.message.content;
        said.tool_calls.push(...(part.message.tool_calls ?? []));
      }
      if (!said.tool_calls.length) return;
      messages.push(said);
      for (const call of said.tool_calls) messages.push({ role: "tool", tool_name: call.function.name, content: "sun" });
    }
  },
};
await asks[library]();
print("\n");
