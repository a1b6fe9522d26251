import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unpackPackage } from './distribution-package.js'
import { findProgram, isProgram } from './programs.js'

const CACHE = fileURLToPath(new URL('../../../.cache/prometheus', import.meta.url))

/**
 * Prometheus's own checker of alert rules: PROMTOOL_BIN, the PATH, one unpacked earlier, and last the distribution's package.
 * Null where none is available; the rules are then checked by what can be read from them alone.
 */
export async function findPromtool(env: NodeJS.ProcessEnv = process.env): Promise<string | null> {
  if (env['PROMTOOL_BIN']) return env['PROMTOOL_BIN']
  const installed = findProgram(['promtool'], env) ?? findUnpacked(CACHE)
  if (installed) return installed
  const say = () => undefined // a test's output is no place for progress
  return unpackPackage('apt-get', {
    ...{ name: 'prometheus', title: 'promtool', alone: true, cacheDir: CACHE, env, say },
    find: findUnpacked,
  }).catch(() => null)
}

function findUnpacked(folder: string): string | null {
  const file = join(folder, 'usr/bin/promtool')
  return isProgram(file) ? file : null
}
