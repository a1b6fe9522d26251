import { createHmac } from 'node:crypto'
import { joinName, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

const ISSUER = 'https://www.facebook.com'

export const facebook: ProviderDefinition = {
  label: 'Facebook',
  guide: {
    register: 'developers.facebook.com, an app with Facebook Login: valid OAuth redirect URI.',
    returns: '`id`, first and last name, picture, `email` (counts as verified).',
    tests: ['rows', 'id-token'],
    quirks: [
      'Calls carry `appsecret_proof`, so the app may demand it.',
      'People who signed up by phone have no address: set EMAIL_OPTIONAL to let them in.',
      'Its apps cannot pass a nonce on: the id_token grant does not compare one.',
    ],
  },
  scopes: ['email'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://www.facebook.com/dialog/oauth'),
    token: endpoint('https://graph.facebook.com/oauth/access_token'),
  }),
  openId: {
    isIssuer: (issuer, { baseUrl = ISSUER }) => issuer === baseUrl,
    idTokenGrant: true,
    cannotPassNonce: true,
    profile: (claims) => ({
      subject: subjectAt(claims, 'sub'),
      emails: oneEmail(textAt(claims, 'email'), true),
      data: {
        iss: textAt(claims, 'iss'),
        name: textAt(claims, 'name'),
        picture: textAt(claims, 'picture'),
        given_name: textAt(claims, 'given_name'),
        family_name: textAt(claims, 'family_name'),
      },
    }),
  },
  async profile({ get, endpoint, settings, tokens }) {
    // Proves that the app using the token is the one it was issued to.
    const proof = createHmac('sha256', settings.secret).update(tokens.accessToken).digest('hex')
    const me = endpoint('https://graph.facebook.com/me?fields=email,first_name,last_name,name,picture')
    const user = await get(`${me}&appsecret_proof=${proof}`)
    return {
      subject: subjectAt(user, 'id'),
      emails: oneEmail(textAt(user, 'email'), true),
      data: {
        name: joinName(textAt(user, 'first_name'), textAt(user, 'last_name')),
        nickname: textAt(user, 'name'),
        slug: textAt(user, 'name'),
        picture: textAt(user, 'picture', 'data', 'url'),
      },
    }
  },
}
