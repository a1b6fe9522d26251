import { InvalidSecretError } from './errors.js'

/** A subscription secret, whole, with its `whsec_`. Several while an old subscription is replaced by a new one. */
export type Secret = string | readonly string[]

const SECRET_FORM = /^whsec_[\x21-\x7e]+$/

/**
 * The secrets to try, none of them a mistake. An empty one would be a key that anybody has, and one without its prefix or
 * with the line end of the file it came from verifies nothing: say so instead of refusing every delivery.
 */
export function secretsOf(secret: Secret): readonly string[] {
  const secrets = Array.isArray(secret) ? (secret as readonly string[]) : [secret as string]
  if (secrets.length === 0) throw new InvalidSecretError('no secret was given')
  for (const one of secrets) {
    if (typeof one !== 'string' || one === '') throw new InvalidSecretError('it is empty or no string')
    if (!one.startsWith('whsec_')) throw new InvalidSecretError('it must be whole, with its whsec_ in front')
    if (!SECRET_FORM.test(one)) throw new InvalidSecretError('it holds a space or a line end')
  }
  return secrets
}
