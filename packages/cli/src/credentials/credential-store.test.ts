import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { UsageError } from '../errors.js'
import { CredentialStore, type StorePreference } from './credential-store.js'
import type { Keychain } from './keychain.js'

const SERVICE = 'https://hooks.example.com'
const SIGN_IN = {
  serviceUrl: SERVICE,
  email: 'ana@example.com',
  token: { id: '7', name: 'laptop', hint: 'svp_…abcd', expiresAt: '2026-01-01T00:00:00.000Z' },
}

let folder: string
let warnings: string[]
let entries: Map<string, string>
let isLocked: boolean

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-store-'))
  warnings = []
  entries = new Map()
  isLocked = false
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** An in-memory keychain that refuses everything while it is locked. */
const keychain: Keychain = {
  get: (account) => unlocked(() => entries.get(account) ?? null),
  set: (account, secret) => unlocked(() => void entries.set(account, secret)),
  delete: (account) => unlocked(() => void entries.delete(account)),
}

const unlocked = <T>(work: () => T): Promise<T> =>
  isLocked ? Promise.reject(new Error('locked')) : Promise.resolve(work())

function aStore({ preference = 'auto', has = true }: { preference?: StorePreference; has?: boolean } = {}) {
  return new CredentialStore({
    configDir: folder,
    preference,
    warn: (text) => warnings.push(text),
    openKeychain: () => Promise.resolve(has ? keychain : null),
  })
}

const content = (): string => readFileSync(join(folder, 'credentials.json'), 'utf8')

/** The token as a later run finds it. */
async function found(store: CredentialStore): Promise<string | null> {
  const signIn = await store.find(SERVICE)
  return signIn && store.token(signIn)
}

describe('CredentialStore', () => {
  it('keeps the token in the keychain, and out of the file, where there is one', async () => {
    expect(await aStore().save(SIGN_IN, 'svp_secret')).toBe('keychain')
    expect(content()).not.toContain('svp_secret')
    expect(await found(aStore())).toBe('svp_secret')
  })

  it('keeps it in the file where there is no keychain', async () => {
    expect(await aStore({ has: false }).save(SIGN_IN, 'svp_secret')).toBe('file')
    expect(await found(aStore({ has: false }))).toBe('svp_secret')
    expect(entries.size).toBe(0)
  })

  it('falls back to the file with a warning when the keychain refuses', async () => {
    isLocked = true
    expect(await aStore().save(SIGN_IN, 'svp_secret')).toBe('file')
    expect(warnings).toHaveLength(1)
  })

  it('does not fall back when the keychain was asked for by name', async () => {
    isLocked = true
    await expect(aStore({ preference: 'keychain' }).save(SIGN_IN, 'svp_secret')).rejects.toThrow(UsageError)
    await expect(aStore({ preference: 'keychain', has: false }).save(SIGN_IN, 'svp_secret')).rejects.toThrow(
      UsageError,
    )
    expect(readdirSync(folder)).toEqual([])
  })

  it('clears the keychain when the token moves to the file', async () => {
    await aStore().save(SIGN_IN, 'svp_first')
    await aStore({ preference: 'file' }).save(SIGN_IN, 'svp_second')
    expect(entries.size).toBe(0)
    expect(await found(aStore())).toBe('svp_second')
  })

  it('removes the token wherever it lies, and remembers the service', async () => {
    const store = aStore()
    await store.save(SIGN_IN, 'svp_secret')
    const signIn = await store.find(SERVICE)
    if (signIn) await store.remove(signIn)
    expect(entries.size).toBe(0)
    expect(await store.currentService()).toBe(SERVICE)
    expect(await store.find(SERVICE)).toBeNull()
  })

  it('says what to do when the keychain of a sign-in is not there', async () => {
    await aStore().save(SIGN_IN, 'svp_secret')
    await expect(found(aStore({ has: false }))).rejects.toMatchObject({
      hint: expect.stringContaining('SIGNET_TOKEN'),
    })
  })

  it('says what to do when the keychain is locked', async () => {
    await aStore().save(SIGN_IN, 'svp_secret')
    isLocked = true
    await expect(found(aStore())).rejects.toMatchObject({ hint: expect.stringContaining('Unlock') })
  })

  it('leaves no draft behind', async () => {
    await aStore().save(SIGN_IN, 'svp_secret')
    expect(readdirSync(folder)).toEqual(['credentials.json'])
  })

  it.each([
    'no JSON',
    '[]',
    '{"version":2,"signIns":{}}',
    `{"version":1,"signIns":{"${SERVICE}":{"place":"file"}}}`,
  ])('refuses a damaged file: %s', async (text) => {
    writeFileSync(join(folder, 'credentials.json'), text, { mode: 0o600 })
    await expect(aStore().find(SERVICE)).rejects.toThrow('damaged')
  })

  it('names a file that cannot be read', async () => {
    mkdirSync(join(folder, 'credentials.json'))
    await expect(aStore().find(SERVICE)).rejects.toThrow('EISDIR')
  })
})
