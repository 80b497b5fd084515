// Runs the sender of Neo's swarm as it is published. Each line it reads is a JSON array: what to do, and with what. It prints a line
// when that is done.
import { register } from 'node:module'
import { createInterface } from 'node:readline'
register('./hooks.mjs', import.meta.url)
const folder = './node_modules/neo.mjs/'
const { default: Neo } = await import(folder + 'src/Neo.mjs')
globalThis.Neo ??= Neo
await import(folder + 'src/core/_export.mjs')
const { default: webhook } = await import(folder + 'ai/services/memory-core/WebhookDeliveryService.mjs')
const { default: engine } = await import(folder + 'ai/services/memory-core/CoalescingEngineService.mjs')
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [what, subscription, ...events] = JSON.parse(line)
  if (what === 'deliver') {
    for (const event of events) await webhook.deliver({ id: subscription.id, properties: subscription }, event)
  } else {
    for (const event of events) engine.enqueue(subscription, event)
    await engine.flushAll()
  }
  console.log('done')
}
