import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Db } from '@signet/db'
import { createAuthority, issueCertificate } from '@signet/local'
import { Redis } from 'ioredis'
import { Child } from './child.js'
import { createMeter, findServers, type Meter } from './costs.js'
import type { ReceiverAsk, ReceiverTell, SendAsk, SendTell } from './messages.js'
import { startPipeline, type Pipeline } from './pipeline.js'

export type StageOptions = { databaseUrl: string; redisUrl: string; profileFolder?: string }

export type Comparison = {
  /** Returns the posts per second. */
  run(posts: number, bytes: number, paths: readonly string[]): Promise<number>
  meter: Meter
}

/** Everything that takes part, each in its own process. */
export type Stage = {
  receiver: Receiver
  /** Signed keep-alive POSTs and nothing else. */
  raw: Comparison
  /** BullMQ and POST, no database. */
  queue: Comparison
  startPipeline(name: string): Promise<Pipeline>
  /** Meters what a pipeline and the servers it uses have spent. */
  meterOf(pipeline: Pipeline): Meter
  close(): Promise<void>
}

export type Receiver = {
  count(): Promise<number>
  /** Starts noting when each event arrives. */
  note(): void
  /** Ends the noting, and returns what was noted. */
  noted(): Promise<readonly (readonly [eventId: string, at: number])[]>
}

export async function setStage({ databaseUrl, redisUrl, profileFolder }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-dispatch-bench-'))
  const authority = await createAuthority()
  const caFile = join(folder, 'authority.pem')
  writeFileSync(caFile, authority.cert)
  const listener = new Child<ReceiverAsk, ReceiverTell>('receiver-process.ts')
  const listening = await listener.ask({ kind: 'listen', ...(await issueCertificate(authority)) })
  if (listening.kind !== 'listening') throw new Error('the receiver does not listen')
  const receiverUrl = (path: string) => `https://127.0.0.1:${listening.port}${path}`

  const redis = new Redis(redisUrl)
  const db = new Db({ connectionString: databaseUrl, max: 1 })
  const servers = await findServers(db, redis)
  const meter = (sender: number, database?: Db) =>
    createMeter(servers, { sender, receiver: listener.pid, redis, db: database })
  const senders: Child<SendAsk, SendTell>[] = []
  const comparison = (file: string): Comparison => {
    const child = new Child<SendAsk, SendTell>(file)
    senders.push(child)
    return {
      meter: meter(child.pid),
      async run(posts, bytes, paths) {
        const urls = paths.map(receiverUrl)
        return (await child.ask({ urls, bytes, posts, ca: authority.cert, redisUrl })).perSecond
      },
    }
  }

  return {
    receiver: receiverIn(listener),
    raw: comparison('raw-process.ts'),
    queue: comparison('queue-process.ts'),
    startPipeline: (name) =>
      startPipeline(name, { databaseUrl, redisUrl, receiverUrl, caFile, profileFolder }),
    meterOf: (pipeline) => meter(pipeline.pid, pipeline.db),
    async close() {
      for (const child of [listener, ...senders]) child.stop()
      redis.disconnect()
      await db.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function receiverIn(child: Child<ReceiverAsk, ReceiverTell>): Receiver {
  const ask = async (arrivals: boolean) => {
    const answer = await child.ask({ kind: 'ask', arrivals })
    if (answer.kind !== 'count') throw new Error('the receiver says something else')
    return answer
  }
  return {
    count: async () => (await ask(false)).count,
    note: () => child.tell({ kind: 'note' }),
    noted: async () => (await ask(true)).arrivals,
  }
}
