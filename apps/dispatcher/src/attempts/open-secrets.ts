import {
  endpointSecretContext,
  SecretUnreadableError,
  type SealedSecret,
  type SecretBox,
} from '@signet/webhook-core'
import { type AttemptPlan } from '../deliveries/delivery-store.js'

type Opened = { sealed: SealedSecret; secret: string }

/** A few megabytes. */
const DEFAULT_MAX = 10_000

/**
 * LRU cache of decrypted signing secrets. An entry is only used for the exact ciphertext it came from, and the ciphertext
 * is read again for every attempt.
 */
export class OpenSecrets {
  private readonly opened = new Map<string, Opened>()

  constructor(
    private readonly box: Pick<SecretBox, 'open'>,
    private readonly max = DEFAULT_MAX,
  ) {}

  /** The secret of an endpoint; throws `SecretUnreadableError`. */
  of(endpoint: AttemptPlan['endpoint']): string {
    const { id, secret: sealed } = endpoint
    if (!sealed) throw new SecretUnreadableError('the endpoint has no secret')
    const known = this.opened.get(id)
    this.opened.delete(id)
    const secret =
      known && isSame(known.sealed, sealed)
        ? known.secret
        : this.box.open(sealed, endpointSecretContext(endpoint))
    this.opened.set(id, { sealed, secret })
    if (this.opened.size > this.max) this.dropOldest()
    return secret
  }

  private dropOldest(): void {
    for (const id of this.opened.keys()) {
      this.opened.delete(id)
      return
    }
  }
}

const isSame = (a: SealedSecret, b: SealedSecret) => a.keyId === b.keyId && a.ciphertext.equals(b.ciphertext)
