import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Guarded, startGuarded } from '../child.js'
import type { LogMark } from '../log-mark.js'
import { waitUntil } from '../wait-until.js'

export interface ServiceOptions {
  name: string
  root: string
  env: Record<string, string>
  logFile: string
  args?: readonly string[]
}

/** A service sees no other variable of the developer's shell, so a stray DATABASE_URL there changes nothing. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ']

/** Starts `node apps/<name>/dist/main.js`, which ends when we do. Its output goes to the log file. */
export function startService({ name, root, env, logFile, args = [] }: ServiceOptions): Promise<Guarded> {
  const folder = join(root, 'apps', name)
  const inherited = Object.fromEntries(PASSED_ON.map((key) => [key, process.env[key]]))
  mkdirSync(dirname(logFile), { recursive: true })
  return startGuarded({
    command: process.execPath,
    args: ['--enable-source-maps', join(folder, 'dist/main.js'), ...args],
    stopSignal: 'TERM',
    logFile,
    cwd: folder,
    env: { ...inherited, ...env },
  })
}

/**
 * Waits until the service says in its log that it listens there, so that what answers is what we started, and until it
 * answers 200. When it ends instead, the error carries the end of its log.
 */
export async function untilHealthy(service: Guarded, url: string, log: LogMark): Promise<void> {
  await waitUntil(
    async () => {
      if (!service.running) throw new Error(`it ended while starting:\n${log.read()}`)
      return (log.saysPort(new URL(url).port) && (await answersOk(url))) || undefined
    },
    { describe: `answer from ${url}`, seen: () => `it said:\n${log.read()}` },
  )
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
