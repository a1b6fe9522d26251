import { type Captcha } from '@signet/pages'
import { type AuthConfig } from '../../config/config.js'

/** Which ways to sign in the pages offer, as the settings say: none that could only end in an error. */
export type WaysIn = {
  readonly email: boolean
  readonly phone: boolean
  readonly magicLink: boolean
  readonly signUp: boolean
  readonly providers: readonly string[]
  readonly captcha: Captcha | null
}

export const waysIn = (config: AuthConfig, providers: readonly string[]): WaysIn => ({
  email: config.emailEnabled,
  phone: config.phoneEnabled,
  magicLink: config.emailEnabled && config.emailMagicLinkEnabled,
  signUp: !config.disableSignup && (config.emailEnabled || config.phoneEnabled),
  providers,
  captcha:
    config.captchaEnabled && config.uiCaptchaSiteKey !== undefined
      ? { provider: config.captchaProvider, siteKey: config.uiCaptchaSiteKey }
      : null,
})

/** What somebody typed who may use either address. */
export function addressOf({ email, phone }: WaysIn, text: string): { email: string } | { phone: string } {
  const isPhone = phone && (!email || /^\+?[0-9 ()-]+$/.test(text))
  return isPhone ? { phone: phoneOf(text) } : { email: text }
}

/** A number as people write it, without what they put between its digits. */
export const phoneOf = (text: string): string => text.replace(/[()-]/g, '')
