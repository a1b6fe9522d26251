import { fileURLToPath } from 'node:url'
import { findPrograms, unpackedProgram, unpackPackage } from '@signet/local'

const CACHE = fileURLToPath(new URL('../../../.cache/prometheus', import.meta.url))
const NAMES = ['promtool']

/**
 * Prometheus's own checker of alert rules: PROMTOOL_BIN, the PATH, one unpacked earlier, and last the distribution's package.
 * Null where none is available; the rules are then checked by what can be read from them alone.
 */
export async function findPromtool(env: NodeJS.ProcessEnv = process.env): Promise<string | null> {
  if (env['PROMTOOL_BIN']) return env['PROMTOOL_BIN']
  const installed = findPrograms(NAMES, env['PATH'])[0] ?? unpackedProgram(CACHE, NAMES)
  if (installed) return installed
  const say = () => undefined // progress does not belong in a test's output
  const wanted = { name: 'prometheus', title: 'promtool', alone: true, cacheDir: CACHE, env, say }
  await unpackPackage(wanted).catch(() => {})
  return unpackedProgram(CACHE, NAMES) ?? null
}
