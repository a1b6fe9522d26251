import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Another product in the same harness, as a module of the user's own exports it: `infra/site/peers.md` has an example. */
export type Peer = {
  /** With its version, as the results show it. */
  name: string
  /** How it is set up, in one line for the reader of the results. */
  settings: string
  /** Processes whose CPU time counts with that of their children, by name. None: CPU time is not measured. */
  pids?: Readonly<Record<string, number>>
  /** Makes what leads events of one account to all of these URLs. What it returns is handed to `publish` as JSON. */
  subscribe: (to: { urls: readonly string[]; caFile: string }) => Promise<unknown>
  /** The request that publishes one event. Its id has to arrive within the first 1,024 bytes of each delivery's body. */
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
