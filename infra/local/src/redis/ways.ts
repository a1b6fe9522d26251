import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { unpackedEnvironment, unpackedProgram, unpackPackage } from '../debian-package.js'
import { findPrograms } from '../programs.js'

const runFile = promisify(execFile)

/** A server that can be started: a program, or an engine that runs one from an image. */
export interface RedisProgram {
  command: string
  env: Record<string, string>
  /** For people, such as "Redis 7.0.15". */
  title: string
  /** Arguments before the server's own, for a container of this name that publishes the port. */
  container?: (port: number, name: string) => string[]
}

/** A name for people, which appears in the list of what was tried, and a search that throws the reason if this way does not work here. */
type Way = readonly [name: string, find: (search: Search) => Promise<RedisProgram>]

const NAMES = ['redis-server', 'valkey-server']
/** Folders of package managers, which may not be on the PATH of a desktop session. */
const USUAL_FOLDERS = [
  ...['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/podman/bin'],
  ...['/opt/homebrew/bin', '/home/linuxbrew/.linuxbrew/bin', '/opt/local/bin', '/opt/pkg/bin'],
  ...['/run/current-system/sw/bin'],
]
const CACHE = fileURLToPath(new URL('../../../../.cache/redis', import.meta.url))
/** Includes the registry, because podman would ask which one is meant. */
export const IMAGE = 'docker.io/valkey/valkey:8.1'
/** The minimum version that BullMQ recommends. */
const MINIMUM = [6, 2] as const

const usualSearch = () => ({
  env: process.env,
  usualFolders: USUAL_FOLDERS,
  cacheDir: CACHE,
  say: (text: string): void => console.log(text),
})
type Search = ReturnType<typeof usualSearch>

/** In the order in which they are tried. */
export const WAYS: readonly Way[] = [
  ['PATH and usual folders', findInstalled],
  ['apt-get', findUnpacked],
  ...['docker', 'podman', 'nerdctl'].map(inContainer),
]

/**
 * Finds a Redis or Valkey to start: REDIS_SERVER_BIN, otherwise the first way that works. If none does, throws one error that lists all
 * that were tried.
 */
export async function findRedis({
  ways = WAYS,
  ...given
}: Partial<Search> & { ways?: readonly Way[] } = {}): Promise<RedisProgram> {
  const search = { ...usualSearch(), ...given }
  const named = search.env['REDIS_SERVER_BIN']
  if (named) return checked(named)
  const { found, reasons } = await firstThatWorks(ways, ([, find]) => find(search))
  if (found) return found
  throw new Error(
    [
      'No Redis server was found or fetched.',
      ...ways.map(([name], index) => `  ${name}: ${reasons[index]}`),
      'Install Redis or Valkey with the package manager of this system, such as `sudo apt-get install redis-server`,',
      'or set REDIS_SERVER_BIN to the program, or REDIS_URL to a running server.',
    ].join('\n'),
  )
}

/** Returns the result of the first candidate that succeeds. If all fail, throws one error with every reason. */
async function firstThatWorks<T, R>(candidates: readonly T[], use: (candidate: T) => Promise<R>) {
  const reasons: string[] = []
  for (const candidate of candidates)
    try {
      return { found: await use(candidate), reasons }
    } catch (error) {
      reasons.push(lastLine(error))
    }
  return { found: undefined, reasons }
}

/** Returns the program if it is a server that we can use. Throws the reason otherwise. */
async function checked(command: string, env: Record<string, string> = {}): Promise<RedisProgram> {
  const { stdout } = await runFile(command, ['--version'], { env: { ...process.env, ...env } }).catch(
    (error: unknown) => {
      throw new Error(`${command} does not run: ${lastLine(error)}`, { cause: error })
    },
  )
  const [, name, version = ''] = /^(Redis|Valkey) server v=([\d.]+)/.exec(stdout) ?? []
  if (name === undefined) throw new Error(`${command} is neither Redis nor Valkey`)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1]))
    throw new Error(`${command} is version ${version}, and ${MINIMUM.join('.')} or newer is needed`)
  return { command, env, title: `${name} ${version}` }
}

async function findInstalled({ env, usualFolders }: Search): Promise<RedisProgram> {
  const programs = findPrograms(NAMES, env['PATH'], usualFolders)
  const { found, reasons } = await firstThatWorks(programs, (command) => checked(command))
  if (found) return found
  throw new Error(reasons.join('; ') || `no ${NAMES.join(', no ')}`)
}

/** The Redis that was unpacked earlier, otherwise the distribution's package. */
async function findUnpacked({ cacheDir, env, say }: Search): Promise<RedisProgram> {
  const unpacked = () => checked(unpackedProgram(cacheDir, NAMES) ?? '', unpackedEnvironment(cacheDir))
  return unpacked().catch(async () => {
    await unpackPackage({ name: 'redis-server', title: 'a Redis server', cacheDir, env, say })
    return unpacked()
  })
}

/**
 * A container disappears with its data when its server stops. That is acceptable: Redis only holds the schedule, which the sweeper
 * writes again.
 */
function inContainer(engine: string): Way {
  const find: Way[1] = async ({ env, usualFolders, say }) => {
    const [command] = findPrograms([engine], env['PATH'], usualFolders)
    if (command === undefined) throw new Error('not here')
    const ask = (...args: string[]) => runFile(command, args, { env })
    await ask('info').catch((error: unknown) => {
      throw new Error(`does not run: ${lastLine(error)}`, { cause: error })
    })
    await ask('image', 'inspect', IMAGE).catch(() => {
      say(`  fetching ${IMAGE} …`)
      return ask('pull', '--quiet', IMAGE)
    })
    const container = (port: number, name: string): string[] => [
      ...['run', '--rm', '--name', name],
      ...['--publish', `127.0.0.1:${port}:${port}`, IMAGE, 'valkey-server'],
      // The engine's proxy does not connect from a loopback address. From outside, only this machine can reach it.
      ...['--bind', '0.0.0.0', '--protected-mode', 'no'],
    ]
    return { command, env: {}, title: `Valkey in a container of ${engine}`, container }
  }
  return [engine, find]
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string }
  return (stderr?.trim() || message || String(error)).trim().split('\n').at(-1) ?? ''
}
