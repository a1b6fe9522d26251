import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leasePort } from '@signet/local'
import { cpuMsOf, memoryMibOf } from '@signet/testkit'
import { untilAnswers } from '@signet/testkit/bench'

export const JWT_SECRET = 'bench-secret-0123456789-abcdefghijklmnopqrstuvwxyz'

export type Running = {
  base: string
  /** Resident memory in MiB. */
  memory(): number
  /** Processor time since its start, in milliseconds. */
  cpuMs(): number
  stop(): Promise<void>
}

const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

type Options = {
  /** The app of another checkout, in place of this one. */
  app?: string | undefined
  /** AUTH_JWT_KEYS. */
  keys?: string
}

/** The service as it is deployed: compiled, in a process of its own, so that it and the load share no event loop. */
export const startService = (databaseUrl: string, { app, keys }: Options = {}): Promise<Running> =>
  start(
    join(app ?? beside('..'), 'dist/main.js'),
    databaseUrl,
    keys === undefined ? {} : { AUTH_JWT_KEYS: keys },
  )

export const startBareExpress = (databaseUrl: string): Promise<Running> =>
  start(beside('./bare-express.ts'), databaseUrl)

export const startBareHttp = (databaseUrl: string): Promise<Running> =>
  start(beside('./bare-http.ts'), databaseUrl)

/** The same flags as in the image (Dockerfile). */
const FLAGS = ['--enable-source-maps', '--max-semi-space-size=8']

/** With BENCH_PROFILES=<folder> each server leaves a CPU profile there when it stops. */
const profiles = process.env['BENCH_PROFILES'] ?? ''
const PROFILING = profiles === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]

async function start(file: string, databaseUrl: string, env: Record<string, string> = {}): Promise<Running> {
  // It cannot say which port it has: writing its log would cost the server under load time.
  const port = await leasePort()
  const base = `http://127.0.0.1:${port}`
  const child = fork(file, {
    // Compiled code needs neither loader nor conditions, which the bench itself runs with.
    execArgv: [...(file.endsWith('.js') ? FLAGS : process.execArgv), ...PROFILING],
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'production',
      PORT: String(port),
      AUTH_API_HOST: '127.0.0.1',
      AUTH_SITE_URL: 'http://127.0.0.1',
      AUTH_API_EXTERNAL_URL: base,
      AUTH_DB_DRIVER: 'postgres',
      DATABASE_URL: databaseUrl,
      AUTH_JWT_SECRET: JWT_SECRET,
      AUTH_EXTERNAL_EMAIL_ENABLED: 'true',
      AUTH_SMTP_HOST: '127.0.0.1',
      AUTH_SMTP_PORT: '1',
      AUTH_SMTP_ADMIN_EMAIL: 'bench@example.com',
      AUTH_DB_CLEANUP_ENABLED: 'false',
      // The load comes from one address, which stands for many clients.
      AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '1000000',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await untilAnswers(`${base}/health`, child)
  return {
    base,
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    memory: () => memoryMibOf(child.pid ?? 0),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
