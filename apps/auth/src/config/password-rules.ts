import { type PasswordRules } from '../passwords/password-rules.js'
import { MIN_PASSWORD_LENGTH } from './account-settings.js'

type Settings = { passwordMinLength: number; passwordRequiredCharacters: readonly string[] }

/** The rules of contract section 7. Apart from the other parts, because the start-up checks need it. */
export const passwordRules = (settings: Settings): PasswordRules => ({
  minLength: Math.max(MIN_PASSWORD_LENGTH, settings.passwordMinLength),
  requiredCharacters: settings.passwordRequiredCharacters,
})
