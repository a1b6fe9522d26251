import { flagAt, joinName, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition, ProviderProfile } from '../model/provider.js'

const ISSUER = 'https://www.linkedin.com/oauth'

/** OpenID Connect; the older API is closed to new apps. */
export const linkedin: ProviderDefinition = {
  label: 'LinkedIn',
  guide: {
    register: 'linkedin.com/developers, an app with the product Sign In with LinkedIn using OpenID Connect.',
    returns:
      'Claims of the id token, else of the userinfo call: `sub`, `email` with `email_verified`, given and family name, picture, locale.',
    tests: ['rows', 'open-id', 'id-token'],
    quirks: ['The calls from before OpenID Connect are closed to new apps and not supported.'],
  },
  aliases: ['linkedin_oidc'],
  scopes: ['openid', 'profile', 'email'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://www.linkedin.com/oauth/v2/authorization'),
    token: endpoint('https://www.linkedin.com/oauth/v2/accessToken'),
  }),
  openId: { isIssuer: (issuer, { baseUrl = ISSUER }) => issuer === baseUrl, profile: profileOf },
  async profile({ idToken, get, endpoint }) {
    return profileOf((await idToken()) ?? (await get(endpoint('https://api.linkedin.com/v2/userinfo'))))
  },
}

function profileOf(user: unknown): ProviderProfile {
  const givenName = textAt(user, 'given_name')
  const familyName = textAt(user, 'family_name')
  return {
    subject: subjectAt(user, 'sub'),
    emails: oneEmail(textAt(user, 'email'), flagAt(user, 'email_verified')),
    data: {
      iss: textAt(user, 'iss'),
      name: joinName(givenName, familyName),
      given_name: givenName,
      family_name: familyName,
      picture: textAt(user, 'picture'),
      locale: localeOf(user),
    },
  }
}

/** Text in id tokens, `{language, country}` in some answers. */
const localeOf = (user: unknown): string | undefined =>
  textAt(user, 'locale') ??
  joinName(textAt(user, 'locale', 'language'), textAt(user, 'locale', 'country'))?.replace(' ', '-')
