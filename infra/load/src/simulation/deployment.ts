import type { Clock } from './clock.js'
import { COMMIT_GAP_MS, type Cost, COSTS, LARGEST_BATCH, type Layout } from './model.js'
import { Cores, Station, timeOf } from './stations.js'

/** `due` is when the event was due to be published. */
export type Event = { due: number }

type Batch = readonly Event[]
type Dispatcher = { dispatch: Station<Event>; waiting: () => number }

/** Time of a request to a receiver, which we cannot speed up. */
const RECEIVER_MS = 2

/** The processes of a layout, and the path of events through them: an API, Redis, a dispatcher, a receiver. */
export class Deployment {
  readonly #machines: readonly Cores[]
  readonly #disk: Station<() => void>
  readonly #redis: Station<Event>
  readonly #apis: readonly Station<Event>[]
  readonly #dispatchers: readonly Dispatcher[]

  constructor(
    private readonly clock: Clock,
    private readonly layout: Layout,
    private readonly chance: () => number,
    private readonly arrived: (batch: Batch) => void,
  ) {
    this.#machines = layout.machines.map(({ cores }) => new Cores(clock, cores))
    this.#disk = this.#createDisk()
    this.#dispatchers = layout.dispatcher.map((machine) => this.#createDispatcher(machine))
    this.#redis = this.#createThread(layout.redis, COSTS.redis, (batch) => this.#fetch(batch))
    this.#apis = layout.api.map((machine) => {
      const commits = this.#createCommits((batch) => this.#redis.add(batch))
      return this.#createThread(machine, COSTS.api, (batch) => commits.add(batch), COMMIT_GAP_MS)
    })
  }

  publish(event: Event): void {
    this.#outside(1, () => this.#pick(this.#apis).add([event]))
  }

  /** The fraction of the elapsed time that each part was busy: the busiest process of a kind, and all cores of a machine. */
  busy(): Readonly<Record<string, number>> {
    const share = (ms: number, count = 1) => ms / this.clock.now / count
    const busiest = (stations: readonly Station<Event>[]) =>
      Math.max(...stations.map(({ busyMs }) => share(busyMs)))
    const postgres = this.#machine(this.layout.postgres)
    return {
      'a process of the API': busiest(this.#apis),
      'a dispatcher': busiest(this.#dispatchers.map(({ dispatch }) => dispatch)),
      Redis: share(this.#redis.busyMs),
      'the disk': share(this.#disk.busyMs),
      [this.#machines.length === 1 ? 'the cores' : "PostgreSQL's cores"]: share(
        postgres.busyMs,
        postgres.count,
      ),
    }
  }

  #createDisk(): Station<() => void> {
    const { flushMs } = this.layout
    return new Station<() => void>({
      clock: this.clock,
      largest: Infinity,
      serve: (commits, done) =>
        this.clock.after(flushMs, () => {
          done(flushMs)
          for (const committed of commits) committed()
        }),
    })
  }

  #createDispatcher(machine: number): Dispatcher {
    const commits = this.#createCommits((batch) => this.clock.after(RECEIVER_MS, () => this.#arrive(batch)))
    const dispatch = this.#createThread(machine, COSTS.dispatcher, (batch) => commits.add(batch))
    return { dispatch, waiting: () => dispatch.waiting + commits.waiting }
  }

  /**
   * A process makes one commit at a time, and events that arrive in the meantime go into the next one. Half of PostgreSQL's work is
   * accepting events.
   */
  #createCommits(then: (batch: Batch) => void): Station<Event> {
    return new Station<Event>({
      clock: this.clock,
      largest: LARGEST_BATCH,
      serve: (batch, done) => {
        const ms = timeOf(COSTS.postgres, batch.length) / 2
        const committed = () => {
          done(ms)
          then(batch)
        }
        this.#machine(this.layout.postgres).work(ms, () => this.#disk.add([committed]))
      },
    })
  }

  #createThread(machine: number, cost: Cost, then: (batch: Batch) => void, gapMs = 0): Station<Event> {
    return new Station<Event>({
      clock: this.clock,
      gapMs,
      largest: LARGEST_BATCH,
      serve: (batch, done) => {
        const ms = timeOf(cost, batch.length)
        this.#machine(machine).work(ms, () => {
          then(batch)
          done(ms)
        })
      },
    })
  }

  /** A dispatcher fetches when it has the least left to do. If several are idle, any of them does. */
  #fetch(batch: Batch): void {
    const [first, second] = [this.#pick(this.#dispatchers), this.#pick(this.#dispatchers)]
    const { dispatch } = second.waiting() < first.waiting() ? second : first
    dispatch.add(batch)
  }

  #arrive(batch: Batch): void {
    this.arrived(batch)
    this.#outside(batch.length)
  }

  /** The work of the generator and the receiver, half of it for each, if they run on one of these machines. */
  #outside(count: number, then = () => {}): void {
    const { outside } = this.layout
    if (outside === undefined) return then()
    this.#machine(outside).work(timeOf(COSTS.outside, count) / 2, then)
  }

  #machine(index: number): Cores {
    return this.#machines[index] as Cores
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.chance() * list.length)] as T
  }
}
