import { parseArgs } from 'node:util'
import type { AsymmetricAlgorithm } from '@signet/jwt'

export type KeysCommand =
  | { name: 'help' }
  | { name: 'list' }
  | { name: 'rotate'; alg: AsymmetricAlgorithm | undefined; now: boolean }
  | { name: 'retire'; kid: string; force: boolean }

export const KEYS_USAGE = `Usage: auth keys <command> [options]

  list                 the keys that sign access tokens, signed them, or will sign them
  rotate [--alg ALG]   publish a new key (RS256, ES256 or EdDSA; default AUTH_JWT_SIGNING_ALGORITHM); it signs
                       after AUTH_JWT_KEY_ACTIVATION_DELAY, and the current key signs until then
         [--now]       let it sign immediately, if a key has leaked. A service that caches the JWK Set may
                       refuse new tokens until it fetches the set again
  retire KID           drop a key whose tokens have all expired, or a new key that must not sign
         [--force]     drop it even if tokens it signed may be valid: they are refused immediately

  --json               one JSON object instead of text

This command uses the server's settings. Running servers pick up every change by themselves.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage.`

/** An invalid command line; the message says what is wrong with it. */
export class KeysUsageError extends Error {
  override readonly name = 'KeysUsageError'
}

const OPTIONS = {
  alg: { type: 'string' },
  now: { type: 'boolean' },
  force: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** The options and operands that each command takes, apart from `--json`. Anything else is an error instead of being ignored. */
const TAKES: ReadonlyMap<string, { options: readonly string[]; operands: number }> = new Map(
  Object.entries({
    help: { options: [], operands: 0 },
    list: { options: [], operands: 0 },
    rotate: { options: ['alg', 'now'], operands: 0 },
    retire: { options: ['force'], operands: 1 },
  }),
)

/** Parses the arguments after `keys`; throws a KeysUsageError. */
export function parseKeysArguments(argv: readonly string[]): { command: KeysCommand; json: boolean } {
  const { values, positionals } = parse(argv)
  const [name, ...operands] = positionals
  const json = values.json === true
  if (values.help || name === undefined || name === 'help') return { command: { name: 'help' }, json }
  const takes = TAKES.get(name)
  if (takes === undefined) throw new KeysUsageError(`Unknown command: ${name}`)
  const foreign = Object.keys(values).find((option) => option !== 'json' && !takes.options.includes(option))
  if (foreign !== undefined) throw new KeysUsageError(`${name} does not take --${foreign}`)
  if (operands.length > takes.operands) throw new KeysUsageError(`Too many arguments: ${operands.at(-1)}`)
  if (name === 'rotate')
    return { command: { name, alg: algorithmOf(values.alg), now: values.now === true }, json }
  if (name !== 'retire') return { command: { name: 'list' }, json }
  const [kid] = operands
  if (kid === undefined) throw new KeysUsageError('Which key? `keys list` shows their names.')
  return { command: { name, kid, force: values.force === true }, json }
}

function parse(argv: readonly string[]) {
  try {
    // A thumbprint may start with a dash and look like an option.
    const args = argv.map((word) => (/^-[\w-]{42}$/.test(word) ? ` ${word}` : word))
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true })
    return { values, positionals: positionals.map((word) => word.trim()) }
  } catch (error) {
    throw new KeysUsageError(error instanceof Error ? error.message : String(error))
  }
}

function algorithmOf(name: string | undefined): AsymmetricAlgorithm | undefined {
  if (name === undefined) return undefined
  const found = (['RS256', 'ES256', 'EdDSA'] as const).find((alg) => alg.toLowerCase() === name.toLowerCase())
  if (found === undefined) throw new KeysUsageError('--alg takes RS256, ES256 or EdDSA')
  return found
}
