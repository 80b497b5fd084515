// Replaces what the swarm's services import beside their own code: its store, its settings, its log and its files.
const stubs = {
  'logger.mjs': 'const log = (...all) => console.error(...all); export default { info: () => {}, warn: log, error: log, debug: () => {} }',
  'config.mjs': 'export default { wakeDaemon: { wakeSubscriptionLiveCursorPath: "unused" } }',
  'fs-extra': 'export default { ensureDirSync: () => {}, writeFileSync: () => {} }',
}
const graph = new URL('./graph.mjs', import.meta.url).href
export async function resolve(specifier, context, next) {
  const name = specifier.split('/').pop()
  if (name === 'GraphService.mjs') return { url: graph, shortCircuit: true }
  return stubs[name] && !context.parentURL?.includes('modelcontextprotocol') ? { url: 'data:text/javascript,' + encodeURIComponent(stubs[name]), shortCircuit: true } : next(specifier, context)
}
