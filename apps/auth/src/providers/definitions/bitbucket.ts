import { at, listAt, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition, ProviderEmail } from '../model/provider.js'

export const bitbucket: ProviderDefinition = {
  label: 'Bitbucket',
  guide: {
    register: 'bitbucket.org, workspace settings, OAuth consumers: permissions Account: Email and Read.',
    returns: '`uuid`, `display_name`, avatar; all addresses with `is_primary` and `is_confirmed`.',
    tests: ['rows'],
    quirks: ['Client authentication is Basic.', 'Two calls: the user, then the addresses.'],
  },
  scopes: ['account', 'email'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://bitbucket.org/site/oauth2/authorize'),
    token: endpoint('https://bitbucket.org/site/oauth2/access_token'),
  }),
  clientAuthentication: 'basic',
  async profile({ get, endpoint }) {
    const user = await get(endpoint('https://api.bitbucket.org/2.0/user'))
    const emails = await get(endpoint('https://api.bitbucket.org/2.0/user/emails'))
    return {
      subject: subjectAt(user, 'uuid'),
      emails: listAt(emails, 'values').flatMap(toEmail),
      data: {
        name: textAt(user, 'display_name'),
        picture: textAt(user, 'links', 'avatar', 'href') ?? textAt(user, 'avatar', 'href'),
      },
    }
  },
}

function toEmail(entry: unknown): ProviderEmail[] {
  const email = textAt(entry, 'email')
  if (email === undefined) return []
  return [{ email, verified: at(entry, 'is_confirmed') === true, primary: at(entry, 'is_primary') === true }]
}
