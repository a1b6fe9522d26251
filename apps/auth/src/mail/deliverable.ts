const MAX_LOCAL_PART = 64
const MAX_ADDRESS = 254

/**
 * Whether mail servers must accept an address of this length. docs/specification.md#addresses allows longer addresses than SMTP does
 * (RFC 5321, 4.5.3.1), and sending to those fails no matter how often it is retried.
 */
export const isDeliverable = (address: string): boolean =>
  address.length <= MAX_ADDRESS && address.lastIndexOf('@') <= MAX_LOCAL_PART
