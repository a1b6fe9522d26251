import { type Address } from '../addresses/address.js'
import { type Challenge } from '../flows/pkce.js'
import { type SmsChannel } from '../sms/sms-sender.js'
import { type JsonObject } from '../users/user.js'

/** A link or code to sign in with that was asked for. */
export type CodeRequest = {
  address: Address
  aud: string
  redirectTo: string
  signsUp: boolean
  data: JsonObject
  challenge: Challenge | null
  channel: SmsChannel
}

/** A recovery that was asked for. */
export type RecoverRequest = { address: Address; challenge: Challenge | null; redirectTo: string }

export const RESEND_TYPES = ['signup', 'email_change', 'sms', 'phone_change'] as const
export type ResendType = (typeof RESEND_TYPES)[number]

/** A message that was asked for again. */
export type ResendWork = {
  type: ResendType
  address: Address
  challenge: Challenge | null
  redirectTo: string
}

/** What is done for whoever has an address, once the request that named it is answered. */
export type AccountWork =
  | { what: 'code'; input: CodeRequest }
  | { what: 'recover'; input: RecoverRequest }
  | { what: 'resend'; input: ResendWork }
