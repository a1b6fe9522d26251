import { join } from 'node:path'
import { UsageError } from '../errors.js'
import { systemKeychain, type Keychain } from './keychain.js'
import { DEFAULT_PROFILE, fileOf } from './profile-name.js'
import { closeToOthers, isOpenToOthers, readPrivateFile, writePrivateFile } from './private-file.js'
import {
  noRecords,
  parseRecords,
  type Records,
  type SignIn,
  type StoredSignIn,
  type TokenPlace,
} from './sign-in-record.js'

/** `auto` uses the system's keychain if there is one. */
export type StorePreference = 'auto' | 'keychain' | 'file'

type Options = {
  configDir: string
  /** Each profile has its own sign-ins. */
  profile?: string
  preference: StorePreference
  warn: (text: string) => void
  openKeychain?: () => Promise<Keychain | null>
}

/**
 * Personal tokens, one per service, so that no token is ever sent to a service it was not made for. A token is stored in the system's
 * keychain if there is one, otherwise in the file that describes the sign-ins (decision 0100).
 */
export class CredentialStore {
  readonly path: string
  readonly #profile: string
  readonly #preference: StorePreference
  readonly #warn: (text: string) => void
  readonly #openKeychain: () => Promise<Keychain | null>

  constructor({
    configDir,
    profile = DEFAULT_PROFILE,
    preference,
    warn,
    openKeychain = systemKeychain,
  }: Options) {
    this.path = join(configDir, fileOf(profile))
    this.#profile = profile
    this.#preference = preference
    this.#warn = warn
    this.#openKeychain = openKeychain
  }

  /** The service that the person last signed in to, even if they have signed out since. */
  async currentService(): Promise<string | undefined> {
    return (await this.#read()).current
  }

  /** All sign-ins of the profile. */
  async list(): Promise<StoredSignIn[]> {
    const { signIns } = await this.#read()
    return Object.entries(signIns).map(([serviceUrl, { secret: _, ...signIn }]) => ({
      serviceUrl,
      ...signIn,
    }))
  }

  async find(serviceUrl: string): Promise<StoredSignIn | null> {
    const record = (await this.#read()).signIns[serviceUrl]
    if (record === undefined) return null
    const { secret: _, ...signIn } = record
    return { serviceUrl, ...signIn }
  }

  /** The token of a sign-in, or null when the keychain no longer has it. */
  async token({ serviceUrl, place }: StoredSignIn): Promise<string | null> {
    if (place === 'file') return (await this.#read()).signIns[serviceUrl]?.secret ?? null
    const keychain = await this.#openKeychain()
    if (keychain === null) {
      throw new UsageError('The token is in the system keychain, which is not available here', {
        hint: 'Unlock or start the keychain, set SIGNET_TOKEN, or sign in again with `signet login`.',
      })
    }
    try {
      return await keychain.get(this.#account(serviceUrl))
    } catch (error) {
      throw new UsageError('The system keychain did not return the token', {
        hint: 'Unlock it, set SIGNET_TOKEN, or sign in again with `signet login`.',
        cause: error,
      })
    }
  }

  /** Stores the token and makes its service the current one. Returns where the token was stored. */
  async save(signIn: SignIn, token: string): Promise<TokenPlace> {
    const records = await this.#read()
    const { serviceUrl, ...rest } = signIn
    const before = records.signIns[serviceUrl]?.place
    const place = await this.#place(serviceUrl, token)
    if (before === 'keychain' && place === 'file') await this.#forget(serviceUrl)
    records.signIns[serviceUrl] = { ...rest, place, ...(place === 'file' ? { secret: token } : {}) }
    records.current = serviceUrl
    await this.#write(records)
    return place
  }

  /** Deletes the token. Its service stays the current one. */
  async remove({ serviceUrl, place }: StoredSignIn): Promise<void> {
    if (place === 'keychain') await this.#forget(serviceUrl)
    const records = await this.#read()
    delete records.signIns[serviceUrl]
    await this.#write(records)
  }

  /** A keychain that fails (locked, access denied) must not prevent a sign-in unless the user asked for the keychain. */
  async #place(serviceUrl: string, token: string): Promise<TokenPlace> {
    if (this.#preference === 'file') return 'file'
    const mustUse = this.#preference === 'keychain'
    const keychain = await this.#openKeychain()
    if (keychain === null) {
      if (mustUse) throw new UsageError('SIGNET_CREDENTIAL_STORE is keychain, but no keychain is available')
      return 'file'
    }
    try {
      await keychain.set(this.#account(serviceUrl), token)
      return 'keychain'
    } catch (error) {
      if (mustUse) throw new UsageError('The system keychain did not store the token', { cause: error })
      this.#warn('The system keychain did not store the token; it is in a file instead.')
      return 'file'
    }
  }

  /** If the keychain refuses, it keeps a token that is already revoked. The sign-in is forgotten anyway. */
  async #forget(serviceUrl: string): Promise<void> {
    try {
      await (await this.#openKeychain())?.delete(this.#account(serviceUrl))
    } catch {
      this.#warn(`The system keychain did not remove its entry for ${serviceUrl}.`)
    }
  }

  /** Name of the keychain's entry. An address never contains a space, so the name is unambiguous. */
  #account(serviceUrl: string): string {
    return this.#profile === DEFAULT_PROFILE ? serviceUrl : `${this.#profile} ${serviceUrl}`
  }

  async #read(): Promise<Records> {
    const text = await this.#access('read', () => readPrivateFile(this.path))
    if (text === null) return noRecords()
    if (await isOpenToOthers(this.path)) {
      await this.#access('closed to others', () => closeToOthers(this.path))
      this.#warn(
        `${this.path} could be read by other users; that is closed now. Consider running \`signet login\` again.`,
      )
    }
    const records = parseRecords(text)
    if (records === null) {
      throw new UsageError(`${this.path} is damaged`, {
        hint: 'Move it away and sign in again with `signet login`.',
      })
    }
    return records
  }

  async #write(records: Records): Promise<void> {
    const text = `${JSON.stringify(records, null, 2)}\n`
    await this.#access('written', () => writePrivateFile(this.path, text))
  }

  async #access<T>(verb: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      throw new UsageError(`${this.path} cannot be ${verb} (${code})`, {
        hint: 'Fix the permissions, or point XDG_CONFIG_HOME to a folder of your own.',
        cause: error,
      })
    }
  }
}
