// Turns a fresh clone into a built tree with nothing but Node and npm. Import only Node built-ins and files next to this one here.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeLock } from './lock.mjs'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

const SITE = '@signet/site'
const MINIMUM = [20, 19]
const LOCK_POLL_MS = 200

/** Passes on signals to this process, such as from a CI that gives up, so that they do not leave a command running. */
export function passTermination(child) {
  const passOn = (signal) => child.kill(signal)
  process.on('SIGTERM', passOn)
  child.once('close', () => process.off('SIGTERM', passOn))
}

/**
 * Installs the pinned packages and compiles the given projects (folders or tsconfig files). Skips both quickly if nothing changed.
 * Throws BootstrapError.
 */
export async function bootstrap({ projects = [] } = {}) {
  refuseUnfit()
  await underLock(async () => {
    await installOnce('.signet-installed', 'packages', `--filter=!${SITE}`)
    const compiler = [join(root, 'node_modules/typescript-7/bin/tsc'), '-b', ...projects]
    if (projects.length > 0) await step('compiling', process.execPath, compiler)
  })
}

export class BootstrapError extends Error {}

/** Runs a bootstrap for a command line: prints a failure plainly and ends the process. */
export async function bootstrapOrExit(options) {
  try {
    await bootstrap(options)
  } catch (error) {
    console.error(error instanceof BootstrapError ? `\n${error.message}` : error)
    process.exit(1)
  }
}

function refuseUnfit() {
  if (process.platform === 'win32')
    throw new BootstrapError(
      'Signet runs on Linux and macOS. On Windows, use WSL: `wsl --install`, then the same command in the Linux that it brings.',
    )
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return
  throw new BootstrapError(
    `Signet needs Node.js ${MINIMUM.join('.')} or newer; this is ${process.versions.node} (${process.execPath}).\n` +
      'Install a current Node.js, for instance from https://nodejs.org, and run the same command again.',
  )
}

/**
 * Installs the packages that only the documentation site needs. They are a third more, and neither a start nor a test should wait for
 * them.
 */
export async function installSite() {
  await underLock(() => installOnce('.signet-site-installed', 'packages of the site', `--filter=${SITE}`))
}

async function installOnce(stampName, what, filter) {
  const stampFile = join(root, 'node_modules', stampName)
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === installStamp()) return
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [command, prefix] = pnpmCommand(packageManager)
  const install = [...prefix, 'install', filter, '--frozen-lockfile', '--reporter=append-only']
  await step(`installing ${what} with ${packageManager}`, command, install)
  mkdirSync(dirname(stampFile), { recursive: true })
  writeFileSync(stampFile, installStamp())
}

/** Returns the command for pnpm, through the npm that runs us if there is one, so that PATH does not matter. Otherwise uses npx. */
function pnpmCommand(packageManager) {
  const npm = process.env.npm_execpath
  if (npm && /npm-cli\.js$/.test(npm)) {
    return [process.execPath, [npm, 'exec', '--yes', `--package=${packageManager}`, '--', 'pnpm']]
  }
  return ['npx', ['--yes', packageManager]]
}

/** Everything that determines what an installation contains. */
function installStamp() {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`)
  const manifests = workspaceFolders().map((folder) => `${folder}/package.json`)
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', ...manifests]) {
    hash.update(`\n${file}\n`).update(readFileSync(join(root, file)))
  }
  return hash.digest('hex')
}

/** Folders of the workspace's packages, relative to the root. */
export function workspaceFolders() {
  const inside = (folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)
  const others = ['infra/local', 'infra/bench', 'infra/load', 'infra/site']
  return [...inside('apps'), ...inside('packages'), ...others].filter((folder) =>
    existsSync(join(root, folder, 'package.json')),
  )
}

/** Runs one step, whose command shows its own progress. */
async function step(title, command, args) {
  console.log(`  ${title} …`)
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  passTermination(child)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new BootstrapError(`Failed: ${title}`)
}

/** Commands in two terminals must not install or compile into the same folders at the same time. */
async function underLock(work) {
  const file = join(root, '.cache', 'bootstrap.lock')
  let lock = takeLock(file)
  if (!lock.release)
    console.log('  waiting for another command of this tree to finish installing or compiling …')
  while (!lock.release) {
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS))
    lock = takeLock(file)
  }
  process.once('exit', lock.release)
  try {
    return await work()
  } finally {
    process.off('exit', lock.release)
    lock.release()
  }
}
