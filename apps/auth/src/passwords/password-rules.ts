/** Contract section 7. `requiredCharacters` are sets: a password has at least one character of each. */
export type PasswordRules = { readonly minLength: number; readonly requiredCharacters: readonly string[] }

export type WeakPasswordReason = 'length' | 'characters'

/** `too_long` is 400 `validation_failed`; `weak` is 422 `weak_password` with the reasons. */
export type PasswordProblem =
  { kind: 'too_long'; message: string } | { kind: 'weak'; reasons: WeakPasswordReason[]; message: string }
