import { normalizeEmail } from '../addresses/email.js'
import { normalizePhone } from '../addresses/phone.js'
import { invalid } from '../errors/auth-error.js'
import { MAX_NAME_LENGTH, type JsonObject } from '../users/user.js'
import { bannedUntil } from './ban-duration.js'

/** What administrators may set (docs/specification.md#users-made-by-administrators); `password_hash`, `id` and `aud` on creation only. */
export type UserAttributes = {
  role?: string
  email?: string
  phone?: string
  password?: string
  password_hash?: string
  email_confirm?: boolean
  phone_confirm?: boolean
  user_metadata?: JsonObject
  app_metadata?: JsonObject
  ban_duration?: string
  id?: string
  aud?: string
}

export type CheckedAttributes = {
  email: string | null
  phone: string | null
  role: string | undefined
  emailConfirm: boolean
  phoneConfirm: boolean
  userMetadata: JsonObject
  appMetadata: JsonObject
  /** Undefined leaves a ban unchanged, null lifts it. */
  bannedUntil: Date | null | undefined
}

export function checkAttributes(attributes: UserAttributes, now: Date): CheckedAttributes {
  const { email = '', phone = '', role = '', ban_duration: ban = '' } = attributes
  if (role.length > MAX_NAME_LENGTH) throw invalid('The role is too long')
  return {
    email: email === '' ? null : normalizeEmail(email),
    phone: phone === '' ? null : normalizePhone(phone),
    role: role === '' ? undefined : role,
    emailConfirm: attributes.email_confirm === true,
    phoneConfirm: attributes.phone_confirm === true,
    userMetadata: attributes.user_metadata ?? {},
    appMetadata: attributes.app_metadata ?? {},
    bannedUntil: ban === '' ? undefined : bannedUntil(ban, now),
  }
}
