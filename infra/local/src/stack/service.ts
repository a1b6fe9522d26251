import { join } from 'node:path'
import { type Guarded, startGuarded } from '../child.js'
import { lastLines, startServer } from '../server-process.js'
import type { ServiceName } from './environment.js'

export interface Service {
  name: ServiceName
  /** Root of the repository. */
  root: string
  env: Readonly<Record<string, string>>
  logFile: string
  /** If omitted, the service migrates its database and then serves. */
  command?: 'migrate' | 'serve'
  /** Arguments for Node itself, before the program. */
  nodeArguments?: readonly string[]
}

/** A service gets no other variables of the developer's shell, so a stray DATABASE_URL there changes nothing. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ']

/** Runs `apps/<name>`, which ends when we do. Its output goes to the log file. */
function launch({ name, root, env, logFile, command, nodeArguments = [] }: Service): Promise<Guarded> {
  const folder = join(root, 'apps', name)
  const inherited = Object.fromEntries(PASSED_ON.map((key) => [key, process.env[key]]))
  return startGuarded({
    command: process.execPath,
    args: [
      ...['--enable-source-maps', ...nodeArguments, join(folder, 'dist/main.js')],
      ...(command ? [command] : []),
    ],
    stopSignal: 'TERM',
    logFile,
    cwd: folder,
    env: { ...inherited, ...env },
  })
}

/** Only migrates the service's database, for callers that use it as a template. */
export async function migrateService(service: Service): Promise<void> {
  const { exited, log } = await launch({ ...service, command: 'migrate' })
  if ((await exited).code !== 0) throw new Error(`${service.name} migrate failed:\n${lastLines(log())}`)
}

/**
 * Starts the service and waits until its log says that it is listening, so that we know that the answer comes from the process we
 * started, and until it answers with 200.
 */
export const startService = (service: Service, healthUrl: string) =>
  startServer({
    name: service.name,
    port: Number(new URL(healthUrl).port),
    launch: () => launch(service),
    isReady: async ({ log }, port) =>
      new RegExp(`"port":${port}\\b`).test(log()) && (await answersOk(healthUrl)),
  })

const answersOk = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(2000) }).then(
    (response) => response.arrayBuffer().then(() => response.ok),
    () => false,
  )
