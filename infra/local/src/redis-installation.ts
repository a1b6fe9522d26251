import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lastLine, unpackFromApt } from './apt-package.js'
import { findProgram, isProgram } from './programs.js'

export interface RedisProgram {
  command: string
  env: Record<string, string>
}

interface Search {
  env?: NodeJS.ProcessEnv
  usualFolders?: readonly string[]
  cacheDir?: string
  say?: (text: string) => void
}

const NAMES = ['redis-server', 'valkey-server']
/** Where package managers put it although it may not be on the PATH of a desktop session. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/local/bin']
/** Package managers, and what installs a server with each. The first one that is there is named. */
const INSTALL_COMMANDS = [
  ['brew', 'brew install redis'],
  ['apt-get', 'sudo apt-get install redis-server'],
  ['dnf', 'sudo dnf install valkey'],
  ['apk', 'sudo apk add redis'],
  ['pacman', 'sudo pacman -S valkey'],
  ['zypper', 'sudo zypper install valkey'],
] as const
const CACHE = fileURLToPath(new URL('../../../.cache/redis', import.meta.url))

/**
 * Finds a Redis server: REDIS_SERVER_BIN, the PATH, one unpacked earlier, and last the distribution's package,
 * fetched and unpacked into the cache folder without installing anything. One error names all that was tried.
 */
export async function findRedisProgram({
  env = process.env,
  usualFolders = USUAL_FOLDERS,
  cacheDir = CACHE,
  say = console.log,
}: Search = {}): Promise<RedisProgram> {
  if (env['REDIS_SERVER_BIN']) return { command: env['REDIS_SERVER_BIN'], env: {} }
  const command = findProgram(NAMES, env, usualFolders)
  const installed = command ? { command, env: {} } : findUnpacked(cacheDir)
  if (installed) return installed
  try {
    return await unpackFromApt({
      name: 'redis-server',
      title: 'a Redis server',
      cacheDir,
      env,
      say,
      find: findUnpacked,
    })
  } catch (error) {
    throw new Error(noRedis(error, env), { cause: error })
  }
}

function findUnpacked(folder: string): RedisProgram | null {
  const command = join(folder, 'usr/bin/redis-server')
  if (!isProgram(command)) return null
  const libraries = ['usr/lib', 'lib'].flatMap((base) => librariesIn(join(folder, base)))
  return { command, env: { LD_LIBRARY_PATH: libraries.join(':') } }
}

/** The folder itself and its multi-arch ones, such as x86_64-linux-gnu. */
function librariesIn(base: string): string[] {
  if (!existsSync(base)) return []
  const multiArch = readdirSync(base).filter((name) => name.endsWith('-linux-gnu'))
  return [...multiArch.map((name) => join(base, name)), base]
}

function noRedis(error: unknown, env: NodeJS.ProcessEnv): string {
  const command = INSTALL_COMMANDS.find(([manager]) => findProgram([manager], env))?.[1]
  return [
    'No Redis server was found or fetched.',
    '  tried: REDIS_SERVER_BIN: not set',
    `         ${NAMES.join(', ')} on PATH and in ${USUAL_FOLDERS.join(', ')}: not found`,
    `         apt-get: ${lastLine(error)}`,
    `  Fix: ${command ?? 'install Redis or Valkey with the package manager of this system'},`,
    '       or set REDIS_SERVER_BIN to the program, or set REDIS_URL to a running server.',
  ].join('\n')
}
