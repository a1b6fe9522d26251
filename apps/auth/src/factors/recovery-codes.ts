import { randomInt } from 'node:crypto'

export const RECOVERY_CODES = 10

/** Lower-case letters and digits, without those that look alike on paper: 50 bits in ten of them. */
const ALPHABET = '23456789abcdefghijkmnpqrstuvwxyz'
const LENGTH = 10

/** A code as people see it, in two halves. */
export function newRecoveryCode(): string {
  const characters = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)])
  return `${characters.slice(0, LENGTH / 2).join('')}-${characters.slice(LENGTH / 2).join('')}`
}

/** The form that is hashed: case, spaces and dashes depend on how the code was copied. */
export const plainRecoveryCode = (typed: string): string =>
  typed.toLowerCase().replace(/[\s\-\u2010-\u2015]/g, '')
