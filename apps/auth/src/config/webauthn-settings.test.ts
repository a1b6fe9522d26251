import { describe, expect, it } from '@jest/globals'
import { rpIdOf, rpOriginsOf, webauthnProblems, webauthnSettings } from './webauthn-settings.js'

const base = {
  siteUrl: 'https://app.example.com/start',
  apiExternalUrl: 'https://auth.example.com/auth/v1',
  passkeyEnabled: true,
  mfaWebauthnEnrollEnabled: false,
  mfaWebauthnVerifyEnabled: false,
  webauthnRpId: undefined as string | undefined,
  webauthnRpOrigins: [] as readonly string[],
}
/** Puts the site and the server on hosts of `domain`, which is the relying party ID of the keys. */
const onDomain = (domain: string) => ({
  siteUrl: `https://app.${domain}`,
  apiExternalUrl: `https://auth.${domain}`,
  webauthnRpId: domain,
})
const KEY_HASH = `android:apk-key-hash:${'A'.repeat(43)}`

describe('where passkeys belong (docs/specification.md#webauthn)', () => {
  it('is the site, unless a setting names a domain that this server belongs to as well', () => {
    expect(rpIdOf(base)).toBe('app.example.com')
    expect(rpOriginsOf(base)).toEqual(['https://app.example.com'])
    const wider = { ...base, webauthnRpId: 'example.com' }
    expect(rpOriginsOf(wider)).toEqual(['https://app.example.com', 'https://auth.example.com'])
    expect(webauthnProblems(wider)).toEqual([])
    const own = ['https://shop.example.com', KEY_HASH]
    expect(rpOriginsOf({ ...wider, webauthnRpOrigins: own })).toEqual(own)
    expect(webauthnProblems({ ...wider, webauthnRpOrigins: own })).toEqual([])
  })

  it.each([
    [{ webauthnRpId: '127.0.0.1' }, /^AUTH_WEBAUTHN_RP_ID .*IP address/],
    [{ siteUrl: 'http://[::1]:3000' }, /^AUTH_WEBAUTHN_RP_ID .*IP address/],
    [
      { webauthnRpOrigins: ['https://app.example.com.evil.example'] },
      /^AUTH_WEBAUTHN_RP_ORIGINS: .*does not belong/,
    ],
    [{ webauthnRpOrigins: ['https://notapp.example.com'] }, /^AUTH_WEBAUTHN_RP_ORIGINS: .*does not belong/],
    [{ webauthnRpOrigins: ['http://app.example.com'] }, /^AUTH_WEBAUTHN_RP_ORIGINS: .*needs https/],
    [{ siteUrl: 'http://app.example.com' }, /^AUTH_WEBAUTHN_RP_ORIGINS: .*needs https/],
    [{ webauthnRpId: 'other.example' }, /^AUTH_WEBAUTHN_RP_ORIGINS is required/],
    [{ webauthnRpId: 'com' }, /^AUTH_WEBAUTHN_RP_ID .* public suffix, .*: com$/],
    [onDomain('co.uk'), /^AUTH_WEBAUTHN_RP_ID .* public suffix, .*: co\.uk$/],
    [onDomain('github.io'), /^AUTH_WEBAUTHN_RP_ID .* public suffix, .*: github\.io$/],
  ])('is named at start when it cannot work: %j', (change, problem) => {
    const problems = webauthnProblems({ ...base, ...change })
    expect(problems).toEqual([expect.stringMatching(problem)])
    expect(webauthnProblems({ ...base, ...change, passkeyEnabled: false })).toEqual([])
  })

  it.each(['example.co.uk', 'signet.github.io', 'auth.corp.internal'])('may be %s', (domain) => {
    expect(webauthnProblems({ ...base, ...onDomain(domain) })).toEqual([])
  })

  it('may be this machine without https', () => {
    expect(webauthnProblems({ ...base, siteUrl: 'http://localhost:3000' })).toEqual([])
  })

  it.each([
    'app.example.com',
    'https://app.example.com/x',
    'ftp://a.example',
    'android:apk-key-hash:x',
    'null',
  ])('is not written as the origin %s', (origin) => {
    expect(() => webauthnSettings.webauthnRpOrigins.parse(origin)).toThrow('must list origins')
  })

  it.each(['https://example.com', 'Example.com', '-a.example', 'example.com:443', 'a..example', ''])(
    'is not written as the domain "%s"',
    (id) => {
      expect(() => webauthnSettings.webauthnRpId.parse(id)).toThrow('must be a host name')
    },
  )

  it.each(['x'.repeat(65), '', ' Example', 'Exam\u202eple'])('is not called %j', (name) => {
    expect(() => webauthnSettings.webauthnRpDisplayName.parse(name)).toThrow('up to 64 characters')
  })

  it('is compared as browsers write it', () => {
    expect(webauthnSettings.webauthnRpOrigins.parse('https://App.example.com:443')).toEqual([
      'https://app.example.com',
    ])
  })
})
