// A client on the library of the protocol's own authors: node client.mjs URL VERSION. It obeys a command on each line of its input,
// and prints what it sees, a line each; "." says that the command is done.
import { createInterface } from 'node:readline'
import { Role } from '@a2a-js/sdk'
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client'

const [url, version] = process.argv.slice(2)
const card = await new DefaultAgentCardResolver().resolve(url)
card.supportedInterfaces = card.supportedInterfaces.filter(i => i.protocolVersion.startsWith(version))
const client = await new ClientFactory({ transports: [new JsonRpcTransportFactory({ legacyCompat: { enabled: true } })] }).createFromAgentCard(card)
const words = parts => parts.map(p => p.content?.value ?? '').join('')
const states = { 1: 'submitted', 2: 'working', 3: 'completed', 4: 'failed', 5: 'canceled' }
const status = s => states[s.state] + (s.message ? ': ' + words(s.message.parts) : '')
const task = t => `task ${status(t.status)}` + t.artifacts.map(a => ` [${words(a.parts)}]`).join('')
let id
function show ({ payload }) {
  const { $case, value } = payload
  if ($case === 'task') { id = value.id; return task(value) }
  if ($case === 'statusUpdate') return status(value.status)
  if ($case === 'artifactUpdate') return `${value.append ? '+' : ''}artifact ${words(value.artifact.parts)}${value.lastChunk ? ' |' : ''}`
  return $case
}
const message = text => ({ tenant: '', metadata: undefined, configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false },
  message: { messageId: crypto.randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER, metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }] } })
const of = () => ({ tenant: '', id })
const commands = {
  stream: async text => { for await (const item of client.sendMessageStream(message(text))) console.log(show(item)) },
  send: async text => console.log(task(await client.sendMessage(message(text)))),
  subscribe: async () => { for await (const item of client.resubscribeTask(of())) console.log(show(item)) },
  get: async () => console.log(task(await client.getTask({ ...of(), historyLength: undefined }))),
  cancel: async () => console.log(task(await client.cancelTask({ ...of(), metadata: undefined }))),
  id: async other => { id = other },
}
console.log(card.name)
for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...args] = JSON.parse(line)
  const run = commands[command](...args).catch(error => console.log('error', error.constructor.name)).then(() => console.log('.'))
  if (command !== 'stream') await run
}
