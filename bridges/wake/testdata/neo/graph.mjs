// The swarm's store in memory, as far as its wake subscriptions use it: nodes, edges, and the log of their changes.
const table = () => ({ items: [], get (id) { return this.items.find(item => item.id === id) } })
const nodes = table(), edges = table()
let log = []
function put (into, type, item) {
  const at = into.items.findIndex(old => old.id === item.id)
  if (at < 0) into.items.push(item); else into.items[at] = item
  log.push({ id: item.id, type })
}
export default {
  db: {
    nodes,
    edges,
    storage: {
      getDeltaLog (since) {
        const ids = type => [...new Set(log.slice(since).filter(row => row.type === type).map(row => row.id))]
        return { lastLogId: Math.max(since, log.length), invalidNodes: ids('nodes'), invalidEdges: ids('edges').map(id => ({ id })) }
      },
    },
  },
  ready: async () => {},
  requireDb: () => {},
  getNode: () => null,
  upsertNode: ({ id, type, properties }) => put(nodes, 'nodes', { id, label: type, properties }),
  linkNodes: (source, target, type) => put(edges, 'edges', { id: `${source} ${type} ${target}`, source, target, type }),
  rebuild: () => { log = [] },
}
