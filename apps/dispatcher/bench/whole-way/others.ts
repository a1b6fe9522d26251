import { setTimeout as sleep } from 'node:timers/promises'
import { Db } from '@signet/db'
import { connectRedis } from '@signet/redis'
import { atMost, inTurns, median, quantile, reporter } from '@signet/testkit/bench'
import { newEventId, type EndpointId } from '@signet/webhook-core'
import { WebhookQueues } from '@signet/webhook-core/queue'
import { queuePing } from '@signet/webhook-testkit'
import { Child } from '../child.js'
import type { LoadAsk, LoadTell, Sent } from './messages.js'
import type { OwnContender, Stage } from './stage.js'

const tell = reporter('pipeline')

export const OTHERS = 'others beside large events of one account'

const LARGE: readonly (Pick<LoadAsk, 'bytes' | 'content'> & { name: string; perSecond: number })[] = [
  { name: '20/s of 200 kB HTML', bytes: 200_000, content: 'HTML', perSecond: 20 },
  { name: '50/s of 200 kB HTML', bytes: 200_000, content: 'HTML', perSecond: 50 },
  // The converter refuses each document.
  { name: '1/s of 150 summaries of nested divs', bytes: 1_000_000, content: 'nested HTML', perSecond: 1 },
  // 380,000 of the 400,000 nodes that a page may have: about a second of CPU time each.
  { name: '1/s of the largest pages', bytes: 760_000, content: 'dense HTML', perSecond: 1 },
]
const OTHER_ACCOUNTS = 3
const SECONDS = 10
/** The large events begin before the others, so that all of the others meet some. */
const LEAD_MS = 2000
const SMALL = { bytes: 2048, perSecond: 20 }
const PINGS_PER_SECOND = 5

const MOST_TIMES_ALONE = 2
const MOST_PING_MS = 1000

type Seen = { small: number[]; pings: number[] }
type Options = { redisUrl: string; scale: number }

/** Measures small events and pings of other accounts, alone and beside an account that sends large events. */
export async function measureOthers(stage: Stage, { redisUrl, scale }: Options): Promise<void> {
  const system = await stage.system({ accounts: 0, endpoints: 1 })
  const seconds = Math.max(1, SECONDS * scale)
  const small = publisherOf(
    system,
    await Promise.all(Array.from({ length: OTHER_ACCOUNTS }, () => system.account(1))),
  )
  const pings = await pingPublisher(system, redisUrl)
  const others = {
    small: () => small.publish({ ...SMALL, events: Math.round(SMALL.perSecond * seconds) }),
    pings: () => pings.publish(PINGS_PER_SECOND * seconds),
  }
  for (const { name, ...load } of LARGE) {
    const large = publisherOf(system, [await system.account(1)])
    const events = Math.ceil(load.perSecond * (LEAD_MS / 1000 + seconds))
    const [alone = [], beside = []] = await inTurns<Seen>([
      () => stage.latencies(others),
      () =>
        stage.latencies({
          large: () => large.publish({ ...load, events }),
          small: () => sleep(LEAD_MS).then(others.small),
          pings: () => sleep(LEAD_MS).then(others.pings),
        }),
    ])
    report(name, alone, beside)
    large.stop()
  }
  small.stop()
  await pings.stop()
  await system.stop()
}

function report(name: string, alone: readonly Seen[], beside: readonly Seen[]): void {
  for (const kind of ['small', 'pings'] as const) {
    const of = (runs: readonly Seen[], part: number) => runs.map((run) => quantile(run[kind], part))
    const [before, now] = [of(alone, 0.99), of(beside, 0.99)]
    const times = median(now.map((value, round) => value / (before[round] ?? NaN)))
    const value = median(now)
    const others = {
      p50Ms: Math.round(median(of(beside, 0.5))),
      aloneP50Ms: Math.round(median(of(alone, 0.5))),
      aloneP99Ms: Math.round(median(before)),
      samples: beside.reduce((sum, run) => sum + run[kind].length, 0),
    }
    const result = { case: `${OTHERS}: ${name}: p99 of ${kind}`, value, unit: 'ms', others }
    if (kind === 'small') tell({ ...result, ...atMost(times, MOST_TIMES_ALONE) })
    else tell({ ...result, ratio: times, goal: `<= ${MOST_PING_MS} ms`, ok: value <= MOST_PING_MS })
  }
}

/** Publishes notices of these accounts from a separate process. */
function publisherOf({ ingestUrl, token }: OwnContender, accounts: readonly string[]) {
  const child = new Child<LoadAsk, LoadTell>('whole-way/load-process.ts')
  const to = { url: ingestUrl, token, accounts }
  return {
    publish: async (load: Omit<LoadAsk, 'to'>): Promise<Sent> => (await child.ask({ to, ...load })).sent,
    stop: () => child.stop(),
  }
}

/** Publishes pings as the API does when an owner asks for one. */
async function pingPublisher(system: OwnContender, redisUrl: string) {
  const db = new Db({ connectionString: system.databaseUrl, max: 2 })
  const connection = connectRedis({ url: redisUrl }, 'worker')
  const queues = new WebhookQueues({ connection, prefix: system.queuePrefix })
  const accountId = await system.account(1)
  const { rows } = await db.query<{ id: EndpointId }>(
    'select id from webhook_endpoints where account_id = $1',
    [accountId],
  )
  const endpointId = rows[0]?.id
  if (endpointId === undefined) throw new Error('the account has no endpoint')
  const publishOne = async (): Promise<Sent[number]> => {
    const due = Date.now()
    const eventId = newEventId(new Date())
    await queuePing(db, { eventId, accountId, endpointId })
    await queues.addEvents([{ id: eventId, accountId }])
    return [eventId, due]
  }
  return {
    async publish(count: number): Promise<Sent> {
      const sent: Promise<Sent[number]>[] = []
      for (let number = 0; number < count; number += 1) {
        sent.push(publishOne())
        await sleep(1000 / PINGS_PER_SECOND)
      }
      return Promise.all(sent)
    },
    async stop() {
      await queues.close()
      connection.disconnect()
      await db.close()
    },
  }
}
