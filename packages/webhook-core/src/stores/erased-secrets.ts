/** The assignments that erase an endpoint's secrets when it is deleted, so that nothing can be signed with them anymore. */
export const ERASED_SECRETS = `secret_ciphertext = null, secret_key_id = null, next_secret_ciphertext = null,
  next_secret_key_id = null, next_secret_active_at = null`
