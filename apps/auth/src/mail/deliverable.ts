const MAX_LOCAL_PART = 64
const MAX_ADDRESS = 254

/**
 * Whether mail servers have to take the address: the form of docs/specification.md#addresses allows longer ones than
 * SMTP does (RFC 5321, 4.5.3.1), and sending to those fails however often it is retried.
 */
export const isDeliverable = (address: string): boolean =>
  address.length <= MAX_ADDRESS && address.lastIndexOf('@') <= MAX_LOCAL_PART
