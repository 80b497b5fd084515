// A memory server with the wake subscriptions of Neo's swarm as they are published, on the library of MCP's authors. It prints its
// address, and obeys a command on each line of its input.
import { createServer } from 'node:http'
import { register } from 'node:module'
import { createInterface } from 'node:readline'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js'
register('./hooks.mjs', import.meta.url)
const folder = './node_modules/neo.mjs/'
const { default: Neo } = await import(folder + 'src/Neo.mjs')
globalThis.Neo ??= Neo
await import(folder + 'src/core/_export.mjs')
const { default: wakes } = await import(folder + 'ai/services/memory-core/WakeSubscriptionService.mjs')
const { default: engine } = await import(folder + 'ai/services/memory-core/CoalescingEngineService.mjs')
const { default: identity } = await import(folder + 'ai/mcp/server/shared/services/RequestContextService.mjs')
const { default: graph } = await import('./graph.mjs')

const as = (agentIdentityNodeId, run) => identity.run({ agentIdentityNodeId }, run)
const sessions = new Map()
let polls = true // this version of the swarm has no poll-digest yet

async function manage (ask) {
  if (ask.action !== 'poll-digest' || !polls) return wakes.manage(ask)
  const { events, lastLogId } = await wakes.resync(ask)
  return { subscriptionId: ask.subscriptionId, pending: events.length, watermark: lastLogId, ...events.length ? { digest: 'text' } : { reason: 'none' } }
}

async function message (id, subject, to = '@ada') {
  graph.upsertNode({ id, type: 'MESSAGE', properties: { from: '@bob', subject, to } })
  graph.linkNodes(id, to, 'SENT_TO')
}
const commands = {
  message: async (...all) => { await message(...all); await wakes.pump() },
  silent: message, // the swarm does not notify of it
  task: async (id, state) => {
    graph.upsertNode({ id, type: 'MESSAGE', properties: { from: '@bob', updatedAt: new Date().toISOString(), task: { state, assignee: '@ada' } } })
    await wakes.pump()
  },
  data: async wake => { // as the decision record has it, where the swarm itself sends the wake without an envelope
    wake.subscriptionId = (await as('@ada', () => wakes.list())).subscriptions[0].id
    for (const { server } of sessions.values()) await server.notification({ method: 'notifications/message', params: { level: 'info', logger: 'neo-wake-substrate', data: wake } })
  },
  polls: async on => { polls = on },
  rebuild: async () => { graph.rebuild(); wakes.liveCursor = 0 },
  other: () => as('@eve', () => wakes.subscribe({ trigger: 'SENT_TO_ME', harnessTarget: 'mcp-notifications' })),
  cut: async () => {
    for (const { server, transport } of sessions.values()) { engine.removeMcpServer(server); await transport.close() }
    sessions.clear()
    web.closeAllConnections()
  },
}

async function open () {
  const server = new Server({ name: 'neo-memory-core', version: '1' }, { capabilities: { tools: {}, logging: {} } })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    try {
      return { content: [{ type: 'text', text: JSON.stringify(await as('@ada', () => manage(params.arguments))) }] }
    } catch (error) {
      return { isError: true, content: [{ type: 'text', text: error.message }] }
    }
  })
  const session = { server, transport: new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID(), onsessioninitialized: id => sessions.set(id, session) }) }
  await server.connect(session.transport)
  engine.addMcpServer(server)
  return session
}
const web = createServer(async (req, res) => {
  if (req.headers.authorization !== 'Bearer key') return res.writeHead(401).end()
  const id = req.headers['mcp-session-id']
  const session = id ? sessions.get(id) : await open()
  if (!session) return res.writeHead(404).end()
  if (req.method === 'GET') {
    const writeHead = res.writeHead
    res.writeHead = (...all) => { console.log('listening'); return writeHead.apply(res, all) }
  }
  await session.transport.handleRequest(req, res)
})
web.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${web.address().port}/mcp`))
for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...args] = JSON.parse(line)
  await commands[command](...args)
}
