import { oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

export const figma: ProviderDefinition = {
  label: 'Figma',
  guide: {
    register: 'figma.com/developers/apps: redirect URL and scope.',
    returns: '`id`, `handle`, picture, `email` (counts as verified).',
    tests: ['rows'],
    quirks: ['Client authentication is Basic.'],
  },
  scopes: ['current_user:read'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://www.figma.com/oauth'),
    token: endpoint('https://api.figma.com/v1/oauth/token'),
  }),
  clientAuthentication: 'basic',
  async profile({ get, endpoint }) {
    const user = await get(endpoint('https://api.figma.com/v1/me'))
    return {
      subject: subjectAt(user, 'id'),
      emails: oneEmail(textAt(user, 'email'), true),
      data: { name: textAt(user, 'handle'), picture: textAt(user, 'img_url') },
    }
  },
}
