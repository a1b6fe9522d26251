import type { OidcLayout } from './oidc-server.js'

export const SLACK = 'https://slack.com'
const TENANT = '/8d2f1c1e-0000-4000-8000-c0ffee000000'

/** Each vendor: where things are, and the base URL that an operator would set. */
export const layouts = {
  apple: {
    issuer: '',
    authorize: '/auth/authorize',
    token: '/auth/token',
    keys: '/auth/keys',
    impliesOpenId: true,
    claims: ['is_private_email'],
  },
  azure: {
    issuer: `${TENANT}/v2.0`,
    authorize: `${TENANT}/oauth2/v2.0/authorize`,
    token: `${TENANT}/oauth2/v2.0/token`,
    claims: ['xms_edov', 'tid'],
  },
  google: {
    issuer: '',
    authorize: '/o/oauth2/v2/auth',
    token: '/token',
    impliesOpenId: true,
    claims: ['hd'],
  },
  keycloak: {
    issuer: '/realms/main',
    authorize: '/realms/main/protocol/openid-connect/auth',
    token: '/realms/main/protocol/openid-connect/token',
    userinfo: '/realms/main/protocol/openid-connect/userinfo',
    claims: ['groups'],
  },
  linkedin: { issuer: '', authorize: '/oauth/v2/authorization', token: '/oauth/v2/accessToken' },
  slack: {
    issuer: '',
    authorize: '/openid/connect/authorize',
    token: '/api/openid.connect.token',
    userinfo: '/api/openid.connect.userInfo',
    claims: [`${SLACK}/user_id`, `${SLACK}/team_id`],
  },
} satisfies Record<string, OidcLayout>
export type Vendor = keyof typeof layouts
export const vendors = Object.keys(layouts) as Vendor[]

/** What the operator's base URL ends in. */
export const BASE: Partial<Record<Vendor, string>> = { azure: TENANT, keycloak: '/realms/main/' }
