import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  lastLine,
  type PackageManager,
  unpackedEnvironment,
  unpackedProgram,
  unpackPackage,
} from '../distribution-package.js'
import { findPrograms } from '../programs.js'
import { noServer, type System, thisSystem } from '../system.js'

const runFile = promisify(execFile)

/** A server that can be started: a program, or an engine that runs one from an image. */
export interface RedisProgram {
  command: string
  env: Record<string, string>
  /** For people, such as "Redis 7.0.15". */
  title: string
  image?: string
}

interface Search {
  env: NodeJS.ProcessEnv
  usualFolders: readonly string[]
  engineFolders: readonly string[]
  cacheDir: string
  say: (text: string) => void
}

interface Way {
  /** For people, in the list of what was tried. */
  name: string
  /** Throws the reason when this is no way here. */
  find: (search: Search) => Promise<RedisProgram>
}

const NAMES = ['redis-server', 'valkey-server']
/** Where package managers put it although it may not be on the PATH of a desktop session. */
const USUAL_FOLDERS = [
  ...['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'],
  ...['/opt/homebrew/bin', '/home/linuxbrew/.linuxbrew/bin', '/opt/local/bin', '/opt/pkg/bin'],
  ...['/run/current-system/sw/bin'],
]
const ENGINE_FOLDERS = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/podman/bin']
const CACHE = fileURLToPath(new URL('../../../../.cache/redis', import.meta.url))
/** With its registry: podman asks which one is meant otherwise. */
export const IMAGE = 'docker.io/valkey/valkey:8.1'
/** The least that BullMQ recommends. */
const MINIMUM = [6, 2] as const

/** In the order in which they are tried. */
export const WAYS: readonly Way[] = [
  { name: 'PATH and usual folders', find: findInstalled },
  { name: 'unpacked earlier', find: ({ cacheDir }) => findUnpacked(cacheDir) },
  fromPackage('apt-get', ['redis-server']),
  fromPackage('dnf', ['valkey', 'redis']),
  fromPackage('apk', ['valkey', 'redis']),
  inContainer('docker'),
  inContainer('podman'),
  inContainer('nerdctl'),
]

/** A Redis or Valkey to start: REDIS_SERVER_BIN, else the first way that leads to one. One error names all that was tried. */
export async function findRedis({
  ways = WAYS,
  system,
  ...given
}: Partial<Search> & { system?: System; ways?: readonly Way[] } = {}): Promise<RedisProgram> {
  const search: Search = {
    env: process.env,
    usualFolders: USUAL_FOLDERS,
    engineFolders: ENGINE_FOLDERS,
    cacheDir: CACHE,
    say: console.log,
    ...given,
  }
  const named = search.env['REDIS_SERVER_BIN']
  if (named) return checked(named)
  try {
    return await firstThatWorks(ways, ({ find }) => find(search))
  } catch (error) {
    const { errors } = error as AggregateError
    const tried = ways.map(({ name }, index) => `${name}: ${(errors[index] as Error).message}`)
    const or = 'REDIS_SERVER_BIN to the program, or REDIS_URL to a running server'
    throw noServer(system ?? thisSystem(search.env), { server: 'redis', name: 'Redis server', tried, or })
  }
}

/** What the first candidate gives that does not fail; an AggregateError has the reasons of all others. */
async function firstThatWorks<T, R>(candidates: readonly T[], use: (candidate: T) => Promise<R>): Promise<R> {
  const errors: unknown[] = []
  for (const candidate of candidates)
    try {
      return await use(candidate)
    } catch (error) {
      errors.push(error)
    }
  throw new AggregateError(errors)
}

/** A program that answers as a server we can use; throws the reason otherwise. */
async function checked(command: string, env: Record<string, string> = {}): Promise<RedisProgram> {
  const stdout = await ask(command, ['--version'], { ...process.env, ...env }, `${command} does not run: `)
  const [, name, version = ''] = /^(Redis|Valkey) server v=([\d.]+)/.exec(stdout) ?? []
  if (name === undefined) throw new Error(`${command} is neither Redis nor Valkey`)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1]))
    throw new Error(`${command} is version ${version}, and ${MINIMUM.join('.')} or newer is needed`)
  return { command, env, title: `${name} ${version}` }
}

/** What a program prints; when it fails, the error has the last line that it said. */
async function ask(command: string, args: string[], env: NodeJS.ProcessEnv, failed = ''): Promise<string> {
  try {
    return (await runFile(command, args, { env })).stdout
  } catch (error) {
    throw new Error(`${failed}${lastLine(error)}`, { cause: error })
  }
}

async function findInstalled({ env, usualFolders }: Search): Promise<RedisProgram> {
  const programs = findPrograms(NAMES, env['PATH'], usualFolders)
  if (programs.length === 0) throw new Error(`no ${NAMES.join(', no ')}`)
  return firstThatWorks(programs, (command) => checked(command)).catch(({ errors }: AggregateError) => {
    throw new Error(errors.map((error: Error) => error.message).join('; '))
  })
}

async function findUnpacked(folder: string): Promise<RedisProgram> {
  const command = unpackedProgram(folder, NAMES)
  if (command === undefined) throw new Error('nothing')
  return checked(command, unpackedEnvironment(folder))
}

/** The first of these packages that the distribution has. */
function fromPackage(manager: PackageManager, packages: readonly string[]): Way {
  return {
    name: manager,
    async find({ env, cacheDir, say }) {
      if (findPrograms([manager], env['PATH']).length === 0) throw new Error('not here')
      const wanted = { title: 'a Redis server', cacheDir, env, say }
      return firstThatWorks(packages, async (name) => {
        await unpackPackage(manager, { ...wanted, name })
        return findUnpacked(cacheDir)
      }).catch(({ errors }: AggregateError) => {
        throw new Error(lastLine(errors[0]))
      })
    },
  }
}

function inContainer(engine: string): Way {
  return {
    name: engine,
    async find({ env, engineFolders, say }) {
      const [command] = findPrograms([engine], env['PATH'], engineFolders)
      if (command === undefined) throw new Error('not here')
      await ask(command, ['info'], env, 'does not run: ')
      await ask(command, ['image', 'inspect', IMAGE], env).catch(() => {
        say(`  fetching ${IMAGE} …`)
        return ask(command, ['pull', '--quiet', IMAGE], env)
      })
      return { command, env: {}, title: `Valkey in a container of ${engine}`, image: IMAGE }
    },
  }
}
