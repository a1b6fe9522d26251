import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const runFile = promisify(execFile)

interface AptPackage<Program> {
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

/** Fetches a package of the distribution and unpacks it into the cache folder, without installing anything. */
export async function unpackFromApt<Program>(wanted: AptPackage<Program>): Promise<Program> {
  const { name, title, cacheDir, say, find } = wanted
  say(`  fetching ${title} with apt (nothing is installed in the system) …`)
  const startedAt = performance.now()
  const partial = `${cacheDir}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  try {
    await download(partial, wanted)
    for (const file of readdirSync(partial).filter((entry) => entry.endsWith('.deb'))) {
      await runFile('dpkg-deb', ['-x', join(partial, file), partial])
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

/** Downloads the package, as any user, into `folder`. */
async function download(
  folder: string,
  { name, alone, env }: Pick<AptPackage<unknown>, 'name' | 'alone' | 'env'>,
): Promise<void> {
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

export function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string }
  const lines = (stderr?.trim() || message || String(error)).trim().split('\n')
  return lines.at(-1) ?? ''
}
