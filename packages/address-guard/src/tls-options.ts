import { constants } from 'node:crypto'
import { DEFAULT_CIPHERS } from 'node:tls'

/**
 * TLS with servers that somebody else has chosen. Handshakes run on the event loop, so a server must not be able to make one take long,
 * or to repeat it: with finite-field Diffie-Hellman, a group of its choice takes hundreds of times as long as an elliptic curve, and with
 * TLS 1.2 it could renegotiate without end.
 */
export const TLS_WITH_STRANGERS = {
  minVersion: 'TLSv1.2',
  // For TLS 1.2. The groups of TLS 1.3 are chosen separately.
  ciphers: `${DEFAULT_CIPHERS}:!DHE`,
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const
