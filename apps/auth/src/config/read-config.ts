import { loadConfig } from '@signet/config'
import { createKeyRing, settings, type AuthConfig } from './config.js'
import { guessProblems } from './guess-settings.js'
import { keyTimingProblems } from './key-settings.js'
import { passwordRules } from './password-rules.js'
import { providerProblems, providerVariablesWithoutEffect } from './provider-settings.js'
import { webauthnProblems } from './webauthn-settings.js'
import { KeySettingsError, type KeyProblem } from '../keys/key-ring.js'
import { BCRYPT_MAX_BYTES } from '../passwords/bcrypt.js'
import { canBeMet } from '../passwords/password-rules.js'
import { parsePattern } from '../redirects/pattern.js'

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings from `env`; throws a ConfigError that lists every problem. */
export const readConfig = (env: Environment): AuthConfig =>
  loadConfig(
    settings,
    env,
    redirectProblems,
    providerProblems,
    mailProblems,
    eventProblems,
    captchaProblems,
    guessProblems,
    passwordProblems,
    sessionProblems,
    telemetryProblems,
    keyProblems,
    webauthnProblems,
    administratorProblems,
  )

function administratorProblems(config: AuthConfig): string[] {
  const { jwtAdminRoles, jwtDefaultGroupName, uiEnabled, uiOperatorEnabled } = config
  return [
    ...(jwtAdminRoles.includes(jwtDefaultGroupName)
      ? [
          `AUTH_JWT_ADMIN_ROLES must not contain ${jwtDefaultGroupName}, the role of new users (AUTH_JWT_DEFAULT_GROUP_NAME)`,
        ]
      : []),
    ...(uiOperatorEnabled && !uiEnabled
      ? ['AUTH_UI_OPERATOR_ENABLED needs AUTH_UI_ENABLED: operators sign in on those pages']
      : []),
  ]
}

function redirectProblems({ uriAllowList }: AuthConfig): string[] {
  return uriAllowList.flatMap((pattern) => {
    try {
      parsePattern(pattern)
      return []
    } catch (error) {
      return [
        `AUTH_URI_ALLOW_LIST: ${pattern} ${error instanceof Error ? error.message : 'is not a valid pattern'}`,
      ]
    }
  })
}

function mailProblems(config: AuthConfig): string[] {
  const problems: string[] = []
  if (config.emailEnabled) {
    const needed = {
      AUTH_SMTP_HOST: config.smtpHost,
      AUTH_SMTP_PORT: config.smtpPort,
      AUTH_SMTP_ADMIN_EMAIL: config.smtpAdminEmail,
    }
    for (const [name, value] of Object.entries(needed))
      if (value === undefined) problems.push(`${name} is required while AUTH_EXTERNAL_EMAIL_ENABLED is true`)
  }
  // Together, these settings would sign in anyone who claims an address at any provider (docs/specification.md#configuration).
  if (config.mailerAutoconfirm && config.mailerAllowUnverifiedEmailSignIns)
    problems.push('AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS excludes AUTH_MAILER_AUTOCONFIRM')
  return problems
}

function eventProblems({ eventsUrl, eventsSecret }: AuthConfig): string[] {
  return (eventsUrl === undefined) === (eventsSecret === undefined)
    ? []
    : ['AUTH_EVENTS_URL and AUTH_EVENTS_SECRET go together']
}

// With gRPC the message names the service, not the URL, so a path is probably a mistake.
function telemetryProblems(config: AuthConfig): string[] {
  if (config.otlpProtocol !== 'grpc') return []
  const urls = {
    OTEL_EXPORTER_OTLP_ENDPOINT: config.otlpEndpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: config.otlpTracesEndpoint,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: config.otlpMetricsEndpoint,
  }
  return Object.entries(urls)
    .filter(([, url]) => url !== undefined && new URL(url).pathname !== '/')
    .map(([name]) => `${name} must have no path while OTEL_EXPORTER_OTLP_PROTOCOL is grpc`)
}

function captchaProblems(config: AuthConfig): string[] {
  if (!config.captchaEnabled) return []
  const problems: string[] = []
  if (config.captchaSecret === undefined)
    problems.push('AUTH_SECURITY_CAPTCHA_SECRET is required while AUTH_SECURITY_CAPTCHA_ENABLED is true')
  // Without the widget, nobody could sign in on a page.
  if (config.uiEnabled && config.uiCaptchaSiteKey === undefined)
    problems.push(
      'AUTH_UI_CAPTCHA_SITE_KEY is required while AUTH_SECURITY_CAPTCHA_ENABLED is true, unless AUTH_UI_ENABLED is false',
    )
  return problems
}

function passwordProblems(config: AuthConfig): string[] {
  if (canBeMet(passwordRules(config))) return []
  return [
    `AUTH_PASSWORD_REQUIRED_CHARACTERS together with AUTH_PASSWORD_MIN_LENGTH requires passwords of more than ${BCRYPT_MAX_BYTES} bytes`,
  ]
}

// An access token of a signed-out session can still read its user, so the session row must outlive the token.
function sessionProblems({ sessionsEndedRetention, jwtExp }: AuthConfig): string[] {
  if (sessionsEndedRetention >= jwtExp) return []
  return ['AUTH_SESSIONS_ENDED_RETENTION must not be shorter than AUTH_JWT_EXP']
}

const KEY_VARIABLES: Record<KeyProblem['setting'], string> = {
  secret: 'AUTH_JWT_SECRET',
  keyId: 'AUTH_JWT_KEY_ID',
  keys: 'AUTH_JWT_KEYS',
  validMethods: 'AUTH_JWT_VALID_METHODS',
  signingAlgorithm: 'AUTH_JWT_SIGNING_ALGORITHM',
}

function keyProblems(config: AuthConfig): string[] {
  const timing = keyTimingProblems(config)
  try {
    createKeyRing(config)
    return timing
  } catch (error) {
    if (!(error instanceof KeySettingsError)) throw error
    return [
      ...timing,
      ...error.problems.map(({ setting, message }) => `${KEY_VARIABLES[setting]} ${message}`),
    ]
  }
}

// The specification lists these as unsupported, or they have no effect for their provider. Setting one is probably a mistake.
const UNSUPPORTED = [
  'AUTH_MULTI_INSTANCE_MODE',
  'AUTH_OPERATOR_TOKEN',
  'OPERATOR_TOKEN',
  'AUTH_API_ENDPOINT',
  'API_ENDPOINT',
  'AUTH_JWT_ADMIN_GROUP_NAME',
  ...providerVariablesWithoutEffect,
]

/** Variables that are set but not supported by this server (docs/specification.md#configuration). */
export const unsupportedVariables = (env: Environment): string[] =>
  UNSUPPORTED.filter((name) => (env[name] ?? '') !== '')
