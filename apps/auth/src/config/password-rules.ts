import type { PasswordRules } from '../passwords/password-rules.js'

type Settings = { passwordMinLength: number; passwordRequiredCharacters: readonly string[] }

/** The rules of docs/specification.md#passwords. In its own file, because the start-up checks need it. */
export const passwordRules = (settings: Settings): PasswordRules => ({
  minLength: settings.passwordMinLength,
  requiredCharacters: settings.passwordRequiredCharacters,
})
