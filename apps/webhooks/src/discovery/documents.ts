import { SCOPE_CONNECT } from '../oauth/scope.js'

type Options = { baseUrl: string; introspection: boolean; serviceDocumentation: string | undefined }

const SECRET_METHODS = ['client_secret_basic', 'client_secret_post']

/** RFC 8414 metadata (docs/specification.md#discovery). Leaves out the first-party scope and OpenID members on purpose. */
export function authorizationServerDocument({ baseUrl, introspection, serviceDocumentation }: Options) {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    registration_endpoint: `${baseUrl}/oauth/register`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    ...(introspection ? introspectionMetadata(baseUrl) : {}),
    ...(serviceDocumentation === undefined ? {} : { service_documentation: serviceDocumentation }),
    scopes_supported: [SCOPE_CONNECT],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...SECRET_METHODS, 'none'],
    revocation_endpoint_auth_methods_supported: [...SECRET_METHODS, 'none'],
    authorization_response_iss_parameter_supported: true,
    protected_resources: [baseUrl],
  }
}

const introspectionMetadata = (baseUrl: string) => ({
  introspection_endpoint: `${baseUrl}/oauth/introspect`,
  introspection_endpoint_auth_methods_supported: SECRET_METHODS,
})

/** Metadata of features that an operator may turn on, or of documents they may name. */
export const optionalMetadata = (baseUrl: string) => ({
  ...introspectionMetadata(baseUrl),
  service_documentation: `${baseUrl}/docs`,
})

/** RFC 9728 metadata. `resource` must equal the identifier whose well-known URL was requested (section 3.3). */
export function protectedResourceDocument(baseUrl: string, resource: string) {
  return {
    resource,
    authorization_servers: [baseUrl],
    scopes_supported: [SCOPE_CONNECT],
    bearer_methods_supported: ['header'],
    resource_name: 'Recording events API',
  }
}
