import { authError } from '../errors/auth-error.js'
import type { Credential } from '../webauthn/credential.js'

export const passkeyNotFound = () => authError('not_found', 'passkey_not_found', 'Passkey not found')

/** The same answer no matter what is wrong: the key, the signature, the site, or the account that it is for. */
export const verificationFailed = () =>
  authError('invalid', 'webauthn_verification_failed', 'This passkey could not be verified')

/** The name of passkeys in notices and audit entries, where they appear as a sign-in method like a provider. */
export const PASSKEY_PROVIDER = 'passkey'

/** What audit entries say about a passkey (docs/specification.md#audit-log). */
export const passkeyTraits = ({ id }: Pick<Credential, 'id'>) => ({ passkey_id: id })
