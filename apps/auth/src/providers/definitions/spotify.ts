import { at, listAt, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

export const spotify: ProviderDefinition = {
  label: 'Spotify',
  guide: {
    register: 'developer.spotify.com/dashboard: redirect URI.',
    returns: '`id`, display name, the largest image, `email`, which Spotify does not verify.',
    tests: ['rows'],
    quirks: [
      'Client authentication is Basic.',
      'The first sign-in ends in `provider_email_needs_verification` and an email, unless addresses are confirmed automatically.',
    ],
  },
  scopes: ['user-read-email'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://accounts.spotify.com/authorize'),
    token: endpoint('https://accounts.spotify.com/api/token'),
  }),
  clientAuthentication: 'basic',
  async profile({ get, endpoint }) {
    const user = await get(endpoint('https://api.spotify.com/v1/me'))
    return {
      subject: subjectAt(user, 'id'),
      // Spotify documents that it does not verify addresses.
      emails: oneEmail(textAt(user, 'email'), false),
      data: { name: textAt(user, 'display_name'), picture: largestImage(user) },
    }
  },
}

function largestImage(user: unknown): string | undefined {
  const width = (image: unknown) => Number(at(image, 'width') ?? 0)
  const [largest] = listAt(user, 'images').sort((a, b) => width(b) - width(a))
  return textAt(largest, 'url')
}
