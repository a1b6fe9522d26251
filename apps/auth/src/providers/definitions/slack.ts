import { at, flagAt, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import { ProviderError, type ProviderDefinition } from '../model/provider.js'

const USER_ID = 'https://slack.com/user_id'
const TEAM_ID = 'https://slack.com/team_id'

/** OpenID Connect. The older API reported every address as verified. */
export const slack: ProviderDefinition = {
  label: 'Slack',
  guide: {
    register: 'api.slack.com/apps, OAuth & Permissions: redirect URL, user scopes.',
    returns:
      'The userinfo call: `https://slack.com/user_id`, `email` with `email_verified`, `name`, picture; the team in `custom_claims`.',
    tests: ['rows', 'open-id'],
    quirks: ['Errors of the userinfo call have status 200 and `ok: false`.'],
  },
  aliases: ['slack_oidc'],
  scopes: ['profile', 'email', 'openid'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://slack.com/openid/connect/authorize'),
    token: endpoint('https://slack.com/api/openid.connect.token'),
  }),
  async profile({ get, endpoint }) {
    const user = await get(endpoint('https://slack.com/api/openid.connect.userInfo'))
    // Slack returns errors with status 200.
    if (at(user, 'ok') === false)
      throw new ProviderError(`slack refused: ${textAt(user, 'error') ?? 'no reason'}`)
    const team = textAt(user, TEAM_ID)
    return {
      subject: subjectAt(user, USER_ID),
      emails: oneEmail(textAt(user, 'email'), flagAt(user, 'email_verified')),
      data: {
        name: textAt(user, 'name'),
        picture: textAt(user, 'picture'),
        custom_claims: team === undefined ? undefined : { [TEAM_ID]: team },
      },
    }
  },
}
