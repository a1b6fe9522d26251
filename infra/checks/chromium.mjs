// A Chromium for the tests of pages: CHROMIUM_BIN, the PATH, or Debian's package where we may install it. The same browser
// without a window (headless shell) comes first: a page takes a third of the processor time there.
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

/** Names an installed Chromium, if there is one, in CHROMIUM_BIN for jest. */
export function nameChromium() {
  const found = findChromium()
  if (found) process.env.CHROMIUM_BIN = found
}

/**
 * Finds or installs a Chromium and names it in CHROMIUM_BIN for jest. Returns the reason when there is none: the tests
 * of pages are then reported as skipped.
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
  // Not every distribution has the first.
  for (const name of PACKAGES) {
    reason = await aptGet(['install', '--yes', '--no-install-recommends', name])
    if (!reason) break
  }
  if (reason) return { reason }
  console.log(`  ✓ Chromium (${seconds(startedAt)})`)
  return findChromium() ?? { reason: "Debian's package brought no Chromium; set CHROMIUM_BIN" }
}

/** Runs apt-get, and returns the last line that it printed if it failed. */
async function aptGet(args) {
  const { ok, output } = await run('apt-get', [...APT, ...args])
  return ok ? undefined : `apt-get ${args[0]} failed: ${output.trim().split('\n').at(-1)}`
}
