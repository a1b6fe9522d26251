import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { webhookHandler } from '@signet/webhook-verify/node'

type ReceiverOptions = { host: string; port: number; secrets: readonly string[]; arrivalTimeoutMs: number }

export type Receiver = {
  port: number
  /** When each event came first, in ms since the epoch, by its id. */
  arrived: ReadonlyMap<string, number>
  /** Deliveries with a signature or a body that is wrong, and of events that had come before. */
  counts: { refused: number; repeated: number }
  /** Resolves when these events have come, or when none came for `arrivalTimeoutMs`. */
  untilArrived: (ids: Iterable<string>) => Promise<void>
  close: () => Promise<void>
}

/** Responds 204 to every delivery with a valid signature, and records when its event arrived. */
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
  await once(server, 'listening')
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
