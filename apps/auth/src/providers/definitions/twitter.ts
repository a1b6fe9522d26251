import { oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

/** OAuth 1.0a: every request is signed, and there are no scopes. */
export const twitter: ProviderDefinition = {
  label: 'X',
  guide: {
    register:
      'developer.x.com, an app with OAuth 1.0a, Request email from users, and the callback URL. Client id and secret are the API key and its secret.',
    returns: '`id_str`, `name`, `screen_name`, picture, `email` (counts as verified).',
    tests: ['twitter'],
    quirks: [
      'OAuth 1.0a: requests are signed, and the state travels in the callback URL.',
      "The secret of the request token is kept encrypted in the flow's row.",
    ],
  },
  scopes: [],
  protocol: 'oauth1',
  endpoints: (endpoint) => ({
    request: endpoint('https://api.twitter.com/oauth/request_token'),
    authorize: endpoint('https://api.twitter.com/oauth/authenticate'),
    token: endpoint('https://api.twitter.com/oauth/access_token'),
  }),
  async profile({ get, endpoint }) {
    const call = endpoint('https://api.twitter.com/1.1/account/verify_credentials.json')
    const user = await get(`${call}?include_email=true&include_entities=false&skip_status=true`)
    const screenName = textAt(user, 'screen_name')
    return {
      subject: subjectAt(user, 'id_str'),
      emails: oneEmail(textAt(user, 'email'), true),
      data: {
        name: textAt(user, 'name'),
        preferred_username: screenName,
        user_name: screenName,
        picture: textAt(user, 'profile_image_url_https'),
      },
    }
  },
}
