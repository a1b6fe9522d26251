import type { Json } from '../support/api.js'
import type { OidcLayout } from '../support/oidc-server.js'

/** A provider that speaks OpenID Connect: its server, its claims about a person, and the resulting identity. */
export type OpenIdRow = {
  layout: OidcLayout
  /** What the operator's base URL ends in. */
  base?: string
  claims: Json
  /** A claim besides `sub` that identifies the person. */
  subjectClaim?: string
  /**
   * Members of the identity's data in addition to `sub`, `provider_id`, `email`, `email_verified`, `phone_verified` and, where there is an
   * id token, `iss`.
   */
  identity: Json
  hasNoIss?: boolean
  /** Further fields that the browser posts. */
  posted?: Record<string, string>
}

const SLACK = 'https://slack.com'
const TENANT = '/8d2f1c1e-0000-4000-8000-c0ffee000000'

const rows = {
  apple: {
    layout: {
      issuer: '',
      authorize: '/auth/authorize',
      token: '/auth/token',
      keys: '/auth/keys',
      impliesOpenId: true,
      claims: ['is_private_email'],
    },
    claims: { is_private_email: true },
    posted: { user: JSON.stringify({ name: { firstName: 'Ap', lastName: 'Ple' } }) },
    identity: { name: 'Ap Ple', full_name: 'Ap Ple', custom_claims: { is_private_email: true } },
  },
  azure: {
    layout: {
      issuer: `${TENANT}/v2.0`,
      authorize: `${TENANT}/oauth2/v2.0/authorize`,
      token: `${TENANT}/oauth2/v2.0/token`,
      claims: ['xms_edov', 'tid'],
    },
    base: TENANT,
    claims: { name: 'Az Ure', preferred_username: 'az', xms_edov: true, tid: 'the-tenant' },
    identity: {
      name: 'Az Ure',
      full_name: 'Az Ure',
      preferred_username: 'az',
      custom_claims: { xms_edov: true, tid: 'the-tenant' },
    },
  },
  google: {
    layout: {
      issuer: '',
      authorize: '/o/oauth2/v2/auth',
      token: '/token',
      impliesOpenId: true,
      claims: ['hd'],
    },
    claims: { email_verified: true, name: 'Goo Gle', picture: 'https://go/p.png', hd: 'google.example' },
    identity: {
      name: 'Goo Gle',
      full_name: 'Goo Gle',
      picture: 'https://go/p.png',
      avatar_url: 'https://go/p.png',
      custom_claims: { hd: 'google.example' },
    },
  },
  keycloak: {
    layout: {
      issuer: '/realms/main',
      authorize: '/realms/main/protocol/openid-connect/auth',
      token: '/realms/main/protocol/openid-connect/token',
      userinfo: '/realms/main/protocol/openid-connect/userinfo',
      claims: ['groups'],
    },
    base: '/realms/main/',
    claims: { email_verified: true, name: 'Key Cloak', preferred_username: 'key', groups: ['staff'] },
    hasNoIss: true,
    identity: {
      name: 'Key Cloak',
      full_name: 'Key Cloak',
      preferred_username: 'key',
      custom_claims: { groups: ['staff'] },
    },
  },
  linkedin: {
    layout: { issuer: '', authorize: '/oauth/v2/authorization', token: '/oauth/v2/accessToken' },
    claims: { email_verified: 'true', given_name: 'Lin', family_name: 'Ked', locale: 'de_DE' },
    identity: {
      name: 'Lin Ked',
      full_name: 'Lin Ked',
      given_name: 'Lin',
      family_name: 'Ked',
      locale: 'de_DE',
    },
  },
  slack: {
    layout: {
      issuer: '',
      authorize: '/openid/connect/authorize',
      token: '/api/openid.connect.token',
      userinfo: '/api/openid.connect.userInfo',
      claims: [`${SLACK}/user_id`, `${SLACK}/team_id`],
    },
    claims: { email_verified: true, name: 'Sla Ck', [`${SLACK}/team_id`]: 'T1' },
    subjectClaim: `${SLACK}/user_id`,
    hasNoIss: true,
    identity: { name: 'Sla Ck', full_name: 'Sla Ck', custom_claims: { [`${SLACK}/team_id`]: 'T1' } },
  },
} satisfies Record<string, OpenIdRow>

export type Vendor = keyof typeof rows
export const vendors = Object.keys(rows) as Vendor[]
export const rowOf = (vendor: Vendor): OpenIdRow => rows[vendor]
