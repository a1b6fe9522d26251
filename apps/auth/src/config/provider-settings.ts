import { boolean, httpUrl, list, text, type ConfigOf, type Setting } from '@signet/config'
import { span } from './durations.js'
import { parseUrl } from '@signet/address-guard/parse-url'
import { definitions, providers, type Provider } from '../providers/definitions/index.js'
import { comparesNonces, type ProviderDefinition } from '../providers/model/provider.js'

const kinds = {
  enabled: (env: string, name: Provider) =>
    boolean({ env: `${env}_ENABLED`, fallback: false, doc: `Sign-in with ${name}.` }),
  clientId: (env: string, name: Provider) =>
    list({
      env: `${env}_CLIENT_ID`,
      fallback: [],
      doc: `Client id at ${name}; the first is used, all are accepted as audience of id tokens.`,
    }),
  secret: (env: string, name: Provider) =>
    text({ env: `${env}_SECRET`, optional: true, secret: true, doc: `Client secret at ${name}.` }),
  redirectUri: (env: string, name: Provider) =>
    text({ env: `${env}_REDIRECT_URI`, optional: true, doc: `Callback URL registered at ${name}.` }),
  url: (env: string, name: Provider) => {
    const { requiredBaseUrl, fixedBaseUrl }: ProviderDefinition = definitions[name]
    const tests = fixedBaseUrl ? ' Counts only with `AUTH_ALLOW_PRIVATE_PROVIDER_URLS`.' : ''
    return httpUrl({
      env: `${env}_URL`,
      optional: true,
      doc: requiredBaseUrl ?? `Base URL instead of that of ${name}.${tests}`,
    })
  },
  emailOptional: (env: string, name: Provider) =>
    boolean({
      env: `${env}_EMAIL_OPTIONAL`,
      fallback: false,
      doc: `Accept ${name} accounts without email.`,
    }),
  skipNonceCheck: (env: string, name: Provider) =>
    boolean({
      env: `${env}_SKIP_NONCE_CHECK`,
      fallback: false,
      doc: `Accept id tokens of ${name} without comparing nonces.`,
    }),
}
type Kinds = typeof kinds

/** Leaves out settings that would have no effect for a provider. */
const applies = (kind: string, name: Provider): boolean =>
  kind !== 'skipNonceCheck' || comparesNonces(definitions[name])

/** Keys such as `github_enabled` and `github_clientId`. */
type ProviderSettings = {
  [Key in `${Provider}_${keyof Kinds}`]: Key extends `${Provider}_${infer K extends keyof Kinds}`
    ? K extends 'skipNonceCheck'
      ? Setting<boolean | undefined>
      : ReturnType<Kinds[K]>
    : never
}

const perProvider = Object.fromEntries(
  providers.flatMap((name) =>
    Object.entries(kinds)
      .filter(([kind]) => applies(kind, name))
      .map(([kind, build]): [string, Setting<unknown>] => [
        `${name}_${kind}`,
        build(`AUTH_EXTERNAL_${name.toUpperCase()}`, name),
      ]),
  ),
) as ProviderSettings

/** Variables that exist for other providers but would have no effect for these. */
export const providerVariablesWithoutEffect = providers
  .filter((name) => !applies('skipNonceCheck', name))
  .map((name) => `AUTH_EXTERNAL_${name.toUpperCase()}_SKIP_NONCE_CHECK`)

/** External providers and the flows that end in a code. */
export const providerSettings = {
  ...perProvider,
  flowStateExpiryDuration: span({
    env: 'AUTH_EXTERNAL_FLOW_STATE_EXPIRY_DURATION',
    fallback: 300_000,
    minMs: 300_000,
    doc: 'Life of OAuth states and PKCE codes.',
  }),
  allowedIdTokenIssuers: list({
    env: 'AUTH_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS',
    fallback: ['https://appleid.apple.com', 'https://accounts.google.com'],
    doc: 'Issuers whose id tokens the `id_token` grant accepts by issuer. The request says for which client of the issuer the token is, so name an issuer only if you trust all of its clients: each could sign in here as any of its users.',
  }),
  iosBundleId: text({
    env: 'AUTH_EXTERNAL_IOS_BUNDLE_ID',
    optional: true,
    doc: 'Further audience of id tokens from Apple.',
  }),
  allowPrivateProviderUrls: boolean({
    env: 'AUTH_ALLOW_PRIVATE_PROVIDER_URLS',
    fallback: false,
    doc: 'Allow http URLs and private addresses for providers, gateways and templates. For tests only.',
  }),
}

/**
 * Variables with callback URLs that cannot work: the cookie that binds a sign-in to its browser belongs to the host
 * of AUTH_API_EXTERNAL_URL. Cookies ignore ports.
 */
export function strayRedirectUris(
  config: ConfigOf<typeof providerSettings> & { readonly apiExternalUrl: string },
): string[] {
  const own = new URL(config.apiExternalUrl)
  const isOurs = (uri: string) => {
    const url = parseUrl(uri)
    return url !== null && url.protocol === own.protocol && url.hostname === own.hostname
  }
  return providers
    .filter((name) => config[`${name}_enabled`] && !isOurs(config[`${name}_redirectUri`] ?? ''))
    .map((name) => `AUTH_EXTERNAL_${name.toUpperCase()}_REDIRECT_URI`)
}

/** Settings that each enabled provider requires. */
export function providerProblems(config: ConfigOf<typeof providerSettings>): string[] {
  return providers
    .filter((name) => config[`${name}_enabled`])
    .flatMap((name) => {
      const { requiredBaseUrl }: ProviderDefinition = definitions[name]
      const given = {
        CLIENT_ID: config[`${name}_clientId`].length > 0,
        SECRET: config[`${name}_secret`] !== undefined,
        REDIRECT_URI: config[`${name}_redirectUri`] !== undefined,
        URL: requiredBaseUrl === undefined || config[`${name}_url`] !== undefined,
      }
      const prefix = `AUTH_EXTERNAL_${name.toUpperCase()}`
      return Object.entries(given).flatMap(([setting, isThere]) =>
        isThere ? [] : [`${prefix}_${setting} is required while ${prefix}_ENABLED is true`],
      )
    })
}
