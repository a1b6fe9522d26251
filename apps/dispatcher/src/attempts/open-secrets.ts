import {
  endpointSecretContext,
  SecretUnreadableError,
  type SealedSecret,
  type SecretBox,
} from '@signet/webhook-core'
import { LRUCache } from 'lru-cache'
import type { AttemptPlan } from '../deliveries/delivery-store.js'

type Opened = { sealed: SealedSecret; secret: string }

/** A few megabytes. */
const DEFAULT_MAX = 10_000

/**
 * Decrypted signing secrets. An entry is only used for the exact ciphertext it came from, and the ciphertext
 * is read again for every attempt.
 */
export class OpenSecrets {
  readonly #opened: LRUCache<string, Opened>

  constructor(
    private readonly box: Pick<SecretBox, 'open'>,
    max = DEFAULT_MAX,
  ) {
    this.#opened = new LRUCache({ max })
  }

  /** The secret of an endpoint; throws `SecretUnreadableError`. */
  of(endpoint: AttemptPlan['endpoint']): string {
    const { id, secret: sealed } = endpoint
    if (!sealed) throw new SecretUnreadableError('the endpoint has no secret')
    const known = this.#opened.get(id)
    if (known && isSame(known.sealed, sealed)) return known.secret
    const secret = this.box.open(sealed, endpointSecretContext(endpoint))
    this.#opened.set(id, { sealed, secret })
    return secret
  }
}

const isSame = (a: SealedSecret, b: SealedSecret) => a.keyId === b.keyId && a.ciphertext.equals(b.ciphertext)
