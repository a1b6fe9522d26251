import { subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition, ProviderEmail } from '../model/provider.js'

export const gitlab: ProviderDefinition = {
  label: 'GitLab',
  guide: {
    register: 'gitlab.com (or your own), Applications: confidential, scope `read_user`.',
    returns:
      '`id`, `name`, avatar, the main `email`, verified when `confirmed_at` is set; further addresses count as unverified.',
    tests: ['rows'],
    quirks: ['For your own GitLab the URL is its address.'],
  },
  scopes: ['read_user'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://gitlab.com/oauth/authorize'),
    token: endpoint('https://gitlab.com/oauth/token'),
  }),
  async profile({ get, endpoint }) {
    const user = await get(endpoint('https://gitlab.com/api/v4/user'))
    const emails = await get(endpoint('https://gitlab.com/api/v4/user/emails'))
    return {
      subject: subjectAt(user, 'id'),
      // Only the primary address has a confirmation state.
      emails: [...extraEmails(emails), ...mainEmail(user)],
      data: { name: textAt(user, 'name'), picture: textAt(user, 'avatar_url') },
    }
  },
}

function mainEmail(user: unknown): ProviderEmail[] {
  const email = textAt(user, 'email')
  if (email === undefined) return []
  return [{ email, verified: textAt(user, 'confirmed_at') !== undefined, primary: true }]
}

function extraEmails(emails: unknown): ProviderEmail[] {
  if (!Array.isArray(emails)) return []
  return (emails as unknown[]).flatMap((entry) => {
    const email = textAt(entry, 'email')
    return email === undefined ? [] : [{ email, verified: false, primary: false }]
  })
}
