import { AddressFormatError } from './address.js'

/** E.164 digits without `+`, as stored and returned; throws `validation_failed` (docs/specification.md#addresses). */
export function normalizePhone(raw: string): string {
  const phone = raw.replace(/^\+/, '').replaceAll(' ', '')
  if (/^[1-9][0-9]{1,14}$/.test(phone)) return phone
  throw new AddressFormatError('phone')
}

/**
 * A phone number without the spaces and the punctuation people put between digits, and without the `(0)` that is dialed only within the
 * country.
 */
export const phoneOf = (text: string): string =>
  text.replace(/^(\s*\+[^(]*)\(0\)/, '$1').replace(/[\s()./-]/g, '')
