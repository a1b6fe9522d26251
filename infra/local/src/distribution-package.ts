import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const runFile = promisify(execFile)

interface DistributionPackage<Program> {
  name: string
  /** The name shown while it is being fetched. */
  title: string
  /** Left out: with everything it needs and the system lacks. */
  alone?: boolean
  cacheDir: string
  env: NodeJS.ProcessEnv
  say: (text: string) => void
  /** The program in the unpacked folder, if it is there. */
  find: (folder: string) => Program | null
}

type Wanted = { folder: string; name: string; alone: boolean; env: NodeJS.ProcessEnv }

interface PackageManager {
  /** Downloads packages into the folder, as any user. */
  download(wanted: Wanted): Promise<unknown>
  /** How the name of a package's file ends. */
  suffix: string
  /** Unpacks one into the folder. */
  unpack(file: string, folder: string, env: NodeJS.ProcessEnv): Promise<unknown>
}

/** Those that can hand out packages without installing them. */
const PACKAGE_MANAGERS = {
  'apt-get': {
    download: downloadWithApt,
    suffix: '.deb',
    unpack: (file, folder, env) => runFile('dpkg-deb', ['-x', file, folder], { env }),
  },
  dnf: {
    download: ({ folder, name, alone, env }) =>
      runFile('dnf', ['-y', 'download', ...(alone ? [] : ['--resolve']), `--destdir=${folder}`, name], {
        env,
      }),
    suffix: '.rpm',
    unpack: (file, folder, env) =>
      runFile('/bin/sh', ['-c', 'rpm2cpio "$1" | cpio -idm --quiet', 'sh', file], { cwd: folder, env }),
  },
  apk: {
    download: ({ folder, name, alone, env }) =>
      runFile('apk', ['fetch', '--no-cache', ...(alone ? [] : ['--recursive']), '--output', folder, name], {
        env,
      }),
    suffix: '.apk',
    // Signature, control data and content are three archives in one file, which tar reads as one.
    unpack: (file, folder, env) => runFile('tar', ['-xzf', file, '-C', folder], { env }),
  },
} as const satisfies Record<string, PackageManager>

export type PackageManagerName = keyof typeof PACKAGE_MANAGERS

/** Fetches a package of the distribution and unpacks it into the cache folder, without installing anything. */
export async function unpackPackage<Program>(
  command: PackageManagerName,
  wanted: DistributionPackage<Program>,
): Promise<Program> {
  const { name, title, alone = false, cacheDir, env, say, find } = wanted
  const manager: PackageManager = PACKAGE_MANAGERS[command]
  say(`  fetching ${title} with ${command} (nothing is installed in the system) …`)
  const startedAt = performance.now()
  const partial = `${cacheDir}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  try {
    await manager.download({ folder: partial, name, alone, env })
    for (const file of readdirSync(partial).filter((entry) => entry.endsWith(manager.suffix))) {
      await manager.unpack(join(partial, file), partial, env)
      rmSync(join(partial, file))
    }
    rmSync(cacheDir, { recursive: true, force: true })
    renameSync(partial, cacheDir)
  } catch (error) {
    const other = find(cacheDir) // a parallel run may have been quicker
    if (other) return other
    throw error
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  const program = find(cacheDir)
  if (!program) throw new Error(`the package holds no ${name}`)
  say(`  ✓ ${title} unpacked (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  return program
}

/** With lists and a cache of its own: those of the system belong to root. */
async function downloadWithApt({ folder, name, alone, env }: Wanted): Promise<void> {
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
  const names = alone ? [name] : await missingPackages(name, options, env)
  await runFile('apt-get', [...options, 'download', ...names], { cwd: folder, env })
  rmSync(join(folder, 'apt'), { recursive: true })
}

async function missingPackages(
  name: string,
  options: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const simulated = await runFile(
    'apt-get',
    [...options, ...['install', '-s', '--no-install-recommends', name]],
    { env },
  )
  return [...simulated.stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? '')
}

/** The variables with which a program of an unpacked package finds its libraries there. */
export function unpackedEnvironment(folder: string): Record<string, string> {
  const libraries = ['usr/lib64', 'lib64', 'usr/lib', 'lib'].flatMap((base) =>
    librariesIn(join(folder, base)),
  )
  return { LD_LIBRARY_PATH: libraries.join(':') }
}

/** The folder itself and its multi-arch ones, such as x86_64-linux-gnu. */
function librariesIn(base: string): string[] {
  if (!existsSync(base)) return []
  const multiArch = readdirSync(base).filter((name) => name.endsWith('-linux-gnu'))
  return [...multiArch.map((name) => join(base, name)), base]
}

export function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string }
  const lines = (stderr?.trim() || message || String(error)).trim().split('\n')
  return lines.at(-1) ?? ''
}
