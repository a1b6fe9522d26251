import { at, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition, ProviderEmail, ProviderSettings } from '../model/provider.js'

export const github: ProviderDefinition = {
  label: 'GitHub',
  guide: {
    register: 'github.com/settings/developers, OAuth Apps: authorization callback URL.',
    returns: '`id`, `login`, `name`, avatar; all addresses with `primary` and `verified`.',
    tests: ['rows'],
    quirks: [
      'Two calls: the user, then the addresses.',
      'For GitHub Enterprise Server the URL is the address of the server; its API is expected below `/api/v3`.',
    ],
  },
  scopes: ['user:email'],
  strategy: async () => (await import('passport-github2')).Strategy,
  endpoints: (endpoint, settings) => ({
    authorize: endpoint('https://github.com/login/oauth/authorize'),
    token: endpoint('https://github.com/login/oauth/access_token'),
    account: `${apiOf(settings)}/user`,
  }),
  async profile({ account, get, settings }) {
    const user = await account()
    // The strategy can fetch them too, but fails for accounts without an address.
    const emails = await get(`${apiOf(settings)}/user/emails`)
    const login = textAt(user, 'username')
    return {
      // Read the id as GitHub sent it: the strategy turns a missing id into the text "undefined".
      subject: subjectAt(user, '_json', 'id'),
      emails: (Array.isArray(emails) ? (emails as unknown[]) : []).flatMap(toEmail),
      data: {
        name: textAt(user, 'displayName'),
        preferred_username: login,
        user_name: login,
        picture: textAt(user, 'photos', 0, 'value'),
      },
    }
  },
}

/** The API of an enterprise server is below the server's own address. */
const apiOf = ({ baseUrl }: ProviderSettings) =>
  baseUrl === undefined ? 'https://api.github.com' : `${baseUrl}/api/v3`

function toEmail(entry: unknown): ProviderEmail[] {
  const email = textAt(entry, 'email')
  if (email === undefined) return []
  return [{ email, verified: at(entry, 'verified') === true, primary: at(entry, 'primary') === true }]
}
