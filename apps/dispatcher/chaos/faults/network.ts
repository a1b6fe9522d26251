import { setTimeout as sleep } from 'node:timers/promises'
import { losePackets } from '../machine.js'
import type { Fault } from './fault.js'

export const cutRedis = (seconds: number): Fault => ({
  name: `cut Redis off for ${seconds} s`,
  // Job locks expire.
  repeats: 'counted',
  run: ({ proxies }) => cut(proxies.redis, seconds),
})

export const cutPostgres = (seconds: number): Fault => ({
  name: `cut PostgreSQL off for ${seconds} s`,
  // Results wait in processes that keep their locks.
  repeats: 'never',
  run: ({ proxies }) => cut(proxies.postgres, seconds),
})

async function cut(proxy: { cut(): void; heal(): void }, seconds: number): Promise<void> {
  proxy.cut()
  await sleep(seconds * 1000)
  proxy.heal()
}

/** Drops packets between all processes of the run: API, dispatchers, PostgreSQL, Redis and receivers. */
export const loseSomePackets = (percent: number, seconds: number): Fault => ({
  name: `lose ${percent} % of all packets for ${seconds} s`,
  needs: 'network',
  // An answer may come too late.
  repeats: 'counted',
  run: () => lose(percent / 100, seconds),
})

/** Drops packets silently: every connection seems to be open, but nothing comes through. */
export const loseEveryPacket = (seconds: number): Fault => ({
  name: `lose every packet for ${seconds} s`,
  needs: 'network',
  // TCP doubles the time before each retransmission, so it may wait as long again after the last one that was lost.
  lingersMs: seconds * 1000,
  repeats: 'counted',
  run: () => lose(1, seconds),
})

async function lose(share: number, seconds: number): Promise<void> {
  losePackets(share)
  await sleep(seconds * 1000)
  losePackets(0)
}
