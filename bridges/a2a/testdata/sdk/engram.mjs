// A store of records over the library of A2A's authors, written from the founding text of Engram (ADR-0017): no public program has one.
// engram/subscribe makes a task whose artifacts carry the events. It prints its address, and obeys a command on each line of its input.
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import express from 'express'
import { TaskState } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'

const uri = 'https://github.com/EmberAGI/a2a-engram/tree/v0.1'
const records = new Map() // key -> { value, version }
const log = [] // events in the order of their sequence
const open = new Map() // task id -> { prefix, send, end }
const asked = [] // what each subscription goes on after: a sequence, or "all" where it begins with snapshots
let race = false, forgotten = new Set()
class Tasks extends InMemoryTaskStore {
  load = async (...all) => {
    const task = await InMemoryTaskStore.prototype.load.apply(this, all)
    return forgotten.has(task?.id) ? { ...task, artifacts: [] } : task
  }
}

const now = () => new Date().toISOString()
let sent = 0 // events of the log
const flush = () => {
  for (const s of open.values()) s.send(log.slice(sent))
  sent = log.length
}
const append = event => {
  log.push({ ...event, sequence: sequence(event.version, log.length + 1), updatedAt: now() })
  if (log.length - sent >= batch) flush()
}
let batch = 1
const perKey = process.argv[3] === 'per-key' // the founding text lets sequences rise for each key alone
const sequence = (version, place) => String(perKey ? version : place).padStart(20, '0')
const snapshot = key => ({ kind: 'snapshot', key: { key }, record: { key: { key }, ...records.get(key), createdAt: now(), updatedAt: now() }, version: records.get(key).version, sequence: sequence(records.get(key).version, log.length), updatedAt: now() })
const apply = (key, patch) => {
  const record = records.get(key)
  for (const { path, value } of patch) record.value[path.slice(1)] = value
  record.version++
}
const commands = {
  set: (key, value) => {
    records.set(key, { value, version: (records.get(key)?.version ?? 0) + 1 })
    append({ ...snapshot(key) })
  },
  patch: (key, patch) => {
    apply(key, patch)
    append({ kind: 'delta', key: { key }, patch, version: records.get(key).version })
  },
  corrupt: (key, patch) => { // the store has it right, and what is sent is not for the record
    apply(key, patch)
    append({ kind: 'delta', key: { key }, patch: [{ op: 'replace', path: '/nowhere/at/all', value: 1 }], version: records.get(key).version })
  },
  count: (key, times) => { // as a busy store does, many events in one artifact
    batch = 50
    for (let i = 1; i <= times; i++) commands[i % 100 ? 'patch' : 'corrupt'](key, [{ op: 'replace', path: '/count', value: i }])
    batch = 1
    flush()
  },
  delete: key => {
    append({ kind: 'delete', key: { key }, version: records.get(key).version + 1 })
    records.delete(key)
  },
  repeat: () => { for (const s of open.values()) s.send([...log].reverse()) },
  end: reason => { for (const s of open.values()) s.end(reason) },
  race: () => { race = true },
  cut: () => { server.closeAllConnections() },
  forget: () => { forgotten = new Set(open.keys()) }, // the history of these subscriptions is kept no longer
  asked: () => { console.log(JSON.stringify(asked)) },
}

class Executor {
  execute = async (ctx, bus) => {
    const at = { taskId: ctx.taskId, contextId: ctx.contextId }
    const { filter = {}, includeSnapshot, fromSequence } = ctx.userMessage.metadata
    const prefix = filter.keyPrefix ?? ''
    let n = 0
    const send = events => {
      const parts = events.filter(e => e.key.key.startsWith(prefix)).map(event => ({ content: { $case: 'data', value: { type: 'engram/event', event } }, metadata: undefined, filename: '', mediaType: 'application/json' }))
      if (parts.length) bus.publish(AgentEvent.artifactUpdate({ ...at, append: false, lastChunk: true, metadata: undefined, artifact: { artifactId: `events-${n++}`, name: '', description: '', parts, metadata: undefined, extensions: [] } }))
    }
    const status = (state, metadata) => bus.publish(AgentEvent.statusUpdate({ ...at, metadata, status: { state, message: undefined, timestamp: now() } }))
    bus.publish(AgentEvent.task({ id: ctx.taskId, contextId: ctx.contextId, status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: now() }, artifacts: [], history: [], metadata: { kind: 'engram_subscription' } }))
    if (includeSnapshot) send([...records.keys()].sort().map(snapshot))
    else if (fromSequence) send(log.filter(e => e.sequence > fromSequence))
    await new Promise(done => open.set(ctx.taskId, { send, end: reason => {
      open.delete(ctx.taskId)
      status(reason === 'cancelled' ? TaskState.TASK_STATE_CANCELED : reason === 'error' ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_COMPLETED, { reason })
      bus.finished()
      done()
    } }))
  }
  cancelTask = async taskId => open.get(taskId)?.end('cancelled')
}

const app = express()
const server = createServer(app)
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  const versions = process.argv[2] === '0.3' ? ['0.3', '1.0'] : ['1.0', '0.3'] // the first is the one that is chosen
  const card = { name: 'Store', description: 'Keeps records.', provider: undefined, version: '1.0.0',
    supportedInterfaces: versions.map(v => ({ url: url + '/rpc', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: v })),
    capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri, description: '', required: false, params: undefined }] },
    securitySchemes: {}, securityRequirements: [], defaultInputModes: ['text/plain'], defaultOutputModes: ['application/json'], skills: [], signatures: [] }
  const handler = new DefaultRequestHandler(card, new Tasks(), new Executor())
  const compat = { enabled: versions.includes('0.3') }
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: handler, legacyCompat: compat }))
  app.use('/rpc', express.json(), async (req, res, next) => {
    const { id, method, params } = req.body
    if (!method?.startsWith('engram/')) return next()
    const answer = body => res.json({ jsonrpc: '2.0', id, ...body })
    if (!(req.get('A2A-Extensions') ?? req.get('X-A2A-Extensions') ?? '').includes(uri)) return answer({ error: { code: -32600, message: 'the extension is not activated', data: { uri } } })
    const key = params.key?.key
    switch (method) {
      case 'engram/subscribe': {
        asked.push(params.includeSnapshot ? 'all' : String(Number(params.fromSequence)))
        const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'subscribe' }], metadata: params }
        const made = await (await fetch(url + '/own', { method: 'POST', headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, configuration: { returnImmediately: true } } }) })).json()
        return answer(made.error ? { error: made.error } : { result: { taskId: made.result.task.id } })
      }
      case 'engram/get':
        return answer({ result: { records: records.has(key) ? [{ key: { key }, ...records.get(key) }] : [] } })
      case 'engram/patch':
        if (race) records.get(key).version++
        race = false
        if (params.expectedVersion !== records.get(key).version) return answer({ error: { code: -32000, message: 'the version is another' } })
        commands.patch(key, params.patch)
        return answer({ result: { version: records.get(key).version } })
    }
    answer({ error: { code: -32601, message: 'no such method' } })
  })
  const rpc = jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication, legacyCompat: compat })
  app.use('/rpc', rpc)
  app.use('/own', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }))
  console.log(url)
})
for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...args] = JSON.parse(line)
  commands[command](...args)
  console.log('done')
}
