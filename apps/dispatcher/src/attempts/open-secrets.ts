import {
  endpointSecretContext,
  SecretUnreadableError,
  type SealedSecret,
  type SecretBox,
} from '@signet/webhook-core'
import { LRUCache } from 'lru-cache'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'

type Opened = { sealed: SealedSecret; secret: string }
/** `nextSecret` will replace `secret`, and is set while both are valid. */
export type EndpointSecrets = { secret: string; nextSecret: string | null }

/** A few megabytes. */
const DEFAULT_MAX = 10_000

/**
 * Decrypted signing secrets. An entry is only used for the exact ciphertext it came from, and the ciphertext
 * is read again for every attempt.
 */
export class OpenSecrets {
  readonly #opened: LRUCache<string, Opened>

  constructor(
    private readonly box: Pick<SecretBox, 'hasKeyOf' | 'open'>,
    max = DEFAULT_MAX,
  ) {
    this.#opened = new LRUCache({ max })
  }

  /** False if the key of one of its secrets is not configured. */
  hasKeysOf({ secret, nextSecret }: DeliverySnapshot['endpoint']): boolean {
    return [secret, nextSecret].every((sealed) => sealed === null || this.box.hasKeyOf(sealed))
  }

  /** The secrets of an endpoint; throws `SecretUnreadableError`. */
  of(endpoint: DeliverySnapshot['endpoint']): EndpointSecrets {
    const { id, secret, nextSecret } = endpoint
    if (!secret) throw new SecretUnreadableError('the endpoint has no secret')
    const context = endpointSecretContext(endpoint)
    return {
      secret: this.#open(id, secret, context),
      nextSecret: nextSecret && this.#open(`${id}:next`, nextSecret, context),
    }
  }

  #open(key: string, sealed: SealedSecret, context: string): string {
    const known = this.#opened.get(key)
    if (known && isSame(known.sealed, sealed)) return known.secret
    const secret = this.box.open(sealed, context)
    this.#opened.set(key, { sealed, secret })
    return secret
  }
}

const isSame = (a: SealedSecret, b: SealedSecret) => a.keyId === b.keyId && a.ciphertext.equals(b.ciphertext)
