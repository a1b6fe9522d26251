import { AddressFormatError } from './address.js'

/** E.164 digits without `+`, as stored and returned; throws `validation_failed` (docs/specification.md#addresses). */
export function normalizePhone(raw: string): string {
  const phone = raw.replace(/^\+/, '').replaceAll(' ', '')
  if (/^[1-9][0-9]{1,14}$/.test(phone)) return phone
  throw new AddressFormatError('phone')
}
