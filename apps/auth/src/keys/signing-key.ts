import type { AsymmetricAlgorithm } from '@signet/jwt'

/** A signing key as the database stores it. */
export type SigningKey = {
  readonly kid: string
  readonly alg: AsymmetricAlgorithm
  /** The private JWK, sealed; null once the key is retired. */
  readonly sealedKey: string | null
  /** The longest life of a token that a process may have signed with it, in seconds. */
  readonly tokenSeconds: number
  readonly createdAt: Date
  readonly activatesAt: Date
  /** When the next key takes over. */
  readonly supersededAt: Date | null
  readonly retiredAt: Date | null
}

/** `next` is published and signs later; `previous` no longer signs, and verifies until its last token has expired. */
export type KeyState = 'next' | 'signing' | 'previous' | 'expired' | 'retired'

export function stateOf(key: SigningKey, now: Date, delayMs: number): KeyState {
  if (key.retiredAt !== null) return 'retired'
  if (key.activatesAt > now) return 'next'
  if (key.supersededAt === null || key.supersededAt > now) return 'signing'
  return endOf(key.supersededAt, key, delayMs) > now ? 'previous' : 'expired'
}

/** When the last token of a key expires. The delay allows for replicas that find out late about the new key, and for clock skew. */
export function endOf(supersededAt: Date, { tokenSeconds }: SigningKey, delayMs: number): Date {
  return new Date(supersededAt.getTime() + tokenSeconds * 1000 + delayMs)
}

/**
 * The key to sign with: the newest active one. None is active if the process that made the keys has a clock ahead of this one's. Then it is
 * the key that becomes active first.
 */
export function signerOf<K extends SigningKey>(keys: readonly K[], now: Date): K | undefined {
  const usable = keys
    .filter(({ retiredAt }) => retiredAt === null)
    .sort((a, b) => a.activatesAt.getTime() - b.activatesAt.getTime())
  const active = usable.filter(({ activatesAt }) => activatesAt <= now)
  const current = active.findLast(({ supersededAt }) => supersededAt === null || supersededAt > now)
  return current ?? active.at(-1) ?? usable[0]
}
