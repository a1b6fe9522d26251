import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Db } from '@signet/db'
import { createAuthority, createDatabase, issueCertificate, loadAuthority } from '@signet/local'
import { cpuMsOf, familyCpuMsOf } from '@signet/testkit'
import { Redis } from 'ioredis'
import { quantile } from '@signet/testkit/bench'
import { Child } from '../child.js'
import { findServers } from '../costs.js'
import type { ReceiverAsk, ReceiverTell } from '../messages.js'
import type { LoadAsk, LoadTell, RawAsk, RawTell, Sent } from './messages.js'
import type { Peer } from './peer.js'
import { startSystem, type System } from './system.js'

/** How long to wait if nothing arrives. */
const ARRIVAL_TIMEOUT_MS = 120_000

export type StageOptions = {
  databaseUrl: string
  redisUrl: string
  /** Folder of this checkout. */
  root: string
  profileFolder?: string | undefined
  /** Folder that keeps the receiver's certificate authority across runs, so that a peer can be started with it. */
  authorityFolder?: string | undefined
}

export type Load = Pick<LoadAsk, 'bytes' | 'events' | 'perSecond'>

/** CPU time so far in ms, by the name of the server. */
type Spent = Readonly<Record<string, number>>

/**
 * `cpuUs`: CPU time of all server processes for one delivery. `cpuUsOf`: that of each process, by name. Times run from when an event
 * was due to its arrival.
 */
export type Run = {
  perSecond: number
  cpuUs: number
  cpuUsOf: Readonly<Record<string, number>>
  p50Ms: number
  p99Ms: number
}

/** One of the systems that are compared: it takes notices and delivers them to the receiver. */
export type Contender = {
  run(load: Load): Promise<Run>
  /** Resident memory of its processes; empty for the raw limit. */
  memoryMib(): Readonly<Record<string, number>>
  stop(): Promise<void>
}

/** Where to publish other loads than those of `run`. */
export type Ingest = Pick<System, 'ingestUrl' | 'token'>

/** The product, whose processes and database the bench can inspect. */
export type OwnContender = Contender &
  Ingest &
  Pick<System, 'account' | 'addDispatcher' | 'attempts' | 'databaseUrl' | 'pids' | 'queuePrefix'>

type Measured = {
  endpoints: number
  spent: () => Spent
  /** Resolves when the run has left no work; omitted if the arrivals are all the work. */
  untilDone?: () => Promise<void>
}

/** Accounts, and endpoints per account: what one event fans out to. */
export type Audience = { accounts: number; endpoints: number }

/** One receiver and one load, each in its own process, shared by all contenders. */
export class Stage {
  static async set(options: StageOptions): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'signet-pipeline-bench-'))
    const { authorityFolder } = options
    const authority =
      authorityFolder === undefined ? await createAuthority() : await loadAuthority(authorityFolder)
    writeFileSync(join(folder, 'authority.pem'), authority.cert)
    const receiver = new Child<ReceiverAsk, ReceiverTell>('receiver-process.ts')
    const listening = await receiver.ask({ kind: 'listen', ...(await issueCertificate(authority)) })
    if (listening.kind !== 'listening') throw new Error('the receiver does not listen')
    const redis = new Redis(options.redisUrl)
    const db = new Db({ connectionString: options.databaseUrl, max: 1 })
    const servers = await findServers(db, redis)
    const load = new Child<LoadAsk, LoadTell>('whole-way/load-process.ts')
    const receiverUrl = `https://127.0.0.1:${listening.port}`
    return new Stage(options, { folder, ca: authority.cert, receiver, receiverUrl, redis, db, servers, load })
  }

  private constructor(
    private readonly options: StageOptions,
    private readonly parts: {
      folder: string
      ca: string
      receiver: Child<ReceiverAsk, ReceiverTell>
      receiverUrl: string
      redis: Redis
      db: Db
      servers: { postmaster: number; redis: number }
      load: Child<LoadAsk, LoadTell>
    },
  ) {}

  /** Starts both apps of a checkout, by default of this one. */
  async system({ accounts, endpoints }: Audience, root = this.options.root): Promise<OwnContender> {
    const { folder, receiverUrl } = this.parts
    const system = await startSystem({
      ...this.options,
      root,
      receiverUrl,
      caFile: join(folder, 'authority.pem'),
    })
    const ids = await Promise.all(Array.from({ length: accounts }, () => system.account(endpoints)))
    const to = { url: system.ingestUrl, token: system.token, accounts: ids }
    const { pids, untilDone } = system
    return {
      ...system,
      run: (load) =>
        this.#run({ to, ...load }, { endpoints, spent: () => this.#spentWithServers(pids), untilDone }),
    }
  }

  /** Another product, with the same accounts, endpoints and events. */
  async peer({ accounts, endpoints }: Audience, peer: Peer, file: string): Promise<Contender> {
    const { folder, receiverUrl } = this.parts
    const caFile = join(folder, 'authority.pem')
    const subscriptions: unknown[] = []
    for (let account = 0; account < accounts; account += 1) {
      const urls = Array.from(
        { length: endpoints },
        (_, number) => `${receiverUrl}/peer/${account}/${number}`,
      )
      subscriptions.push(await peer.subscribe({ urls, caFile }))
    }
    const spent = () =>
      Object.fromEntries(Object.entries(peer.pids ?? {}).map(([name, pid]) => [name, familyCpuMsOf(pid)]))
    return {
      run: (load) => this.#run({ to: { peer: file, subscriptions }, ...load }, { endpoints, spent }),
      memoryMib: () => ({}),
      stop: () => Promise.resolve(),
    }
  }

  async raw(): Promise<Contender & Ingest> {
    const { ca, receiverUrl } = this.parts
    const database = `bench_raw_${Date.now()}`
    await createDatabase(this.options.databaseUrl, database)
    const url = new URL(this.options.databaseUrl)
    url.pathname = `/${database}`
    const db = new Db({ connectionString: url.href, max: 1 })
    await db.query('create table events (id text primary key, body bytea not null)')
    await db.close()
    const child = new Child<RawAsk, RawTell>('whole-way/raw-process.ts')
    const { port } = await child.ask({ databaseUrl: url.href, receiverUrl: `${receiverUrl}/raw`, ca })
    const ingest: Ingest = { ingestUrl: `http://127.0.0.1:${port}/`, token: '' }
    const to = { url: ingest.ingestUrl, token: ingest.token, accounts: [''] }
    const spent = () => this.#spentWithServers({ raw: child.pid })
    return {
      ...ingest,
      run: (load) => this.#run({ to, ...load }, { endpoints: 1, spent }),
      memoryMib: () => ({}),
      stop: () => Promise.resolve(child.stop()),
    }
  }

  /** Returns how long the events of each publisher took to arrive, in ms, while all of them publish at once. */
  async latencies<Name extends string>(
    publishers: Readonly<Record<Name, () => Promise<Sent>>>,
  ): Promise<Record<Name, number[]>> {
    const before = (await this.#ask(false)).count
    this.parts.receiver.tell({ kind: 'note' })
    const names = Object.keys(publishers) as Name[]
    const sent = await Promise.all(names.map((name) => publishers[name]()))
    await this.#untilArrived(before + sent.flat().length)
    const at = new Map((await this.#ask(true)).arrivals)
    const times = sent.map((events) => events.map(([id, due]) => (at.get(id) ?? NaN) - due))
    return Object.fromEntries(names.map((name, index) => [name, times[index] ?? []])) as Record<
      Name,
      number[]
    >
  }

  async close(): Promise<void> {
    const { receiver, load, redis, db, folder } = this.parts
    receiver.stop()
    load.stop()
    redis.disconnect()
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  }

  #spentWithServers(pids: Readonly<Record<string, number>>): Spent {
    const { servers } = this.parts
    return {
      ...Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuMsOf(pid)])),
      redis: cpuMsOf(servers.redis),
      postgres: familyCpuMsOf(servers.postmaster),
    }
  }

  async #run(ask: LoadAsk, { endpoints, spent, untilDone }: Measured): Promise<Run> {
    const { load } = this.parts
    const deliveries = ask.events * endpoints
    const expected = (await this.#ask(false)).count + deliveries
    this.parts.receiver.tell({ kind: 'note' })
    const before = spent()
    const startedAt = Date.now()
    const { sent } = await load.ask(ask)
    await this.#untilArrived(expected)
    await untilDone?.()
    const cpuUsOf = Object.fromEntries(
      Object.entries(spent()).map(([name, ms]) => [name, (1000 * (ms - (before[name] ?? 0))) / deliveries]),
    )
    const { arrivals } = await this.#ask(true)
    const at = new Map(sent)
    const times = arrivals.flatMap(([id, arrivedAt]) => {
      const due = at.get(id)
      return due === undefined ? [] : [arrivedAt - due]
    })
    if (times.length < deliveries / 2) throw new Error('deliveries arrive without the ids of their events')
    const lastArrival = arrivals.at(-1)?.[1] ?? NaN
    return {
      perSecond: deliveries / ((lastArrival - startedAt) / 1000),
      cpuUs: Object.values(cpuUsOf).reduce((sum, us) => sum + us, 0),
      cpuUsOf,
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
    }
  }

  async #untilArrived(expected: number): Promise<void> {
    let seen = -1
    for (let since = performance.now(); performance.now() - since < ARRIVAL_TIMEOUT_MS; await sleep(20)) {
      const { count } = await this.#ask(false)
      if (count >= expected) return
      if (count !== seen) since = performance.now()
      seen = count
    }
    throw new Error(`${expected - seen} deliveries are missing`)
  }

  async #ask(arrivals: boolean) {
    const answer = await this.parts.receiver.ask({ kind: 'ask', arrivals })
    if (answer.kind !== 'count') throw new Error('the receiver says something else')
    return answer
  }
}
