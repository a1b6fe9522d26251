import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { webhookHandler } from '@signet/webhook-verify/node'
import { WrongOptions } from './options.js'

type ReceiverOptions = { host: string; port: number; secrets: readonly string[]; arrivalTimeoutMs: number }

export type Receiver = {
  port: number
  /** When each event first arrived, in ms since the epoch, by event id. */
  arrived: ReadonlyMap<string, number>
  /** Deliveries with a wrong signature or body, and deliveries of events that had already arrived. */
  counts: { refused: number; repeated: number }
  /** Resolves when these events have arrived, or when none has arrived for `arrivalTimeoutMs`. */
  untilArrived: (ids: Iterable<string>) => Promise<void>
  close: () => Promise<void>
}

/** Responds with 204 to every delivery that has a valid signature, and records when its event arrived. */
export async function startReceiver({
  host,
  port,
  secrets,
  arrivalTimeoutMs,
}: ReceiverOptions): Promise<Receiver> {
  const arrived = new Map<string, number>()
  const counts = { refused: 0, repeated: 0 }
  let lastAt = performance.now()
  const handle = webhookHandler(
    {
      secret: secrets,
      onRefusal: () => (counts.refused += 1),
    },
    ({ id }) => {
      lastAt = performance.now()
      if (arrived.has(id)) counts.repeated += 1
      else arrived.set(id, performance.timeOrigin + lastAt)
    },
  )
  const server = createServer((req, res) => void handle(req, res))
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new WrongOptions(
      `--receive: port ${port} of ${host} cannot be used (${error.code ?? error.message})`,
    )
  })
  return {
    port: (server.address() as AddressInfo).port,
    arrived,
    counts,
    async untilArrived(ids) {
      lastAt = performance.now()
      const missing = new Set(ids)
      while (performance.now() - lastAt < arrivalTimeoutMs) {
        for (const id of missing) if (arrived.has(id)) missing.delete(id)
        if (missing.size === 0) return
        await sleep(20)
      }
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
