// `npm run site`: builds the documentation as a site (decision 0217). Packages that only this needs are installed now, not with
// everything else. `npm run site -- check` builds the site and checks it: check.mjs
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BootstrapError, installSite } from '../local/bootstrap.mjs'
import { faultsOfSite } from './check.mjs'

const COMMANDS = ['build', 'check', 'dev', 'preview']
const USAGE = `npm run site               builds the documentation as a site, in infra/site/dist
npm run site -- check      also follows its links and checks its pages in Chromium
npm run site -- dev        serves the pages while you write them
npm run site -- preview    serves what was built

Arguments after the command go to VitePress.`

const folder = dirname(fileURLToPath(import.meta.url))
const [given = 'build', ...args] = process.argv.slice(2)
if (given === '--help') {
  console.log(USAGE)
  process.exit(0)
}
if (!COMMANDS.includes(given)) {
  console.error(`no such command: ${given}\n\n${USAGE}`)
  process.exit(2)
}
const command = given === 'check' ? 'build' : given
const dist = join(folder, 'dist')

try {
  await installSite()
  const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js')
  const { status } = spawnSync(process.execPath, [vitepress, command, folder, ...args], { stdio: 'inherit' })
  if (status === 0 && command === 'build') console.log(`  ✓ the site is in ${dist}`)
  process.exitCode = status ?? 1
  if (status === 0 && given === 'check') {
    const faults = await faultsOfSite(dist)
    console.log(faults.length === 0 ? '  ✓ nothing is wrong with its pages' : faults.join('\n'))
    if (faults.length > 0) process.exitCode = 1
  }
} catch (error) {
  console.error(error instanceof BootstrapError ? `\n${error.message}` : error)
  process.exitCode = 1
}
