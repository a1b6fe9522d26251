import type { KeyObject } from 'node:crypto'
import type { AsymmetricAlgorithm, NamedKey } from '@signet/jwt'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { seal, unseal } from '../secrets/sealed-box.js'
import { importPrivateJwk } from './private-jwk.js'
import type { SigningKey } from './signing-key.js'

/** Creates private keys, and seals them for the database. */
export class KeyMaterial {
  constructor(private readonly sealingKey: KeyObject) {}

  /** A new key; its `kid` is the thumbprint of the public half (RFC 7638). RS256 takes up to a second. */
  async create(alg: AsymmetricAlgorithm): Promise<{ kid: string; sealedKey: string }> {
    const { privateKey } = await generateKeyPair(alg, { extractable: true })
    const jwk = await exportJWK(privateKey)
    const kid = await calculateJwkThumbprint(jwk)
    return { kid, sealedKey: seal(this.sealingKey, contextOf(kid), JSON.stringify({ ...jwk, alg, kid })) }
  }

  /** Undefined for a key that is retired or was sealed with another AUTH_JWT_SECRET. */
  open({ kid, alg, sealedKey }: SigningKey): NamedKey | undefined {
    if (sealedKey === null) return undefined
    try {
      const key = importPrivateJwk(JSON.parse(unseal(this.sealingKey, contextOf(kid), sealedKey)))
      return key.alg === alg ? key : undefined
    } catch {
      return undefined
    }
  }
}

/** Authenticated with the sealed key, so that a key moved to a row with another name does not open. */
const contextOf = (kid: string): string => `signing key ${kid}`
