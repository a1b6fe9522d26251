/** An email address in lower case, or a phone number as E.164 digits. */
export type Address = { readonly kind: 'email' | 'phone'; readonly value: string }

export const isSameAddress = (one: Address, other: Address): boolean =>
  one.kind === other.kind && one.value === other.value
