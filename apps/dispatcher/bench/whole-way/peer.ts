import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Another product in the same harness, as a module of the user exports it: `infra/site/peers.md` has an example. */
export type Peer = {
  /** Name and version, as the results show them. */
  name: string
  /** One line about the setup, for readers of the results. */
  settings: string
  /** Processes by name, whose CPU time counts together with that of their children. If empty, CPU time is not measured. */
  pids?: Readonly<Record<string, number>>
  /** Sets up delivery of one account's events to all of these URLs. `publish` gets the result as JSON. */
  subscribe: (to: { urls: readonly string[]; caFile: string }) => Promise<unknown>
  /** The request that publishes one event. The event's id must arrive within the first 1,024 bytes of each delivery's body. */
  publish: (target: unknown, event: { id: string; text: string }) => PublishRequest
}

export type PublishRequest = { url: string; headers: Readonly<Record<string, string>>; body: string }

export async function loadPeer(file: string): Promise<Peer> {
  const path = isAbsolute(file) ? file : resolve(file)
  const peer = (await import(pathToFileURL(path).href)) as Partial<Peer>
  const missing = (['name', 'settings', 'subscribe', 'publish'] as const).filter(
    (member) => peer[member] === undefined,
  )
  if (missing.length > 0) throw new Error(`${file} does not export ${missing.join(', ')}`)
  return peer as Peer
}
