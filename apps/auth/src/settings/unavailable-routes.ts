import { route, type Method, type Route } from '@signet/http'
import { authError } from '../errors/auth-error.js'
import type { ErrorCode } from '../errors/error-codes.js'
import { docs } from '../requests/docs.js'

const GROUPS: readonly { paths: readonly string[]; code: ErrorCode; message: string }[] = [
  { paths: ['/sso', '/sso/*path'], code: 'saml_provider_disabled', message: 'SAML 2.0 is disabled' },
  {
    paths: [
      '/oauth/*path',
      '/admin/oauth/*path',
      '/user/oauth/grants',
      '/admin/custom-providers',
      '/admin/custom-providers/*path',
    ],
    code: 'feature_disabled',
    message: 'This feature is disabled',
  },
]

const METHODS: readonly Method[] = ['get', 'post', 'put', 'patch', 'delete']

/** Features that this server does not have. They answer as if they were disabled, which clients expect. */
export function unavailableRoutes(): Route[] {
  return GROUPS.flatMap(({ paths, code, message }) =>
    paths.flatMap((path) =>
      METHODS.map((method) =>
        route({
          method,
          path,
          docs: docs(code, message, {
            tag: 'Not available',
            answer: { status: 404, description: message, schema: 'Error' },
          }),
          handle() {
            throw authError('not_found', code, message)
          },
        }),
      ),
    ),
  )
}
