import { Db } from '@signet/db'
import { createLogger, createRegistry, type Logger, type Tracing } from '@signet/telemetry'
import { createCaptchaVerifier, type CaptchaProvider } from './captcha/captcha-verifier.js'
import { captchaConfig, clientAddressConfig, mailConfig, rateLimitConfig, smsConfig } from './config/parts.js'
import { createKeyRing, type AuthConfig } from './config.js'
import { createEvents } from './events.js'
import { createMailer } from './mail/mailer.js'
import { createOutbound } from './outbound/outbound.js'
import { createPasswordHasher, type PasswordHasher } from './passwords/password-hasher.js'
import { connectLimitRedis } from './rate-limits/limit-redis.js'
import { createRateLimits } from './rate-limits/rate-limits.js'
import { Bearer } from './requests/bearer.js'
import { RequestGuard } from './requests/request-guard.js'
import { type RequestMeta } from './requests/request-meta.js'
import { VerifiedTokens } from './requests/verified-tokens.js'
import { createServices } from './services.js'
import { createSmsSender, type SmsProvider } from './sms/sms-sender.js'
import { createStores } from './stores.js'
import { uiReturnUrl } from './ui/return-url.js'
import { tablesOf } from './tables.js'
import { tracedHasher, tracedOutbound, tracedStatements } from './telemetry/traced-ports.js'

/** Outside things that a test may replace. All else is derived from them, so a replacement reaches every user. */
export type Ports = {
  log: Logger
  now: () => Date
  hasher: PasswordHasher
  /** Where spans go; none are made without it. */
  tracing: Tracing
  /** Where SMS gateways and CAPTCHA services are. */
  smsUrls: Readonly<Record<SmsProvider, string>>
  captchaUrls: Readonly<Record<CaptchaProvider, string>>
}

export type AuthContext = ReturnType<typeof createContext>

const LOCK_TIMEOUT_MS = 5000

/** The composition root: the only place that opens connections; with `createServices`, the only one that makes services. */
export function createContext(config: AuthConfig, ports: Partial<Ports> = {}) {
  const now = ports.now ?? (() => new Date())
  const log = ports.log ?? createAuthLogger(config)
  const { tracing } = ports
  const registry = createRegistry({ runtime: config.metricsEnabled })
  const events = createEvents(log, registry)
  const keys = createKeyRing(config)
  const db = createDb(config, log, tracing)
  const stores = createStores(tablesOf(config.dbNamespace))
  const redis =
    config.rateLimitRedisUrl === undefined ? undefined : connectLimitRedis(config.rateLimitRedisUrl, log)
  const onMailRefused = (meta: RequestMeta) => events.mailRefused(meta)
  const limits = createRateLimits(rateLimitConfig(config), { log, redis, now, onMailRefused })
  const directOutbound = createOutbound({ allowPrivateUrls: config.allowPrivateProviderUrls })
  const outbound = tracing ? tracedOutbound(directOutbound, tracing) : directOutbound
  const mailer = createMailer({
    config: mailConfig(config),
    outbound,
    limit: limits.mail,
    log,
    observe: (kind, outcome) => events.mailTried(kind, outcome),
    tracing,
  })
  const smsWith = (template: string) =>
    createSmsSender({
      config: smsConfig(config, template),
      outbound,
      limit: limits.sms,
      log,
      baseUrls: ports.smsUrls,
    })
  const captcha = createCaptchaVerifier({
    config: captchaConfig(config),
    outbound,
    verifyUrls: ports.captchaUrls,
  })
  const directHasher = ports.hasher ?? createPasswordHasher({ observe: (...job) => events.hashing(...job) })
  const hasher = tracing ? tracedHasher(directHasher, tracing) : directHasher

  const services = createServices({
    config,
    db,
    stores,
    keys,
    events,
    mailer,
    sms: smsWith(config.smsTemplate),
    factorSms: smsWith(config.mfaPhoneTemplate),
    hasher,
    limits,
    outbound,
    now,
  })
  const bearer = new Bearer({
    tokens: new VerifiedTokens(keys, now),
    findCaller: (userId, sessionId) => stores.sessions.findCaller(db, userId, sessionId),
    checkAdminSession: (sessionId) => services.sessions.checkLive(sessionId),
    adminRoles: config.jwtAdminRoles,
    defaultAud: config.jwtAud,
    now,
  })
  const guard = new RequestGuard({ bearer, captcha, addresses: clientAddressConfig(config) })

  return {
    ...services,
    config,
    now,
    log,
    registry,
    events,
    tracing,
    db,
    stores,
    keys,
    limits,
    redirects: {
      siteUrl: config.siteUrl,
      uriAllowList: config.uriAllowList,
      ownPage: config.uiEnabled ? uiReturnUrl(config) : undefined,
    },
    bearer,
    guard,
    /** Releases what was opened, in reverse order. */
    async close() {
      if (!ports.hasher) await hasher.close()
      await mailer.close()
      await outbound.close()
      redis?.disconnect()
      await db.close()
      await log.close()
    },
  }
}

export const createAuthLogger = ({ logLevel: level, logFile: file }: AuthConfig): Logger =>
  createLogger({ level, component: 'api', file })

function createDb(config: AuthConfig, log: Logger, tracing: Tracing | undefined): Db {
  return new Db({
    connectionString: config.databaseUrl,
    // 0 is "unlimited" (contract section 11); the pool has no word for that.
    max: config.dbMaxPoolSize === 0 ? Number.MAX_SAFE_INTEGER : config.dbMaxPoolSize,
    applicationName: 'signet-auth',
    statementTimeoutMs: config.apiMaxRequestDuration,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    trace: tracing && tracedStatements(tracing),
    onIdleError: (error) => log.warn('an idle database connection broke', { error }),
  })
}
