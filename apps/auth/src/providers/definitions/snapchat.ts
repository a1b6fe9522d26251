import { flagAt, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

const SCOPE = 'https://auth.snapchat.com/oauth2/api/user'
/** Snapchat uses both: the address of the site, and that of its token endpoint. */
const ISSUERS = ['https://accounts.snapchat.com', 'https://accounts.snapchat.com/accounts/oauth2/token']
const QUERY = '{me{externalId displayName bitmoji{avatar id}}}'

/** Accounts usually have no address, so this needs AUTH_EXTERNAL_SNAPCHAT_EMAIL_OPTIONAL. */
export const snapchat: ProviderDefinition = {
  label: 'Snapchat',
  guide: {
    register: 'kit.snapchat.com, Login Kit: redirect URL, and the scopes of the app.',
    returns: '`externalId`, display name, Bitmoji. Usually no address.',
    tests: ['rows', 'id-token'],
    quirks: ['Set EMAIL_OPTIONAL, or nobody gets in.', 'The profile is a GraphQL query.'],
  },
  scopes: [`${SCOPE}.external_id`, `${SCOPE}.display_name`, `${SCOPE}.bitmoji.avatar`],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://accounts.snapchat.com/accounts/oauth2/auth'),
    token: endpoint('https://accounts.snapchat.com/accounts/oauth2/token'),
  }),
  openId: {
    isIssuer: (issuer, { baseUrl }) =>
      baseUrl === undefined ? ISSUERS.includes(issuer) : issuer === baseUrl,
    idTokenGrant: true,
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
