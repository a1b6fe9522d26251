import { AddressFormatError, type Address } from '../addresses/address.js'
import { normalizePhone } from '../addresses/phone.js'
import { normalizeEmail } from '../addresses/email.js'
import { invalid } from '../errors/auth-error.js'
import type { Slot } from '../one-time-tokens/one-time-token.js'

export const EMAIL_TYPES = ['signup', 'invite', 'recovery', 'magiclink', 'email_change', 'email'] as const
export const PHONE_TYPES = ['sms', 'phone_change'] as const
export type VerifyType = (typeof EMAIL_TYPES)[number] | (typeof PHONE_TYPES)[number]

/** The slots that each type looks at. */
export const slotsOf: Readonly<Record<VerifyType, readonly Slot[]>> = {
  signup: ['confirmation', 'invite'],
  invite: ['invite'],
  recovery: ['recovery'],
  magiclink: ['recovery'],
  email_change: ['email_change_new', 'email_change_current'],
  email: ['confirmation', 'invite', 'recovery'],
  sms: ['confirmation', 'sms_sign_in'],
  phone_change: ['phone_change'],
}

/** The channel of each type's secrets; a secret from another channel does not match. */
export const channelOf = (type: VerifyType): Address['kind'] =>
  type === 'sms' || type === 'phone_change' ? 'phone' : 'email'

/** Whether the secrets are for an address that will become the account's, instead of for the account of an address. */
export const isChange = (type: VerifyType): boolean => type === 'email_change' || type === 'phone_change'

/** `email` accepts a token of any email type. */
export function resolveType(type: VerifyType, slot: Slot): Exclude<VerifyType, 'email'> {
  if (type !== 'email') return type
  if (slot === 'invite') return 'invite'
  return slot === 'confirmation' ? 'signup' : 'magiclink'
}

/** The secret of a request: a link token, or a code with the address it was sent to. */
export type Proof = { kind: 'link'; token: string } | { kind: 'otp'; address: Address; otp: string }

/** Who types a code, if more is known than the network: the user's account, or the sign-up that a page waits for. */
export type Typist = { userId?: string; signUpId?: string }

export type VerifyBody = {
  type?: string
  token?: string
  token_hash?: string
  email?: string
  phone?: string
  password?: string
  code_verifier?: string
  redirect_to?: string
}

/** Type and secret of POST /verify (docs/specification.md#verify). */
export function parseVerifyBody(body: VerifyBody): { type: VerifyType; proof: Proof } {
  const { type = '', token = '', token_hash: tokenHash = '', email = '', phone = '' } = body
  if (type === '') throw invalid('Verify requires a verification type')
  if ((token === '') === (tokenHash === '')) throw invalid('Verify requires either a token or a token hash')
  if (email !== '' && phone !== '')
    throw invalid('Only an email address or phone number should be provided on verify')
  if (tokenHash !== '') {
    if (email !== '' || phone !== '' || (body.redirect_to ?? '') !== '')
      throw invalid('Only the token_hash and type should be provided')
    return { type: typeAmong(EMAIL_TYPES, type), proof: { kind: 'link', token: tokenHash } }
  }
  if (email !== '') {
    const address = { kind: 'email', value: verifyEmail(email) } as const
    return { type: typeAmong(EMAIL_TYPES, type), proof: { kind: 'otp', address, otp: token } }
  }
  if (phone !== '') {
    const address = { kind: 'phone', value: normalizePhone(phone) } as const
    return { type: typeAmong(PHONE_TYPES, type), proof: { kind: 'otp', address, otp: token } }
  }
  // A code needs an address: without one, six digits could open anyone's account. Only a link token may come alone.
  return { type: typeAmong([...EMAIL_TYPES, ...PHONE_TYPES], type), proof: { kind: 'link', token } }
}

/** The type of GET /verify. Its token always belongs to a link. */
export const parseLinkType = (type: string): VerifyType => typeAmong(EMAIL_TYPES, type)

function typeAmong<T extends VerifyType>(types: readonly T[], type: string): T {
  const found = types.find((known) => known === type)
  if (found === undefined) throw invalid('Unsupported verification type')
  return found
}

// Only this endpoint answers a bad address with 422 (docs/specification.md#verify).
function verifyEmail(email: string): string {
  try {
    return normalizeEmail(email)
  } catch {
    throw new AddressFormatError('email', 'unprocessable')
  }
}
