// Replaces what the sender imports beside its own code: the swarm's store, and its log.
const stubs = {
  'GraphService.mjs': 'export default { getNode: () => null, upsertNode: () => {}, requireDb: () => {} }',
  'logger.mjs': 'const log = (...all) => console.error(...all); export default { info: () => {}, warn: log, error: log, debug: () => {} }',
}
export async function resolve(specifier, context, next) {
  const name = specifier.split('/').pop()
  return stubs[name] ? { url: 'data:text/javascript,' + encodeURIComponent(stubs[name]), shortCircuit: true } : next(specifier, context)
}
