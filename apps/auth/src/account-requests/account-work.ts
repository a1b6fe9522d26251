import type { Address } from '../addresses/address.js'
import type { Challenge } from '../flows/pkce.js'
import type { SmsChannel } from '../sms/sms-sender.js'
import type { JsonObject } from '../users/user.js'

/** A requested sign-in link or code. */
export type CodeRequest = {
  address: Address
  aud: string
  redirectTo: string
  signsUp: boolean
  data: JsonObject
  challenge: Challenge | null
  channel: SmsChannel
}

/** A requested password recovery. */
export type RecoverRequest = { address: Address; challenge: Challenge | null; redirectTo: string }

export const RESEND_TYPES = ['signup', 'email_change', 'sms', 'phone_change'] as const
export type ResendType = (typeof RESEND_TYPES)[number]

/** A message requested again. */
export type ResendWork = {
  type: ResendType
  address: Address
  challenge: Challenge | null
  redirectTo: string
}

/** Work done for the owner of an address, after the request that named it was answered. */
export type AccountWork =
  | { what: 'code'; input: CodeRequest }
  | { what: 'recover'; input: RecoverRequest }
  | { what: 'resend'; input: ResendWork }
