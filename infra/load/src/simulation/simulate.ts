import { Clock, random } from './clock.js'
import { COMMIT_GAP_MS, type Cost, COSTS, LARGEST_BATCH, type Layout } from './model.js'
import { Cores, Station, timeOf } from './stations.js'

type Event = { due: number }

export type Simulated = {
  arrived: number
  /** From when an event was due to its arrival, in ms. */
  p50Ms: number
  p99Ms: number
  /** How long the last events took, relative to the first: above 2, a queue grows without end. */
  growth: number
  /** Which part of the time each was busy; of machines, of all of their cores. */
  busy: Readonly<Record<string, number>>
}

/** Requests to receivers are not ours to speed up. */
const RECEIVER_MS = 2

/** Events at random moments, `perSecond` on average, on their way through all parts of the layout. */
export function simulate(
  layout: Layout,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Simulated {
  const clock = new Clock()
  const chance = random(1)
  const cores = layout.machines.map(({ cores: count }) => new Cores(clock, count))
  const on = (machine: number) => cores[machine] as Cores
  const outside = layout.outside === undefined ? undefined : on(layout.outside)
  const latencies: number[] = []

  const arrive = (batch: readonly Event[]) => {
    for (const { due } of batch) latencies.push(clock.now - due)
    outside?.work(timeOf(COSTS.outside, batch.length) / 2, () => {})
  }
  const disk = new Station<() => void>({
    clock,
    largest: Infinity,
    serve: (commits, done) =>
      clock.after(layout.flushMs, () => {
        done(layout.flushMs)
        for (const committed of commits) committed()
      }),
  })
  /** A process has one commit under way; what comes meanwhile is in the next. Half of PostgreSQL's work is accepting an event. */
  const commits = (then: (batch: readonly Event[]) => void) =>
    new Station<Event>({
      clock,
      largest: LARGEST_BATCH,
      serve: (batch, done) => {
        const ms = timeOf(COSTS.postgres, batch.length) / 2
        on(layout.postgres).work(ms, () =>
          disk.add([
            () => {
              done(ms)
              then(batch)
            },
          ]),
        )
      },
    })
  const thread = (machine: number, cost: Cost, then: (batch: readonly Event[]) => void, gapMs = 0) =>
    new Station<Event>({
      clock,
      gapMs,
      largest: LARGEST_BATCH,
      serve: (batch, done) => {
        const ms = timeOf(cost, batch.length)
        on(machine).work(ms, () => {
          then(batch)
          done(ms)
        })
      },
    })

  const dispatchers = layout.dispatcher.map((machine) => {
    const committed = commits((batch) => clock.after(RECEIVER_MS, () => arrive(batch)))
    const dispatch = thread(machine, COSTS.dispatcher, (batch) => committed.add(batch))
    return { dispatch, busy: () => dispatch.waiting + committed.waiting }
  })
  const redis = thread(layout.redis, COSTS.redis, (batch) => {
    // A dispatcher fetches when it has the least left to do; of several idle ones, any.
    const [first, second] = [pick(dispatchers, chance), pick(dispatchers, chance)]
    ;(second.busy() < first.busy() ? second : first).dispatch.add(batch)
  })
  const apis = layout.api.map((machine) => {
    const committed = commits((batch) => redis.add(batch))
    return thread(machine, COSTS.api, (batch) => committed.add(batch), COMMIT_GAP_MS)
  })

  const total = Math.round(perSecond * seconds)
  let sent = 0
  const send = () => {
    const event = { due: clock.now }
    const accept = () => pick(apis, chance).add([event])
    if (outside) outside.work(timeOf(COSTS.outside, 1) / 2, accept)
    else accept()
    sent += 1
    if (sent < total) clock.after((-Math.log(1 - chance()) * 1000) / perSecond, send)
  }
  send()
  clock.run()

  const share = (ms: number, count = 1) => ms / clock.now / count
  return {
    arrived: latencies.length,
    ...summaryOf(latencies),
    busy: {
      ...busiest(
        'a process of the API',
        apis.map(({ busyMs }) => share(busyMs)),
      ),
      ...busiest(
        'a dispatcher',
        dispatchers.map(({ dispatch }) => share(dispatch.busyMs)),
      ),
      Redis: share(redis.busyMs),
      'the disk': share(disk.busyMs),
      [layout.machines.length === 1 ? 'the cores' : "PostgreSQL's cores"]: share(
        on(layout.postgres).busyMs,
        on(layout.postgres).count,
      ),
    },
  }
}

const pick = <T>(list: readonly T[], chance: () => number): T => list[Math.floor(chance() * list.length)] as T

const busiest = (name: string, shares: readonly number[]) => ({ [name]: Math.max(...shares) })

function summaryOf(latencies: readonly number[]) {
  const sorted = [...latencies].sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
  const tenth = Math.ceil(latencies.length / 10)
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
  // The very first events meet empty queues.
  const growth = mean(latencies.slice(-tenth)) / mean(latencies.slice(tenth, 2 * tenth))
  return { p50Ms: at(0.5), p99Ms: at(0.99), growth }
}
