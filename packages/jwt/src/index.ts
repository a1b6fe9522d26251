export { MAX_TOKEN_LENGTH } from './compact-token.js'
export { JwksClient, type JwksClientOptions, JwksUnavailableError } from './jwks-client.js'
export { importJwk } from './jwk.js'
export { JwtError, type JwtErrorReason } from './jwt-error.js'
export { type JwtClaims, signJwt, type VerifyOptions, verifyJwt } from './jwt.js'
export {
  type AsymmetricAlgorithm,
  JWT_ALGORITHMS,
  type JwtAlgorithm,
  type JwtKey,
  type KeySource,
  type NamedKey,
} from './key.js'
export { type KeyProblem, KeyRing, type KeyRingSettings, KeySettingsError } from './key-ring.js'
export { PublicKeySet } from './public-key-set.js'
