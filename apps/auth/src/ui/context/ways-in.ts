import type { Captcha } from '@signet/pages'
import type { AuthConfig } from '../../config/config.js'
import { rpOriginsOf } from '../../config/webauthn-settings.js'
import { phoneOf } from '../../addresses/phone.js'
import { PageRefusal } from './refusals.js'

/** Sign-in methods that the pages offer: only those enabled in the settings. */
export type WaysIn = {
  readonly email: boolean
  readonly phone: boolean
  readonly magicLink: boolean
  readonly signUp: boolean
  readonly passkey: boolean
  readonly providers: readonly string[]
  readonly captcha: Captcha | null
}

export const waysIn = (config: AuthConfig, providers: readonly string[]): WaysIn => ({
  email: config.emailEnabled,
  phone: config.phoneEnabled,
  magicLink: config.emailEnabled && config.emailMagicLinkEnabled,
  signUp: !config.disableSignup && (config.emailEnabled || config.phoneEnabled),
  passkey: config.passkeyEnabled && keysWorkHere(config),
  providers,
  captcha:
    config.captchaEnabled && config.uiCaptchaSiteKey !== undefined
      ? { provider: config.captchaProvider, siteKey: config.uiCaptchaSiteKey }
      : null,
})

/** Whether the origin of these pages is one of those for passkeys and security keys. */
export const keysWorkHere = (config: AuthConfig): boolean =>
  rpOriginsOf(config).includes(new URL(config.apiExternalUrl).origin)

/** Parses an identifier that may be an email address or a phone number. */
export function addressOf({ email, phone }: WaysIn, text: string): { email: string } | { phone: string } {
  const isPhone = phone && (!email || /^\+?[0-9\s()./-]+$/.test(text))
  return isPhone ? { phone: phoneOf(text) } : { email: text }
}

/** The fewest digits of a phone number, including the country code. */
const FEWEST_DIGITS = 7

/** A phone number to send a code to. Refuses a country code alone, which would also have the form of a number. */
export function fullPhoneOf(text: string): string {
  const phone = phoneOf(text)
  if (phone.replace(/\D/g, '').length < FEWEST_DIGITS) throw new PageRefusal('invalid', 'me.phone.short')
  return phone
}
