import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  lastLine,
  type PackageManagerName,
  unpackedEnvironment,
  unpackPackage,
} from '../distribution-package.js'
import { findProgram, findPrograms, isProgram } from '../programs.js'

const runFile = promisify(execFile)

/** A server that can be started: a program, or an engine that runs one from an image. */
export interface RedisProgram {
  command: string
  env: Record<string, string>
  /** For people, such as "Redis 7.0.15". */
  title: string
  image?: string
}

export interface Search {
  env: NodeJS.ProcessEnv
  usualFolders: readonly string[]
  engineFolders: readonly string[]
  cacheDir: string
  say: (text: string) => void
}

export interface Way {
  /** For people, in the list of what was tried. */
  name: string
  /** Throws the reason when this is no way here. */
  find: (search: Search) => Promise<RedisProgram>
}

const NAMES = ['redis-server', 'valkey-server']
/** Where package managers put it although it may not be on the PATH of a desktop session. */
export const USUAL_FOLDERS = [
  ...['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'],
  ...['/opt/homebrew/bin', '/home/linuxbrew/.linuxbrew/bin', '/opt/local/bin', '/opt/pkg/bin'],
  ...['/run/current-system/sw/bin'],
]
export const ENGINE_FOLDERS = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/podman/bin']
export const CACHE = fileURLToPath(new URL('../../../../.cache/redis', import.meta.url))
/** With its registry: podman asks which one is meant otherwise. */
export const IMAGE = 'docker.io/valkey/valkey:8.1'
/** The least that BullMQ recommends. */
const MINIMUM = [6, 2] as const

/** In the order in which they are tried. */
export const WAYS: readonly Way[] = [
  { name: 'PATH and usual folders', find: findInstalled },
  { name: 'unpacked earlier', find: ({ cacheDir }) => unpackedIn(cacheDir) },
  fromPackage('apt-get', ['redis-server']),
  fromPackage('dnf', ['valkey', 'redis']),
  fromPackage('apk', ['valkey', 'redis']),
  inContainer('docker'),
  inContainer('podman'),
  inContainer('nerdctl'),
]

/** A program that answers as a server we can use; throws the reason otherwise. */
export async function checked(command: string, env: Record<string, string> = {}): Promise<RedisProgram> {
  const { stdout } = await runFile(command, ['--version'], { env: { ...process.env, ...env } }).catch(
    (error: unknown) => {
      throw new Error(`${command} does not run: ${lastLine(error)}`)
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
  const reasons: string[] = []
  for (const command of findPrograms(NAMES, env, usualFolders))
    try {
      return await checked(command)
    } catch (error) {
      reasons.push((error as Error).message)
    }
  throw new Error(reasons.join('; ') || `no ${NAMES.join(', no ')}`)
}

async function unpackedIn(folder: string): Promise<RedisProgram> {
  const command = commandIn(folder)
  if (command === null) throw new Error('nothing')
  return checked(command, unpackedEnvironment(folder))
}

const commandIn = (folder: string): string | null =>
  NAMES.map((name) => join(folder, 'usr/bin', name)).find(isProgram) ?? null

/** The first of these packages that the distribution has. */
function fromPackage(manager: PackageManagerName, packages: readonly string[]): Way {
  return {
    name: manager,
    async find({ env, cacheDir, say }) {
      if (!findProgram([manager], env)) throw new Error('not here')
      let failure: unknown
      for (const name of packages)
        try {
          await unpackPackage(manager, { name, title: 'a Redis server', cacheDir, env, say, find: commandIn })
          return await unpackedIn(cacheDir)
        } catch (error) {
          failure ??= error
        }
      throw new Error(lastLine(failure))
    },
  }
}

function inContainer(engine: string): Way {
  return {
    name: engine,
    async find({ env, engineFolders, say }) {
      const command = findProgram([engine], env, engineFolders)
      if (command === undefined) throw new Error('not here')
      await runFile(command, ['info'], { env }).catch((error: unknown) => {
        throw new Error(`does not run: ${lastLine(error)}`)
      })
      await pulled(command, { env, say })
      return { command, env: {}, title: `Valkey in a container of ${engine}`, image: IMAGE }
    },
  }
}

async function pulled(command: string, { env, say }: Pick<Search, 'env' | 'say'>): Promise<void> {
  const isThere = await runFile(command, ['image', 'inspect', IMAGE], { env }).then(
    () => true,
    () => false,
  )
  if (isThere) return
  say(`  fetching ${IMAGE} …`)
  await runFile(command, ['pull', '--quiet', IMAGE], { env }).catch((error: unknown) => {
    throw new Error(lastLine(error))
  })
}
