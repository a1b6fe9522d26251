import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leasePort } from '@signet/local'

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

/** Those of the image (Dockerfile). */
const FLAGS = ['--enable-source-maps']

/** With BENCH_PROFILES=<folder> each server leaves a CPU profile there when it stops. */
const profiles = process.env['BENCH_PROFILES'] ?? ''
const PROFILING = profiles === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]

async function start(file: string, databaseUrl: string, env: Record<string, string> = {}): Promise<Running> {
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
  await waitUntilUp(base, () => child.exitCode !== null, file)
  return {
    base,
    cpuMs: () => cpuMs(child.pid ?? 0),
    memory: () => residentMiB(child.pid ?? 0),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function waitUntilUp(base: string, isGone: () => boolean, file: string): Promise<void> {
  for (let attempt = 0; attempt < 300 && !isGone(); attempt += 1) {
    const up = await fetch(`${base}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (up) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${file} does not start`)
}

/** The kernel counts in hundredths of a second: user and system time are the 14th and 15th field of the whole line. */
function cpuMs(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? NaN) / 1024
}
