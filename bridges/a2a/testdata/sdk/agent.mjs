// An agent on the library of the protocol's own authors. It speaks 1.0 and 0.3 at one address, which it prints; with
// the argument HTTP+JSON, that binding of 1.0 alone. What it does
// depends on the first word of what it is told: see tasks below.
import { createServer } from 'node:http'
import express from 'express'
import { TaskState, Role } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, InMemoryPushNotificationStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server'

const text = value => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' })
const say = (ctx, value) => ({ messageId: crypto.randomUUID(), contextId: ctx.contextId, taskId: ctx.taskId, role: Role.ROLE_AGENT, parts: [text(value)], metadata: undefined, extensions: [], referenceTaskIds: [] })

class Executor {
  waiting = new Map()
  execute = async (ctx, bus) => {
    const at = { taskId: ctx.taskId, contextId: ctx.contextId }
    const words = ctx.userMessage.parts.map(p => p.content?.value ?? '').join('')
    const status = (state, value) => bus.publish(AgentEvent.statusUpdate({ ...at, metadata: undefined, status: { state, message: value ? say(ctx, value) : undefined, timestamp: new Date().toISOString() } }))
    const artifact = (id, parts, append, lastChunk) => bus.publish(AgentEvent.artifactUpdate({ ...at, append, lastChunk, metadata: undefined, artifact: { artifactId: id, name: id, description: '', parts, metadata: undefined, extensions: [] } }))
    if (!ctx.task) {
      if (words.startsWith('message')) {
        bus.publish(AgentEvent.message(say(ctx, 'A message without a task.')))
        return bus.finished()
      }
      bus.publish(AgentEvent.task({ id: ctx.taskId, contextId: ctx.contextId, status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() }, artifacts: [], history: [ctx.userMessage], metadata: undefined }))
      status(TaskState.TASK_STATE_WORKING, 'Reading the orders.')
      artifact('report', [text('The first half. ')], false, false)
      artifact('report', [text('The second half.')], true, true)
      artifact('table', [{ content: { $case: 'data', value: { rows: 3 } }, metadata: undefined, filename: 'table.json', mediaType: 'application/json' }], false, true)
      if (words.startsWith('wait')) {
        await new Promise(done => this.waiting.set(ctx.taskId, done))
        return
      }
      if (words.startsWith('slow')) { // until the test has heard what came before
        await new Promise(done => { process.stdin.once('data', done) })
      }
      if (words.startsWith('ask')) status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which month?')
      else if (words.startsWith('auth')) status(TaskState.TASK_STATE_AUTH_REQUIRED, 'Sign in to the archive.')
      else if (words.endsWith('fail')) status(TaskState.TASK_STATE_FAILED, 'The archive is closed.')
      else if (words.endsWith('reject')) status(TaskState.TASK_STATE_REJECTED, 'That is not what I do.')
      else status(TaskState.TASK_STATE_COMPLETED, 'All is done.')
      return bus.finished()
    }
    bus.publish(AgentEvent.task(ctx.task)) // the library wants it first
    status(TaskState.TASK_STATE_WORKING, 'Going on.')
    artifact('answer', [text('You said ' + words + '.')], false, true)
    status(TaskState.TASK_STATE_COMPLETED, 'All is done.')
    bus.finished()
  }
  cancelTask = async (taskId, bus) => {
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', metadata: undefined, status: { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() } }))
    bus.finished()
    this.waiting.get(taskId)?.()
  }
}

const app = express()
const server = createServer(app)
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  const only = process.argv[2]
  const rest = only === 'HTTP+JSON'
  const interfaces = rest ? [{ url: url + '/rest/', protocolBinding: 'HTTP+JSON', tenant: '', protocolVersion: '1.0' }] : ['1.0', '0.3'].filter(v => !only || v === only).map(v => ({ url: url + '/rpc', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: v }))
  const card = { name: 'Archive', description: 'Answers from the archive.', supportedInterfaces: interfaces, provider: undefined, version: '1.0.0',
    capabilities: { streaming: true, pushNotifications: true, extensions: [] }, securitySchemes: {}, securityRequirements: [],
    defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [], signatures: [] }
  const configs = new InMemoryPushNotificationStore()
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Executor(), undefined, configs, createLegacyAwarePushNotificationSender(configs))
  const compat = { enabled: interfaces.some(i => i.protocolVersion === '0.3') }
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: handler, legacyCompat: compat }))
  app.use('/rpc', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication, legacyCompat: compat }))
  app.use('/rest', restHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }))
  console.log(url)
})
