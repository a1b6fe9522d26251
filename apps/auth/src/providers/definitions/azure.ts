import type { JwtClaims } from '@signet/jwt'
import { at, oneEmail, otherMembers, subjectAt, textAt } from '../model/foreign-json.js'
import {
  ProviderError,
  type ProviderDefinition,
  type ProviderProfile,
  type ProviderSettings,
} from '../model/provider.js'

const DEFAULT_BASE = 'https://login.microsoftonline.com/common'
/** The tenant that all personal accounts share. */
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'
/** Names that stand for many tenants in a URL, and which tenants each one lets in. The issuer of a token is always a single tenant. */
const MANY_TENANTS: ReadonlyMap<string, (tenant: string) => boolean> = new Map(
  Object.entries({
    common: () => true,
    organizations: (tenant) => tenant !== PERSONAL,
    consumers: (tenant) => tenant === PERSONAL,
  }),
)
const MICROSOFT_URL = /^https:\/\/login\.microsoftonline\.com\/([A-Za-z0-9.-]+)$/
const CIAM_URL = /^https:\/\/[a-z0-9-]+\.ciamlogin\.com\/([A-Za-z0-9.-]+)$/
const VERSION = '/v2.0'
const MAPPED = [
  ...['iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'nonce', 'at_hash', 'c_hash', 'aio', 'rh', 'uti', 'ver'],
  ...['email', 'email_verified', 'name', 'preferred_username'],
]

const baseOf = ({ baseUrl }: ProviderSettings) => baseUrl ?? DEFAULT_BASE

/** Never calls the userinfo endpoint: its addresses are not verified. */
export const azure: ProviderDefinition = {
  label: 'Microsoft',
  guide: {
    register:
      'entra.microsoft.com, App registrations: platform Web, a client secret, and the optional id token claims `email` and `xms_edov`.',
    returns:
      'Claims of the id token: `sub`, `email`, `name`, `preferred_username`; all others in `custom_claims`. The userinfo call is never made.',
    tests: ['open-id', 'id-token'],
    quirks: [
      'Without a URL every tenant may sign in, each as an issuer of its own; with `https://login.microsoftonline.com/<tenant id>` or `https://<name>.ciamlogin.com/<tenant id>` only that one. Name the tenant by its id: tokens do, so with a domain such as `contoso.onmicrosoft.com` none is accepted. `/organizations` and `/consumers` let in work accounts or personal ones, `/common` both.',
      'An address counts as verified only where `xms_edov` says so, or where the URL names one tenant at `login.microsoftonline.com` or `ciamlogin.com`: a foreign tenant can claim any address. Have the claim sent, or name the tenant. With any other URL, such as that of a proxy or a national cloud, the claim is needed.',
    ],
  },
  scopes: ['openid', 'email', 'profile'],
  endpoints: (_endpoint, settings) => ({
    authorize: `${baseOf(settings)}/oauth2/v2.0/authorize`,
    token: `${baseOf(settings)}/oauth2/v2.0/token`,
  }),
  openId: {
    isIssuer: (issuer, { baseUrl }) =>
      issuer.endsWith(VERSION) && isOf(baseUrl, issuer.slice(0, -VERSION.length)),
    idTokenGrant: true,
    profile: profileOf,
  },
  async profile({ idToken, settings }) {
    const claims = await idToken()
    if (!claims) throw new ProviderError('the token answer has no id token')
    return profileOf(claims, settings)
  },
}

function profileOf(claims: JwtClaims, settings: ProviderSettings): ProviderProfile {
  const name = textAt(claims, 'name')
  return {
    subject: subjectAt(claims, 'sub'),
    emails: oneEmail(textAt(claims, 'email'), isDomainVerified(claims, settings)),
    data: {
      iss: textAt(claims, 'iss'),
      name,
      full_name: name,
      preferred_username: textAt(claims, 'preferred_username'),
      custom_claims: otherMembers(claims, MAPPED),
    },
  }
}

/** Whether the owner of the tenant has proven to own the domain of the address (`xms_edov`). */
function isDomainVerified(claims: JwtClaims, { baseUrl }: ProviderSettings): boolean {
  const edov = at(claims, 'xms_edov')
  if (edov === undefined) return baseUrl !== undefined && isOneTenant(baseUrl)
  return edov === true || edov === '1' || edov === 'true'
}

/** Only true for Microsoft's own URLs. Behind any other URL, one issuer may stand for many tenants. */
function isOneTenant(baseUrl: string): boolean {
  const tenant = tenantAt(baseUrl)?.toLowerCase()
  return tenant !== undefined && tenant !== PERSONAL && !MANY_TENANTS.has(tenant)
}

/** The tenant in a Microsoft URL. */
const tenantAt = (url: string): string | undefined => (MICROSOFT_URL.exec(url) ?? CIAM_URL.exec(url))?.[1]

/** Whether the base URL lets in the tenant with this URL. Without a base URL, every tenant may sign in. */
function isOf(baseUrl: string | undefined, tenantUrl: string): boolean {
  if (baseUrl === undefined) return tenantAt(tenantUrl) !== undefined
  const letsIn = manyTenants(MICROSOFT_URL.exec(baseUrl)?.[1])
  if (letsIn) {
    const tenant = MICROSOFT_URL.exec(tenantUrl)?.[1]
    return tenant !== undefined && letsIn(tenant)
  }
  // Tokens of an external tenant have its id in place of its name, no matter how the base URL names it.
  const external = CIAM_URL.exec(baseUrl)?.[1]
  return tenantUrl === baseUrl || (external !== undefined && tenantUrl === ciamUrl(external))
}

const manyTenants = (name: string | undefined) => (name === undefined ? undefined : MANY_TENANTS.get(name))

const ciamUrl = (tenant: string): string => `https://${tenant}.ciamlogin.com/${tenant}`
