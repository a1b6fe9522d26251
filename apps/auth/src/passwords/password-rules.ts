import { BCRYPT_MAX_BYTES } from './bcrypt.js'

/** docs/specification.md#passwords. `requiredCharacters` are sets: a password has at least one character of each. */
export type PasswordRules = { readonly minLength: number; readonly requiredCharacters: readonly string[] }

export type WeakPasswordReason = 'length' | 'characters'

/** `too_long` is 400 `validation_failed`; `weak` is 422 `weak_password` with the reasons. */
export type PasswordProblem =
  | { kind: 'too_long'; message: string }
  | { kind: 'weak'; reasons: WeakPasswordReason[]; message: string }

/** What is wrong with a new password, or null. Bytes count against the maximum, characters against the minimum. */
export function checkPassword(rules: PasswordRules, password: string): PasswordProblem | null {
  if (Buffer.byteLength(password) > BCRYPT_MAX_BYTES)
    return { kind: 'too_long', message: `Password cannot be longer than ${BCRYPT_MAX_BYTES} bytes` }
  const characters = [...password]
  const problems = new Map<WeakPasswordReason, string>()
  if (characters.length < rules.minLength)
    problems.set('length', `Password should be at least ${rules.minLength} characters.`)
  if (!rules.requiredCharacters.every((set) => characters.some((character) => [...set].includes(character))))
    problems.set(
      'characters',
      `Password should contain at least one character of each: ${rules.requiredCharacters.join(', ')}.`,
    )
  if (problems.size === 0) return null
  return { kind: 'weak', reasons: [...problems.keys()], message: [...problems.values()].join(' ') }
}

/**
 * Whether people can meet the rules within bcrypt's maximum. Where sets overlap in many ways, it may miss the only password that is short
 * enough.
 */
export const canBeMet = (rules: PasswordRules): boolean => checkPassword(rules, shortPassword(rules)) === null

/** A password of few bytes that has the required characters and length. */
function shortPassword({ minLength, requiredCharacters }: PasswordRules): string {
  const characters: string[] = []
  for (const set of requiredCharacters.map((each) => [...each])) {
    if (!set.some((character) => characters.includes(character))) characters.push(shortest(set))
  }
  while (characters.length < minLength) characters.push('a')
  return characters.join('')
}

const shortest = (characters: readonly string[]): string =>
  characters.reduce((a, b) => (Buffer.byteLength(b) < Buffer.byteLength(a) ? b : a))
