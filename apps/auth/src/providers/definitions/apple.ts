import type { JwtClaims } from '@signet/jwt'
import { at, joinName, oneEmail, otherMembers, subjectAt, textAt } from '../model/foreign-json.js'
import { ProviderError, type ProviderDefinition, type ProviderProfile } from '../model/provider.js'

const ISSUERS = ['https://appleid.apple.com', 'https://account.apple.com']
const STANDARD = ['iss', 'sub', 'aud', 'exp', 'iat', 'nonce', 'at_hash', 'c_hash', 'email', 'email_verified']

/** Identifies users by id token only. The secret is a client-secret JWT, which the operator has to renew. */
export const apple: ProviderDefinition = {
  label: 'Apple',
  guide: {
    register:
      'developer.apple.com, Identifiers: a Services ID with Sign in with Apple, its domain and return URL. The secret is a client secret JWT (ES256, signed with the key of the team).',
    returns:
      'Claims of the id token: `sub`, `email` with `email_verified`, `is_private_email`. The name is in a form field of the first consent only.',
    tests: ['open-id', 'id-token'],
    quirks: [
      'The callback is a form POST.',
      'An address counts as verified unless `email_verified` says otherwise, as it does for accounts that a company or school manages (Sign in with Apple at Work & School).',
      'The secret is valid for six months at most; nobody renews it for you.',
      'Id tokens of an iOS app are accepted, too, if AUTH_EXTERNAL_IOS_BUNDLE_ID names it.',
    ],
  },
  scopes: ['email', 'name'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://appleid.apple.com/auth/authorize'),
    token: endpoint('https://appleid.apple.com/auth/token'),
  }),
  // Apple requires a POST when name or email is requested.
  authorizeParameters: () => ({ response_mode: 'form_post' }),
  openId: {
    isIssuer: (issuer, { baseUrl }) =>
      baseUrl === undefined ? ISSUERS.includes(issuer) : issuer === baseUrl,
    idTokenGrant: true,
    keysUrl: (endpoint) => endpoint('https://appleid.apple.com/auth/keys'),
    profile: profileOf,
  },
  async profile({ idToken, callback }) {
    const claims = await idToken()
    if (!claims) throw new ProviderError('the token answer has no id token')
    const { data, ...profile } = profileOf(claims)
    const name = nameOf(callback['user'])
    return { ...profile, data: { ...data, name, full_name: name } }
  },
}

function profileOf(claims: JwtClaims): ProviderProfile {
  return {
    subject: subjectAt(claims, 'sub'),
    // Apple verifies the addresses of its own accounts, and private relay addresses, but not those of accounts that an organization manages.
    emails: oneEmail(textAt(claims, 'email'), !saysUnverified(claims)),
    data: { iss: textAt(claims, 'iss'), custom_claims: otherMembers(claims, STANDARD) },
  }
}

/** Whoever manages the accounts of a company or school can name any address. Apple says so by `false`, which may be text. */
function saysUnverified(claims: JwtClaims): boolean {
  const verified = at(claims, 'email_verified')
  return verified === false || verified === 'false'
}

/** Apple sends the name only once, in a form field of the first consent. */
function nameOf(user: string | undefined): string | undefined {
  if (user === undefined) return undefined
  try {
    const name = at(JSON.parse(user), 'name')
    return joinName(textAt(name, 'firstName'), textAt(name, 'lastName'))
  } catch {
    return undefined
  }
}
