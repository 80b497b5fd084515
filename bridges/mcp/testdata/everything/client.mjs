// A client on the library of the protocol's authors: it starts the server that its arguments name, and
// prints what comes of each call.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const { tools } = await client.listTools();
console.log("tools", tools.length);

async function call(name, args, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  console.log("result of", name, result.isError ? "(error):" : ":", result.content[0].text ?? result.content[0].type);
}

await call("echo", { message: "hello" });
await call("get-sum", { a: 2, b: 3 });
await call("get-tiny-image", {});
let steps = 0;
await call("trigger-long-running-operation", { duration: 1, steps: 2 }, { onprogress: () => steps++ });
console.log("steps", steps);
const file = { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" };
const waiting = { onprogress: (p) => console.log("waiting:", p.message), resetTimeoutOnProgress: true };
await call("gzip-file-as-resource", file, waiting);
await call("gzip-file-as-resource", { ...file, name: "b.gz" }, waiting);
const tooLate = AbortSignal.timeout(500);
await call("gzip-file-as-resource", { ...file, name: "c.gz" }, { signal: tooLate }).catch((e) => console.log("gave up:", e.message));
await client.close();
console.log("done");
