import { execFile } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

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

const runFile = promisify(execFile)
const NAMES = ['redis-server', 'valkey-server']
/** Where package managers put it although it may not be on the PATH of a desktop session. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']
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
  const installed =
    findIn([...(env['PATH'] ?? '').split(delimiter).filter(Boolean), ...usualFolders]) ??
    findUnpacked(cacheDir)
  if (installed) return installed
  try {
    return await unpackFromApt(cacheDir, env, say)
  } catch (error) {
    throw new Error(noRedis(error), { cause: error })
  }
}

function findIn(folders: readonly string[]): RedisProgram | null {
  for (const folder of folders) {
    for (const name of NAMES) {
      if (isProgram(join(folder, name))) return { command: join(folder, name), env: {} }
    }
  }
  return null
}

/** PATH may name folders that are not there, or not ours to look into. */
function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
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

async function unpackFromApt(
  cacheDir: string,
  env: NodeJS.ProcessEnv,
  say: (text: string) => void,
): Promise<RedisProgram> {
  say('  fetching a Redis server with apt (nothing is installed in the system) …')
  const startedAt = performance.now()
  const partial = `${cacheDir}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  try {
    await download(partial, env)
    const packages = readdirSync(partial).filter((name) => name.endsWith('.deb'))
    for (const name of packages) {
      await runFile('dpkg-deb', ['-x', join(partial, name), partial])
      rmSync(join(partial, name))
    }
    rmSync(cacheDir, { recursive: true, force: true })
    renameSync(partial, cacheDir)
  } catch (error) {
    const other = findUnpacked(cacheDir) // a parallel run may have been quicker
    if (other) return other
    throw error
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  const program = findUnpacked(cacheDir)
  if (!program) throw new Error('the package holds no redis-server')
  say(`  ✓ Redis server unpacked (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  return program
}

/** Downloads redis-server and those of its dependencies the system lacks, as any user, into `folder`. */
async function download(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const lists = join(folder, 'apt/lists')
  const cache = join(folder, 'apt/cache')
  mkdirSync(join(lists, 'partial'), { recursive: true })
  mkdirSync(join(cache, 'archives/partial'), { recursive: true })
  const options = [
    ...[`Dir::State::lists=${lists}`, `Dir::Cache=${cache}`],
    ...['APT::Sandbox::User=root', 'Debug::NoLocking=1'],
    'APT::Update::Error-Mode=any', // without it a failed update ends with status 0
  ].flatMap((option) => ['-o', option])
  await runFile('apt-get', [...options, 'update'], { env })
  const simulated = await runFile(
    'apt-get',
    [...options, ...['install', '-s', '--no-install-recommends', 'redis-server']],
    { env },
  )
  const names = [...simulated.stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? '')
  await runFile('apt-get', [...options, 'download', ...names], { cwd: folder, env })
  rmSync(join(folder, 'apt'), { recursive: true })
}

function noRedis(error: unknown): string {
  return [
    'No Redis server could be had.',
    '  tried: REDIS_SERVER_BIN: not set',
    `         ${NAMES.join(', ')} on PATH and in ${USUAL_FOLDERS.join(', ')}: not found`,
    `         apt-get: ${lastLine(error)}`,
    '  Fix: install redis-server (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis),',
    '       or set REDIS_SERVER_BIN to the program, or set REDIS_URL to a running server.',
  ].join('\n')
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string }
  const lines = (stderr?.trim() || message || String(error)).trim().split('\n')
  return lines.at(-1) ?? ''
}
