/** Secrets by account name. `get` returns null if there is none. */
export interface Keychain {
  get(account: string): Promise<string | null>
  set(account: string, secret: string): Promise<void>
  delete(account: string): Promise<void>
}

const SERVICE = 'signet-cli'

/**
 * The keychain of the operating system, or null if none is available: the library is an optional dependency with native code, and
 * servers and containers run no Secret Service. A call may wait until the user unlocks the keychain.
 */
export async function systemKeychain(): Promise<Keychain | null> {
  const library = await import('@napi-rs/keyring').catch(() => null)
  if (library === null) return null
  // Without this setting, Linux falls back to the kernel's keyring, which forgets everything when the machine restarts.
  const entry = (account: string) =>
    new library.AsyncEntry(SERVICE, account, { linux: { store: 'secret-service' } })
  try {
    entry('availability')
  } catch {
    return null
  }
  return {
    get: (account) => entry(account).getPassword(),
    set: (account, secret) => entry(account).setPassword(secret),
    async delete(account) {
      await entry(account).deleteCredential()
    },
  }
}
