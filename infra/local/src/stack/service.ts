import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Guarded, startGuarded } from '../child.js'
import { LogMark } from '../log-mark.js'
import { waitUntil } from '../wait-until.js'
import type { ServiceName } from './environment.js'

export interface Service {
  name: ServiceName
  /** Root of the repository. */
  root: string
  env: Readonly<Record<string, string>>
  logFile: string
  /** For Node, before the program. */
  nodeArguments?: readonly string[]
}

export type RunningService = Awaited<ReturnType<typeof startService>>

/** A service sees no other variable of the developer's shell, so a stray DATABASE_URL there changes nothing. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ']
const STOP_MS = 7000

/** Starts `node apps/<name>/dist/main.js`, which ends when we do. Its output goes to the log file. */
function launch(
  { name, root, env, logFile, nodeArguments = [] }: Service,
  command: 'migrate' | 'serve',
): Promise<Guarded> {
  const folder = join(root, 'apps', name)
  const inherited = Object.fromEntries(PASSED_ON.map((key) => [key, process.env[key]]))
  mkdirSync(dirname(logFile), { recursive: true })
  return startGuarded({
    command: process.execPath,
    args: ['--enable-source-maps', ...nodeArguments, join(folder, 'dist/main.js'), command],
    stopSignal: 'TERM',
    logFile,
    cwd: folder,
    env: { ...inherited, ...env },
  })
}

export async function migrateService(service: Service): Promise<void> {
  const log = new LogMark(service.logFile)
  const { code } = await (await launch(service, 'migrate')).exited
  if (code !== 0) throw new Error(`${service.name} migrate failed:\n${log.read()}`)
}

/**
 * Starts the service and waits until it says in its log that it listens there, so that what answers is what we started,
 * and until it answers 200. When it ends instead, the error carries the end of its log.
 */
export async function startService(service: Service, healthUrl: string) {
  const { name, logFile } = service
  const log = new LogMark(logFile)
  const running = await launch(service, 'serve')
  const stop = () => running.stop(STOP_MS)
  try {
    await waitUntil(
      async () => {
        if (!running.running) throw new Error(`it ended while starting:\n${log.read()}`)
        return (log.saysPort(new URL(healthUrl).port) && (await answersOk(healthUrl))) || undefined
      },
      { describe: `answer from ${healthUrl}`, seen: () => `it said:\n${log.read()}` },
    )
  } catch (error) {
    await stop()
    throw new Error(`${name} did not become ready: ${(error as Error).message}`, { cause: error })
  }
  const kill = (signal: NodeJS.Signals) => running.kill(signal)
  return { name, exited: running.exited, stop, kill, lastOutput: () => log.read() }
}

const answersOk = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(2000) }).then(
    async (response) => response.arrayBuffer().then(() => response.ok),
    () => false,
  )
