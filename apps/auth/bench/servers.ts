import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { freePort } from '@signet/local'

export const JWT_SECRET = 'bench-secret-0123456789-abcdefghijklmnopqrstuvwxyz'

export type Running = {
  base: string
  /** Resident memory in MiB. */
  memory(): number
  stop(): Promise<void>
}

/** The service as it is deployed: compiled, in a process of its own, so that it and the load share no event loop. */
export const startService = (databaseUrl: string): Promise<Running> => start('../dist/main.js', databaseUrl)

export const startBareServer = (databaseUrl: string): Promise<Running> =>
  start('./bare-server.ts', databaseUrl)

/** With BENCH_PROFILES=<folder> each server leaves a CPU profile there when it stops. */
const profiles = process.env['BENCH_PROFILES'] ?? ''
const PROFILING = profiles === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]

async function start(file: string, databaseUrl: string): Promise<Running> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
    // Compiled code needs neither loader nor conditions, which the bench itself runs with.
    execArgv: [...(file.endsWith('.js') ? [] : process.execArgv), ...PROFILING],
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
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await waitUntilUp(base, () => child.exitCode !== null, file)
  return {
    base,
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

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? NaN) / 1024
}
