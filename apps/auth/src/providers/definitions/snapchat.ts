import { flagAt, oneEmail, subjectAt, textAt } from '../foreign-json.js'
import { type ProviderDefinition } from '../provider.js'

const SCOPE = 'https://auth.snapchat.com/oauth2/api/user'
const ISSUER = 'https://accounts.snapchat.com'
const QUERY = '{me{externalId displayName bitmoji{avatar id}}}'

/** Usually without an address, so it needs AUTH_EXTERNAL_SNAPCHAT_EMAIL_OPTIONAL. */
export const snapchat: ProviderDefinition = {
  name: 'snapchat',
  scopes: [`${SCOPE}.external_id`, `${SCOPE}.display_name`, `${SCOPE}.bitmoji.avatar`],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://accounts.snapchat.com/accounts/oauth2/auth'),
    token: endpoint('https://accounts.snapchat.com/accounts/oauth2/token'),
  }),
  openId: {
    isIssuer: (issuer, { baseUrl = ISSUER }) => issuer === baseUrl,
    profile: (claims) => ({
      subject: subjectAt(claims, 'sub'),
      emails: oneEmail(textAt(claims, 'email'), flagAt(claims, 'email_verified')),
      data: { iss: textAt(claims, 'iss'), name: textAt(claims, 'name'), picture: textAt(claims, 'picture') },
    }),
  },
  async profile({ get, endpoint }) {
    const answer = await get(
      `${endpoint('https://kit.snapchat.com/v1/me')}?query=${encodeURIComponent(QUERY)}`,
    )
    return {
      subject: subjectAt(answer, 'data', 'me', 'externalId'),
      emails: oneEmail(textAt(answer, 'data', 'me', 'email'), false),
      data: {
        name: textAt(answer, 'data', 'me', 'displayName'),
        picture: textAt(answer, 'data', 'me', 'bitmoji', 'avatar'),
      },
    }
  },
}
