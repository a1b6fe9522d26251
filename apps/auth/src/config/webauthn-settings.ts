import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { parseUrl } from '@signet/address-guard/parse-url'
import { boolean, integer, list, text } from '@signet/config'
import { span } from './durations.js'

/** Passkeys and WebAuthn factors (docs/specification.md#webauthn). */
export const webauthnSettings = {
  passkeyEnabled: boolean({
    env: 'AUTH_PASSKEY_ENABLED',
    fallback: false,
    doc: 'Users can register passkeys and sign in with them.',
  }),
  passkeyMaxPerUser: integer({
    env: 'AUTH_PASSKEY_MAX_PASSKEYS_PER_USER',
    fallback: 10,
    min: 1,
    max: 100,
    doc: 'Passkeys of one user.',
  }),
  mfaWebauthnEnrollEnabled: boolean({
    env: 'AUTH_MFA_WEB_AUTHN_ENROLL_ENABLED',
    fallback: false,
    doc: 'Security keys can be enrolled as second factor.',
  }),
  mfaWebauthnVerifyEnabled: boolean({
    env: 'AUTH_MFA_WEB_AUTHN_VERIFY_ENABLED',
    fallback: false,
    doc: 'Security keys can be used as second factor.',
  }),
  webauthnRpId: text({
    env: 'AUTH_WEBAUTHN_RP_ID',
    optional: true,
    fallbackDoc: 'the host of `AUTH_SITE_URL`',
    pattern: /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
    expected: 'a host name in lower case, without scheme and port',
    doc: 'The domain that passkeys and security keys belong to: that of the site and of this server, or a parent of both that is not a public suffix (such as `co.uk` or `github.io`). Keys stop working when it changes.',
  }),
  webauthnRpDisplayName: text({
    env: 'AUTH_WEBAUTHN_RP_DISPLAY_NAME',
    optional: true,
    fallbackDoc: '`AUTH_WEBAUTHN_RP_ID`',
    // Authenticators keep 64 bytes (WebAuthn section 6.4.1), and cut off what is longer.
    pattern: /^(?!\s)[^\p{Cc}\p{Cf}]{1,64}(?<!\s)$/u,
    expected: 'a name of up to 64 characters',
    doc: 'What browsers call the site when they create a key for it.',
  }),
  webauthnRpOrigins: list({
    env: 'AUTH_WEBAUTHN_RP_ORIGINS',
    fallback: [],
    fallbackDoc:
      'the origin of `AUTH_SITE_URL`, and that of `AUTH_API_EXTERNAL_URL` where it belongs to the domain',
    item: originOf,
    doc: 'Where keys may be used: origins of the domain such as `https://app.example.com`, and `android:apk-key-hash:…` for apps.',
  }),
  webauthnChallengeExpiryDuration: span({
    env: 'AUTH_WEBAUTHN_CHALLENGE_EXPIRY_DURATION',
    fallback: 300_000,
    minMs: 10_000,
    maxMs: 3_600_000,
    doc: 'How long a passkey challenge can be answered.',
  }),
}

const ANDROID_APP = /^android:apk-key-hash:[A-Za-z0-9_-]{43}$/

/** The origin as browsers write it, so that it can be compared as text. */
function originOf(item: string): string {
  if (ANDROID_APP.test(item)) return item
  const url = parseUrl(item)
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
    throw new Error('must list origins such as https://app.example.com, without path')
  return url.origin
}

type Config = {
  siteUrl: string
  apiExternalUrl: string
  passkeyEnabled: boolean
  mfaWebauthnEnrollEnabled: boolean
  mfaWebauthnVerifyEnabled: boolean
  webauthnRpId: string | undefined
  webauthnRpOrigins: readonly string[]
}

export const rpIdOf = ({ webauthnRpId, siteUrl }: Pick<Config, 'webauthnRpId' | 'siteUrl'>): string =>
  webauthnRpId ?? new URL(siteUrl).hostname

export function rpOriginsOf(
  config: Pick<Config, 'siteUrl' | 'apiExternalUrl' | 'webauthnRpId' | 'webauthnRpOrigins'>,
): readonly string[] {
  if (config.webauthnRpOrigins.length > 0) return config.webauthnRpOrigins
  const own = [config.siteUrl, config.apiExternalUrl].map((url) => new URL(url).origin)
  return [...new Set(own)].filter((origin) => belongsTo(rpIdOf(config), origin))
}

/** Reports settings that browsers would refuse, or that would let in another site. */
export function webauthnProblems(config: Config): string[] {
  if (!config.passkeyEnabled && !config.mfaWebauthnEnrollEnabled && !config.mfaWebauthnVerifyEnabled)
    return []
  const rpId = rpIdOf(config)
  const isAddress = isIP(rpId.replace(/^\[|\]$/g, '')) !== 0
  const origins = config.webauthnRpOrigins.filter((origin) => !ANDROID_APP.test(origin))
  const problems = origins
    .filter((origin) => !belongsTo(rpId, origin))
    .map((origin) => `AUTH_WEBAUTHN_RP_ORIGINS: ${origin} does not belong to ${rpId}`)
  if (isAddress)
    problems.unshift(
      `AUTH_WEBAUTHN_RP_ID must be a host name: keys do not work for the IP address ${rpId}${
        config.webauthnRpId === undefined ? ', which is that of AUTH_SITE_URL' : ''
      }`,
    )
  else if (isPublicSuffix(rpId))
    problems.unshift(
      `AUTH_WEBAUTHN_RP_ID must not be a public suffix, under which others have names: ${rpId}`,
    )
  const insecure = isAddress ? [] : rpOriginsOf(config).filter((origin) => !isSecure(origin))
  for (const origin of insecure)
    problems.push(`AUTH_WEBAUTHN_RP_ORIGINS: ${origin} needs https, as every host but localhost does`)
  if (!isAddress && rpOriginsOf(config).length === 0)
    problems.push(
      `AUTH_WEBAUTHN_RP_ORIGINS is required: neither AUTH_SITE_URL nor AUTH_API_EXTERNAL_URL belongs to ${rpId}`,
    )
  return problems
}

/**
 * Decides as browsers do (publicsuffix.org): "com" and "co.uk" are public suffixes, and so are names under which hosting companies give out
 * subdomains, such as "github.io".
 */
const isPublicSuffix = (rpId: string): boolean =>
  rpId !== 'localhost' && publicSuffixes().getPublicSuffix(rpId, { allowPrivateDomains: true }) === rpId

/** Loaded on demand: the list is long, and only servers with WebAuthn need it. */
const publicSuffixes = () => createRequire(import.meta.url)('tldts') as typeof import('tldts')

function belongsTo(rpId: string, origin: string): boolean {
  const { hostname } = new URL(origin)
  return hostname === rpId || hostname.endsWith(`.${rpId}`)
}

function isSecure(origin: string): boolean {
  if (ANDROID_APP.test(origin)) return true
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
}
