import { fileURLToPath } from 'node:url'
import { findPrograms, unpackedProgram, unpackPackage } from '@signet/local'

const CACHE = fileURLToPath(new URL('../../../.cache/prometheus', import.meta.url))
const NAMES = ['promtool']

/**
 * Finds promtool, Prometheus's own checker of alert rules: PROMTOOL_BIN, one on the PATH, one unpacked earlier, and last the
 * distribution's package. Returns null if there is none; tests then check only what they can read in the rules themselves.
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
