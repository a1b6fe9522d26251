import type { JwtClaims } from '@signet/jwt'
import { at, oneEmail, otherMembers, subjectAt, textAt } from '../model/foreign-json.js'
import {
  ProviderError,
  type ProviderDefinition,
  type ProviderProfile,
  type ProviderSettings,
} from '../model/provider.js'

const DEFAULT_BASE = 'https://login.microsoftonline.com/common'
const TENANT_ISSUER =
  /^https:\/\/(login\.microsoftonline\.com\/[A-Za-z0-9.-]+|[a-z0-9-]+\.ciamlogin\.com\/[A-Za-z0-9.-]+)\/v2\.0$/
/** These stand for many tenants; the id is the one that all personal accounts share. */
const MANY_TENANTS = /\/(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)$/i
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
      'Without a URL every tenant may sign in, each as an issuer of its own. With `https://login.microsoftonline.com/<tenant>` only that one.',
      'An address counts as verified only where `xms_edov` says so, or where the URL names one tenant at `login.microsoftonline.com` or `ciamlogin.com`: a foreign tenant can claim any address. Have the claim sent, or name the tenant. With any other URL, such as that of a proxy or a national cloud, the claim is needed.',
    ],
  },
  scopes: ['openid', 'email', 'profile'],
  endpoints: (_endpoint, settings) => ({
    authorize: `${baseOf(settings)}/oauth2/v2.0/authorize`,
    token: `${baseOf(settings)}/oauth2/v2.0/token`,
  }),
  openId: {
    // A base URL names one tenant; without one every tenant may sign in, each as its own issuer.
    isIssuer: (issuer, { baseUrl }) =>
      baseUrl === undefined ? TENANT_ISSUER.test(issuer) : issuer === `${baseUrl}/v2.0`,
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

/** `xms_edov`: whether the owner of the tenant has proven that the domain of the address is theirs. */
function isDomainVerified(claims: JwtClaims, { baseUrl }: ProviderSettings): boolean {
  const edov = at(claims, 'xms_edov')
  if (edov === undefined) return baseUrl !== undefined && isOneTenant(baseUrl)
  return edov === true || edov === '1' || edov === 'true'
}

/** Only Microsoft's own URLs tell: behind any other, one issuer may stand for many tenants. */
const isOneTenant = (baseUrl: string): boolean =>
  TENANT_ISSUER.test(`${baseUrl}/v2.0`) && !MANY_TENANTS.test(baseUrl)
