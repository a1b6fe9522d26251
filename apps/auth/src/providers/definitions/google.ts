import type { JwtClaims } from '@signet/jwt'
import { at, flagAt, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderData, ProviderDefinition, ProviderProfile } from '../model/provider.js'

const ISSUER = 'https://accounts.google.com'

export const google: ProviderDefinition = {
  label: 'Google',
  guide: {
    register:
      'console.cloud.google.com, Credentials: OAuth client of type Web application. Ids of mobile apps follow the first, separated by commas.',
    returns:
      'Claims of the id token (or of the userinfo call when there is none): `sub`, `email` with `email_verified`, `name`, `picture`, `hd` in `custom_claims`.',
    tests: ['rows', 'open-id', 'id-token'],
    quirks: ['The URL setting is ignored outside of tests.'],
  },
  scopes: ['email', 'profile'],
  strategy: async () => (await import('passport-google-oauth20')).Strategy,
  fixedBaseUrl: true,
  endpoints: (endpoint) => ({
    authorize: endpoint('https://accounts.google.com/o/oauth2/v2/auth'),
    token: endpoint('https://oauth2.googleapis.com/token'),
    account: endpoint('https://www.googleapis.com/oauth2/v3/userinfo'),
  }),
  openId: {
    // Google documents both forms: with the scheme and without.
    isIssuer: (issuer, { baseUrl = ISSUER }) => issuer === baseUrl || issuer === withoutScheme(baseUrl),
    discoveredAt: ({ baseUrl = ISSUER }) => baseUrl,
    idTokenGrant: true,
    profile: profileOf,
  },
  async profile({ idToken, account }) {
    const claims = await idToken()
    if (claims) return profileOf(claims)
    // Without the scope openid there is no id token.
    const user = await account()
    return {
      subject: subjectAt(user, 'id'),
      emails: oneEmail(textAt(user, 'emails', 0, 'value'), flagAt(user, 'emails', 0, 'verified')),
      data: dataOf(at(user, '_json')),
    }
  },
}

const withoutScheme = (url: string): string => url.slice(url.indexOf('://') + '://'.length)

function profileOf(claims: JwtClaims): ProviderProfile {
  return {
    subject: subjectAt(claims, 'sub'),
    emails: oneEmail(textAt(claims, 'email'), flagAt(claims, 'email_verified')),
    data: { ...dataOf(claims), iss: textAt(claims, 'iss') },
  }
}

function dataOf(user: unknown): ProviderData {
  const domain = textAt(user, 'hd')
  return {
    name: textAt(user, 'name'),
    picture: textAt(user, 'picture'),
    given_name: textAt(user, 'given_name'),
    family_name: textAt(user, 'family_name'),
    locale: textAt(user, 'locale'),
    custom_claims: domain === undefined ? undefined : { hd: domain },
  }
}
