import { setTimeout as sleep } from 'node:timers/promises'
import { Db } from '@signet/db'
import { connectRedis } from '@signet/redis'
import { atMost, inTurns, median, quantile, reporter, rounded } from '@signet/testkit/bench'
import { newEventId, type EndpointId } from '@signet/webhook-core'
import { WebhookQueues } from '@signet/webhook-core/queue'
import { queuePing } from '@signet/webhook-testkit'
import { Child } from '../child.js'
import type { LoadAsk, LoadTell, Sent } from './messages.js'
import { warmUp } from './warm-up.js'
import type { Contender, Ingest, OwnContender, Stage } from './stage.js'

const tell = reporter('pipeline')

export const OTHERS = 'others beside large events of one account'

type Large = Pick<LoadAsk, 'bytes' | 'content'> & { name: string; perSecond: number }
const LARGE: readonly Large[] = [
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

/** How long each event and ping took to arrive, in ms. */
type Seen = { small: number[]; pings: number[] }
type Options = { redisUrl: string; scale: number }

/**
 * Measures small events and pings of other accounts, alone and beside an account that sends large events. The raw limit, which has no
 * accounts and converts nothing, shows how much of that any service has that shares this machine with load and receiver.
 */
export async function measureOthers(stage: Stage, { redisUrl, scale }: Options): Promise<void> {
  const seconds = Math.max(1, SECONDS * scale)
  const system = await stage.system({ accounts: OTHER_ACCOUNTS, endpoints: 1 })
  const others = await Promise.all(Array.from({ length: OTHER_ACCOUNTS }, () => system.account(1)))
  const pings = await pingPublisher(system, redisUrl)
  const ours = sideOf(stage, system, {
    others,
    seconds,
    pings: () => pings.publish(PINGS_PER_SECOND * seconds),
  })
  const raw = sideOf(stage, await stage.raw(), { others: [''], seconds, pings: () => Promise.resolve([]) })
  for (const side of [ours, raw]) await side.warmUp()
  for (const large of LARGE) {
    const sender = await system.account(1)
    const [alone = [], beside = [], rawAlone = [], rawBeside = []] = await inTurns([
      ours.alone,
      () => ours.beside(large, sender),
      raw.alone,
      () => raw.beside(large, ''),
    ])
    report(large.name, { alone, beside, rawAlone, rawBeside })
  }
  await pings.stop()
  for (const side of [ours, raw]) await side.stop()
}

/** Small events of others at one contender, alone and beside large ones of a sender. */
function sideOf(
  stage: Stage,
  contender: Contender & Ingest,
  { others, seconds, pings }: { others: readonly string[]; seconds: number; pings: () => Promise<Sent> },
) {
  const [small, large] = [publisherOf(contender), publisherOf(contender)]
  const publishSmall = () =>
    small.publish(others, { ...SMALL, events: Math.round(SMALL.perSecond * seconds) })
  const after = (delayMs: number) => ({
    small: () => sleep(delayMs).then(publishSmall),
    pings: () => sleep(delayMs).then(pings),
  })
  return {
    alone: (): Promise<Seen> => stage.latencies(after(0)),
    beside({ bytes, content, perSecond }: Large, sender: string): Promise<Seen> {
      const events = Math.ceil(perSecond * (LEAD_MS / 1000 + seconds))
      const publishLarge = () => large.publish([sender], { bytes, content, perSecond, events })
      return stage.latencies({ large: publishLarge, ...after(LEAD_MS) })
    },
    warmUp: () => warmUp(contender),
    async stop() {
      small.stop()
      large.stop()
      await contender.stop()
    },
  }
}

type Runs = readonly Seen[]

function report(
  name: string,
  { alone, beside, rawAlone, rawBeside }: Record<'alone' | 'beside' | 'rawAlone' | 'rawBeside', Runs>,
): void {
  const small = compared(beside, alone, 'small')
  const raw = compared(rawBeside, rawAlone, 'small')
  const rawOthers = {
    rawTimes: rounded(raw.times),
    rawP99Ms: raw.p99Ms,
    rawAloneP99Ms: raw.others.aloneP99Ms,
  }
  const result = (kind: string, { p99Ms }: Compared) => ({
    case: `${OTHERS}: ${name}: p99 of ${kind}`,
    value: p99Ms,
    unit: 'ms',
  })
  tell({
    ...result('small', small),
    ...atMost(small.times, MOST_TIMES_ALONE),
    others: { ...small.others, ...rawOthers },
  })
  const pings = compared(beside, alone, 'pings')
  tell({
    ...result('pings', pings),
    ratio: pings.times,
    goal: `<= ${MOST_PING_MS} ms`,
    ok: pings.p99Ms <= MOST_PING_MS,
    others: pings.others,
  })
}

type Compared = ReturnType<typeof compared>

function compared(beside: Runs, alone: Runs, kind: keyof Seen) {
  const of = (runs: Runs, part: number) => runs.map((run) => quantile(run[kind], part))
  const [now, before] = [of(beside, 0.99), of(alone, 0.99)]
  return {
    p99Ms: median(now),
    times: median(now.map((value, round) => value / (before[round] ?? NaN))),
    others: {
      p50Ms: Math.round(median(of(beside, 0.5))),
      aloneP50Ms: Math.round(median(of(alone, 0.5))),
      aloneP99Ms: Math.round(median(before)),
      samples: beside.reduce((sum, run) => sum + run[kind].length, 0),
    },
  }
}

/** Publishes notices from a separate process. */
function publisherOf({ ingestUrl, token }: Ingest) {
  const child = new Child<LoadAsk, LoadTell>('whole-way/load-process.ts')
  return {
    publish: async (accounts: readonly string[], load: Omit<LoadAsk, 'to'>): Promise<Sent> =>
      (await child.ask({ to: { url: ingestUrl, token, accounts }, ...load })).sent,
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
