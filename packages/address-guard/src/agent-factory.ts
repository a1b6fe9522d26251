import type { Agent, Pool } from 'undici'

type Factory = NonNullable<Agent.Options['factory']>

/**
 * Lets an `Agent` of `undici` drop the pool of an origin only once nobody uses it. On its own it counts connections, but those of a pool
 * that it has dropped count for the next pool of the same origin. It then drops that one too early, and so on: as long as requests
 * follow one another, each opens a connection.
 */
export function droppedWhenUnused(createPool: (...args: Parameters<Factory>) => Pool): Factory {
  return (origin, options) => {
    const pool = createPool(origin, options)
    const on = pool.on.bind(pool) as (event: string, listener: (...args: unknown[]) => void) => Pool
    const isUnused = () => !pool.closed && pool.stats.connected === 0 && pool.stats.size === 0
    // Only the agent adds listeners after this. It has to count nothing.
    pool.on = ((event: string, listener: (...args: unknown[]) => void) => {
      if (event === 'connect') return pool
      if (event !== 'disconnect' && event !== 'connectionError') return on(event, listener)
      return on(event, (...args) => {
        if (isUnused()) listener(...args)
      })
    }) as typeof pool.on
    return pool
  }
}
