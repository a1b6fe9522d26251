import { at, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

export const notion: ProviderDefinition = {
  label: 'Notion',
  guide: {
    register: 'notion.so/my-integrations: a public integration with user information and email addresses.',
    returns: 'The owner of the bot: `id`, `name`, avatar, `email` (counts as verified).',
    tests: ['rows'],
    quirks: [
      'Client authentication is Basic.',
      "No scopes: the integration's capabilities decide.",
      'Calls carry `Notion-Version: 2021-08-16`.',
    ],
  },
  scopes: [],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://api.notion.com/v1/oauth/authorize'),
    token: endpoint('https://api.notion.com/v1/oauth/token'),
  }),
  clientAuthentication: 'basic',
  async profile({ get, endpoint }) {
    const me = await get(endpoint('https://api.notion.com/v1/users/me'), { 'Notion-Version': '2021-08-16' })
    const user = at(me, 'bot', 'owner', 'user')
    return {
      subject: subjectAt(user, 'id'),
      emails: oneEmail(textAt(user, 'person', 'email'), true),
      data: { name: textAt(user, 'name'), picture: textAt(user, 'avatar_url') },
    }
  },
}
