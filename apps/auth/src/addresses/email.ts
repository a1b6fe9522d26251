import { AddressFormatError } from './address.js'

const MAX_EMAIL_BYTES = 255
// The HTML standard's grammar of input[type=email].
const EMAIL =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/

/** The address in the lower-case form that is stored and compared; throws `validation_failed` (docs/specification.md#addresses). */
export function normalizeEmail(raw: string): string {
  // Validated before lower-casing: the Kelvin sign becomes an ASCII k, which could be someone else's address.
  if (raw.length <= MAX_EMAIL_BYTES && EMAIL.test(raw)) return raw.toLowerCase()
  throw new AddressFormatError('email')
}

/** `ann+news@example.com` and `ann@example.com` are one mailbox. Returns anything else as it is. */
export const withoutLabel = (address: string): string => address.toLowerCase().replace(/\+[^@]*(?=@)/, '')
