import { randomBytes, randomInt, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { Address } from '../addresses/address.js'
import type { Client } from '../requests/request-meta.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { SentAt } from '../users/user-store.js'

/**
 * What a secret is for. Each slot of a user, and of a sign-up, holds one live secret, or one for each client that
 * requested it.
 */
export type Slot =
  | 'confirmation'
  | 'invite'
  | 'sms_sign_in'
  | 'recovery'
  | 'email_change_current'
  | 'email_change_new'
  | 'phone_change'
  | 'reauthentication'

/** The timestamp of the user that records when the slot was filled. */
export const sentAtOf: Readonly<Record<Slot, SentAt>> = {
  confirmation: 'confirmationSentAt',
  invite: 'confirmationSentAt',
  sms_sign_in: 'confirmationSentAt',
  recovery: 'recoverySentAt',
  email_change_current: 'emailChangeSentAt',
  email_change_new: 'emailChangeSentAt',
  phone_change: 'phoneChangeSentAt',
  reauthentication: 'reauthenticationSentAt',
}

/** The pending address of the user that the slot confirms. */
export const pendingAddressOf: Readonly<Partial<Record<Slot, 'newEmail' | 'newPhone'>>> = {
  email_change_current: 'newEmail',
  email_change_new: 'newEmail',
  phone_change: 'newPhone',
}

const PKCE_PREFIX = 'pkce_'
const LINK_BYTES = 28

/** Two independent secrets: guessing the short one says nothing about the long one. */
export type Secrets = { readonly otp: string; readonly linkToken: string }

export function newSecrets(otpLength: number, pkce: boolean, fixedOtp?: string): Secrets {
  return {
    otp: fixedOtp ?? randomDigits(otpLength),
    linkToken: `${pkce ? PKCE_PREFIX : ''}${randomBytes(LINK_BYTES).toString('hex')}`,
  }
}

export function randomDigits(length: number): string {
  return Array.from({ length }, () => String(randomInt(10))).join('')
}

export const isPkceLink = (token: string): boolean => token.startsWith(PKCE_PREFIX)

/** Makes the hashes that are stored. The prefix of a link token only says how to answer, so it is not hashed. */
export class TokenHashes {
  constructor(private readonly key: KeyObject) {}

  ofLink(token: string): Buffer {
    return keyedHash(this.key, 'link', isPkceLink(token) ? token.slice(PKCE_PREFIX.length) : token)
  }

  /** Includes slot and address in the hash, so that a code proves the address it was sent to. */
  ofOtp(slot: Slot, address: string, otp: string): Buffer {
    return keyedHash(this.key, 'otp', slot, address, otp)
  }

  ofClient({ key, shared }: Client): Buffer {
    return keyedHash(this.key, 'client', shared ? '' : key)
  }

  /** Hash of an address that someone signed up with. */
  ofSignUp({ kind, value }: Address): Buffer {
    return keyedHash(this.key, 'sign-up', kind, value)
  }
}

export const sameHash = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
