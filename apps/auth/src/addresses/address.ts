import { AppError } from '@signet/errors'

/** An email address in lower case, or a phone number as E.164 digits. */
export type Address = { readonly kind: 'email' | 'phone'; readonly value: string }

export const isSameAddress = (one: Address, other: Address): boolean =>
  one.kind === other.kind && one.value === other.value

/** `validation_failed`: the text is not an email address, or not a phone number. */
export class AddressFormatError extends AppError {
  constructor(
    readonly address: Address['kind'],
    kind: 'invalid' | 'unprocessable' = 'invalid',
  ) {
    super(kind, 'validation_failed', MESSAGES[address])
  }
}

/** Clients match these texts (docs/specification.md#texts-that-clients-match). */
const MESSAGES: Readonly<Record<Address['kind'], string>> = {
  email: 'Unable to validate email address: invalid format',
  phone: 'Invalid phone number format (E.164 required)',
}
