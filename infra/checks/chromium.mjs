// Finds a Chromium for the tests of pages: CHROMIUM_BIN, the PATH, or Debian's package if we may install it. Prefers the same browser
// without a window (headless shell), in which a page takes a third of the processor time.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { run, seconds } from './run.mjs'

const PACKAGES = ['chromium-headless-shell', 'chromium']
const NAMES = [
  'chrome-headless-shell',
  ...PACKAGES,
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]
const APT = ['-o', 'APT::Update::Error-Mode=any', '-qq']

/** Puts the path of an installed Chromium, if there is one, into CHROMIUM_BIN for jest. */
export function nameChromium() {
  const found = findChromium()
  if (found) process.env.CHROMIUM_BIN = found
}

/**
 * Finds or installs a Chromium and puts its path into CHROMIUM_BIN for jest. If there is none, returns the reason, and the tests of
 * pages are reported as skipped.
 */
export async function ensureChromium() {
  const found = findChromium() ?? (await installChromium())
  if (found.reason) return found.reason
  process.env.CHROMIUM_BIN = found
  return undefined
}

function findChromium() {
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), '/usr/bin', '/usr/local/bin']
  const candidates = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [process.env.CHROMIUM_BIN, ...candidates].find((path) => path && existsSync(path))
}

async function installChromium() {
  const hint = 'no Chromium on PATH, and'
  if (process.platform !== 'linux' || !existsSync('/usr/bin/apt-get'))
    return { reason: `${hint} no apt-get to install one; set CHROMIUM_BIN` }
  if (process.getuid() !== 0) return { reason: `${hint} only root may install one; set CHROMIUM_BIN` }
  const startedAt = performance.now()
  console.log('  installing Chromium for the tests of pages …')
  let reason = await aptGet(['update'])
  if (reason) return { reason }
  // Not every distribution has the first package.
  for (const name of PACKAGES) {
    reason = await aptGet(['install', '--yes', '--no-install-recommends', name])
    if (!reason) break
  }
  if (reason) return { reason }
  console.log(`  ✓ Chromium (${seconds(startedAt)})`)
  return findChromium() ?? { reason: "Debian's package brought no Chromium; set CHROMIUM_BIN" }
}

/** Runs apt-get. If it failed, returns the last line that it printed. */
async function aptGet(args) {
  const { ok, output } = await run('apt-get', [...APT, ...args])
  return ok ? undefined : `apt-get ${args[0]} failed: ${output.trim().split('\n').at(-1)}`
}
