import { randomInt } from 'node:crypto'
import { BCRYPT_MAX_BYTES } from './bcrypt.js'

/** docs/specification.md#passwords. `requiredCharacters` are sets: a password has at least one character of each. */
export type PasswordRules = { readonly minLength: number; readonly requiredCharacters: readonly string[] }

export type WeakPasswordReason = 'length' | 'characters'

/** `too_long` is 400 `validation_failed`; `weak` is 422 `weak_password` with the reasons. */
export type PasswordProblem =
  | { kind: 'too_long'; message: string }
  | { kind: 'weak'; reasons: WeakPasswordReason[]; message: string }

const RANDOM_LENGTH = 33
const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

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

/** The length in bytes of a random password that meets the rules. Beyond 72, neither people nor this server could meet them. */
export function longestRandomPassword({ minLength, requiredCharacters }: PasswordRules): number {
  const required = requiredCharacters.map((set) =>
    Math.max(...[...set].map((character) => Buffer.byteLength(character))),
  )
  const others = Math.max(0, Math.max(RANDOM_LENGTH, minLength) - required.length)
  return required.reduce((sum, bytes) => sum + bytes, others)
}

/** A random password that meets the rules, for accounts made without one. */
export function randomPassword(rules: PasswordRules): string {
  const length = Math.max(RANDOM_LENGTH, rules.minLength)
  const alphabets = [...rules.requiredCharacters]
  while (alphabets.length < length) alphabets.push(ALPHANUMERIC)
  return shuffled(alphabets.map(randomCharacter)).join('')
}

function randomCharacter(alphabet: string): string {
  const characters = [...alphabet]
  return characters[randomInt(characters.length)] ?? ''
}

/** Fisher–Yates, so that the required characters do not always come first. */
function shuffled(characters: readonly string[]): string[] {
  const result = [...characters]
  for (let last = result.length - 1; last > 0; last--) {
    const other = randomInt(last + 1)
    ;[result[last], result[other]] = [result[other] ?? '', result[last] ?? '']
  }
  return result
}
