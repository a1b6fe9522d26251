import { homedir } from 'node:os'
import { join } from 'node:path'
import type { StorePreference } from '../credentials/credential-store.js'
import { DEFAULT_PROFILE, PROFILE_NAME } from '../credentials/profile-name.js'
import { UsageError } from '../errors.js'
import { serviceAddress } from './addresses.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** Settings from the command line and the environment, which take precedence over anything stored. */
export type Settings = {
  /** If unset, the service that the person last signed in to. */
  serviceUrl: string | undefined
  /** If unset, the identity service that is stored with the service. */
  identityUrl: string | undefined
  /** From SIGNET_TOKEN. Used instead of the stored token. */
  token: string | undefined
  /** From SIGNET_WEBHOOK_SECRET, for `listen`. */
  webhookSecret: string | undefined
  /** The profile whose sign-ins are used: `default` unless another one is named. */
  profile: string
  store: StorePreference
  configDir: string
  /** From BROWSER: the program that opens addresses, instead of the system's choice. */
  browser: string | undefined
}

type GivenOptions = { url?: string | undefined; authUrl?: string | undefined; profile?: string | undefined }

/** Options override variables. Every problem is a UsageError that names the variable, never a secret value. */
export function readSettings(options: GivenOptions, env: Environment, platform = process.platform): Settings {
  const allowHttp = isTrue(env['SIGNET_ALLOW_HTTP'])
  const address = (option: string | undefined, optionName: string, variable: string) => {
    if (option !== undefined) return serviceAddress(option, optionName, { allowHttp })
    const value = env[variable]?.trim()
    return value ? serviceAddress(value, variable, { allowHttp }) : undefined
  }
  return {
    serviceUrl: address(options.url, '--url', 'SIGNET_URL'),
    identityUrl: address(options.authUrl, '--auth-url', 'SIGNET_AUTH_URL'),
    token: tokenFrom(env['SIGNET_TOKEN']),
    webhookSecret: env['SIGNET_WEBHOOK_SECRET']?.trim() || undefined,
    profile: profileFrom(options.profile, env['SIGNET_PROFILE']),
    store: storeFrom(env['SIGNET_CREDENTIAL_STORE']),
    configDir: join(configHome(env, platform), 'signet'),
    browser: env['BROWSER']?.trim() || undefined,
  }
}

/** Checks the profile's name strictly because it becomes part of a file name. */
function profileFrom(option: string | undefined, variable: string | undefined): string {
  const profile = option ?? (variable?.trim() || DEFAULT_PROFILE)
  if (!PROFILE_NAME.test(profile)) {
    const name = option === undefined ? 'SIGNET_PROFILE' : '--profile'
    throw new UsageError(`${name} must be at most 32 lower-case letters, digits, - and _`)
  }
  return profile
}

/** Checks the token here because the error of `fetch` for an invalid header quotes its value, which would be the token. */
function tokenFrom(value: string | undefined): string | undefined {
  const token = value?.trim()
  if (!token) return undefined
  if (!/^[A-Za-z0-9._~+/=-]{1,512}$/.test(token)) {
    throw new UsageError('SIGNET_TOKEN does not look like a token: it has characters no token has', {
      hint: 'Create one with `signet token create --name <name>`; it begins with svp_.',
    })
  }
  return token
}

function storeFrom(value: string | undefined): StorePreference {
  switch (value) {
    case undefined:
    case '':
    case 'auto':
      return 'auto'
    case 'keychain':
    case 'file':
      return value
    default:
      throw new UsageError('SIGNET_CREDENTIAL_STORE must be auto, keychain or file')
  }
}

/** XDG base directories on every platform; without them, the platform's usual place. */
function configHome(env: Environment, platform: NodeJS.Platform): string {
  const xdg = env['XDG_CONFIG_HOME']
  // The specification says to ignore a relative path.
  if (xdg?.startsWith('/') || (xdg && platform === 'win32')) return xdg
  if (platform === 'win32' && env['APPDATA']) return env['APPDATA']
  return join(env['HOME'] || homedir(), '.config')
}

const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true'
