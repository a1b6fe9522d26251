// `npm run site`: builds the documentation as a site. What only this needs is installed now, not with everything else.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BootstrapError, installSite } from '../local/bootstrap.mjs'

const folder = dirname(fileURLToPath(import.meta.url))
const [command = 'build', ...args] = process.argv.slice(2)

try {
  await installSite()
  const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js')
  const { status } = spawnSync(process.execPath, [vitepress, command, folder, ...args], { stdio: 'inherit' })
  if (status === 0 && command === 'build') console.log(`  ✓ the site is in ${join(folder, 'dist')}`)
  process.exitCode = status ?? 1
} catch (error) {
  console.error(error instanceof BootstrapError ? `\n${error.message}` : error)
  process.exitCode = 1
}
