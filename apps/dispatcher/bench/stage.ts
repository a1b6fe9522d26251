import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, issueCertificate } from '@signet/local'
import { Child } from './child.js'
import { type ReceiverAsk, type ReceiverTell, type SendAsk, type SendTell } from './messages.js'
import { startPipeline, type Pipeline } from './pipeline.js'

/** Everything that takes part, each in a process of its own. */
export type Stage = {
  receiver: Child<ReceiverAsk, ReceiverTell>
  url: (path: string) => string
  raw(posts: number, bytes: number, paths: readonly string[]): Promise<number>
  bullmq(posts: number, bytes: number, paths: readonly string[]): Promise<number>
  startPipeline(name: string): Promise<Pipeline>
  close(): void
}

export async function setStage(databaseUrl: string, redisUrl: string): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-dispatch-bench-'))
  const authority = await createAuthority()
  const caFile = join(folder, 'authority.pem')
  writeFileSync(caFile, authority.cert)
  const receiver = new Child<ReceiverAsk, ReceiverTell>('receiver-process.ts')
  const listening = await receiver.ask({ kind: 'listen', ...(await issueCertificate(authority)) })
  if (listening.kind !== 'listening') throw new Error('the receiver does not listen')
  const url = (path: string) => `https://127.0.0.1:${listening.port}${path}`
  const rawSender = new Child<SendAsk, SendTell>('raw-process.ts')
  const queueSender = new Child<SendAsk, SendTell>('queue-process.ts')
  const run = async (
    child: Child<SendAsk, SendTell>,
    posts: number,
    bytes: number,
    paths: readonly string[],
  ) => {
    const answer = await child.ask({ urls: paths.map(url), bytes, posts, ca: authority.cert, redisUrl })
    return answer.perSecond
  }
  const pipelines: Pipeline[] = []
  return {
    receiver,
    url,
    raw: (posts, bytes, paths) => run(rawSender, posts, bytes, paths),
    bullmq: (posts, bytes, paths) => run(queueSender, posts, bytes, paths),
    async startPipeline(name) {
      const pipeline = await startPipeline(name, { databaseUrl, redisUrl, receiverUrl: url, caFile })
      pipelines.push(pipeline)
      return pipeline
    },
    close() {
      for (const child of [receiver, rawSender, queueSender]) child.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
