/** What deleting an endpoint writes: nothing can be signed with its secrets any more. */
export const ERASED_SECRETS = `secret_ciphertext = null, secret_key_id = null, next_secret_ciphertext = null,
  next_secret_key_id = null, next_secret_active_at = null`
