import { invalid } from '../../errors/auth-error.js'
import { at, joinName, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

/** A gateway to companies' identity providers; the caller chooses one. The profile is part of the token response. */
export const workos: ProviderDefinition = {
  label: 'WorkOS',
  guide: {
    register: 'dashboard.workos.com, Redirects. The client id and an API key as secret.',
    returns:
      'The `profile` in the token answer: `id`, names, `email` (counts as verified), `connection_id` and `organization_id` in `custom_claims`.',
    tests: ['rows'],
    quirks: [
      'Callers must name `connection`, `organization` or `workos_provider`, which WorkOS gets as `provider`.',
      'Not on the sign-in page, which has no place for that choice.',
      'No scopes.',
    ],
  },
  scopes: [],
  needsParameters: true,
  endpoints: (endpoint) => ({
    authorize: endpoint('https://api.workos.com/sso/authorize'),
    token: endpoint('https://api.workos.com/sso/token'),
  }),
  authorizeParameters({ connection, organization, workos_provider: provider }) {
    if (!connection && !organization && !provider)
      throw invalid('workos needs one of connection, organization and workos_provider')
    const renamed: Record<string, string> = provider ? { provider } : {}
    return renamed
  },
  profile({ tokens }) {
    const profile = at(tokens.response, 'profile')
    const connection = textAt(profile, 'connection_id')
    const organization = textAt(profile, 'organization_id')
    return Promise.resolve({
      subject: subjectAt(profile, 'id'),
      emails: oneEmail(textAt(profile, 'email'), true),
      data: {
        name: joinName(textAt(profile, 'first_name'), textAt(profile, 'last_name')),
        custom_claims: {
          ...(connection === undefined ? {} : { connection_id: connection }),
          ...(organization === undefined ? {} : { organization_id: organization }),
        },
      },
    })
  },
}
