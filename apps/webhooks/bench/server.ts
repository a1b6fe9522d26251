import { fork, type ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { leasePort } from '@signet/local'
import { untilAnswers } from '@signet/testkit/bench'

export type Running = { base: string; stop(): Promise<void> }

/** Starts a server in a separate process, because it must not share an event loop with the load. */
export async function startServer(file: string, databaseUrl: string): Promise<Running> {
  // The service must know its own address before it listens.
  const port = await leasePort()
  const base = `http://127.0.0.1:${port}`
  const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)), {
    env: {
      ...process.env,
      WEBHOOKS_BASE_URL: base,
      WEBHOOKS_PORT: String(port),
      WEBHOOKS_INTERNAL_PORT: '0',
      WEBHOOKS_DATABASE_URL: databaseUrl,
      WEBHOOKS_REDIS_URL: process.env['REDIS_URL'],
      WEBHOOKS_IDENTITY_URL: 'http://127.0.0.1:1',
      WEBHOOKS_IDENTITY_JWT_SECRET: randomBytes(32).toString('hex'),
      WEBHOOKS_SECRET_KEYS: `bench:${randomBytes(32).toString('base64')}`,
      WEBHOOKS_INTERNAL_TOKENS: `bench:${createHash('sha256').update('bench').digest('hex')}`,
      // All requests come from one address and few accounts.
      WEBHOOKS_RATE_LIMITS_ENABLED: 'false',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await untilAnswers(`${base}/healthz`, child)
  return {
    base,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
