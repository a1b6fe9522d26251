import { at, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

export const twitch: ProviderDefinition = {
  label: 'Twitch',
  guide: {
    register: 'dev.twitch.tv/console, Applications: OAuth redirect URL, confidential.',
    returns: '`id`, `login`, `display_name`, picture, `email` (counts as verified).',
    tests: ['rows'],
    quirks: ['Calls carry `Client-Id`.'],
  },
  scopes: ['user:read:email'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://id.twitch.tv/oauth2/authorize'),
    token: endpoint('https://id.twitch.tv/oauth2/token'),
  }),
  async profile({ get, endpoint, settings }) {
    const headers = { 'Client-Id': settings.clientIds[0] ?? '' }
    const answer = await get(endpoint('https://api.twitch.tv/helix/users'), headers)
    const user = at(answer, 'data', 0)
    return {
      subject: subjectAt(user, 'id'),
      emails: oneEmail(textAt(user, 'email'), true),
      data: {
        name: textAt(user, 'login'),
        nickname: textAt(user, 'display_name'),
        slug: textAt(user, 'display_name'),
        picture: textAt(user, 'profile_image_url'),
      },
    }
  },
}
