import { Batches, databaseNow, Db, SharedClock, type DatabaseClock } from '@signet/db'
import { Drain } from '@signet/http'
import { createLimiter } from '@signet/rate-limits'
import { createLogger, createRegistry, type Logger, type Tracing } from '@signet/telemetry'
import { accountEventHandler } from './account-events/account-event-handler.js'
import { accountRequestHandler } from './otp/account-request-handler.js'
import { createCaptchaVerifier, type CaptchaProvider } from './captcha/captcha-verifier.js'
import { captchaConfig, mailConfig, sendQuotaConfig, smsConfig } from './services/message-settings.js'
import {
  allowedAudiences,
  callBudgetMs,
  clientAddressRules,
  eventTarget,
  rateLimitRules,
} from './services/part-settings.js'
import { createKeyRing, type AuthConfig } from './config/config.js'
import { createObserver } from './observers/observer.js'
import { factorCodeHandler } from './factors/factor-codes.js'
import { createLiveKeys } from './keys/create-keys.js'
import { mailHandler } from './mail/mail-handler.js'
import { createMailTransport } from './mail/mail-transport.js'
import { GIVEN_UP_REASONS, type OutboxHandler } from './outbox/outbox-handler.js'
import { registerOutboxMetrics } from './outbox/outbox-metrics.js'
import { OutboxSender } from './outbox/outbox-sender.js'
import { createOutbound } from './outbound/outbound.js'
import { createPasswordHasher, type PasswordHasher } from './passwords/password-hasher.js'
import { createSendQuotas } from './quotas/send-quotas.js'
import { connectLimitRedis } from './rate-limits/limit-redis.js'
import { createRateLimits } from './rate-limits/rate-limits.js'
import { FlowCookies } from './providers/flow-cookies.js'
import { LinkConfirmation } from './providers/link-confirmation.js'
import { Cookies } from './requests/cookies.js'
import { Audiences } from './requests/audiences.js'
import { Redirects } from './redirects/redirects.js'
import { Bearer } from './bearer/bearer.js'
import { randomPauseMs } from './account-requests/account-requests.js'
import { RequestGuard } from './bearer/request-guard.js'
import { VerifiedTokens } from './bearer/verified-tokens.js'
import { createServices } from './services/services.js'
import type { FoundCaller, TokenHolder } from './sessions/session-store.js'
import { smsHandler } from './sms/sms-handler.js'
import { createSmsSender, type SmsProvider } from './sms/sms-sender.js'
import { createStores } from './services/stores.js'
import { linkPage } from './ui/link-page-url.js'
import { uiReturnUrl } from './ui/return-url.js'
import { tablesOf } from './database/tables.js'
import { tracedHasher, tracedOutbound, tracedStatements } from './telemetry/traced-ports.js'
import { component } from './version.js'

/**
 * External dependencies that tests may replace. Everything else is derived from them, so a replacement takes effect
 * everywhere.
 */
export type Ports = {
  log: Logger
  now: () => Date
  databaseNow: DatabaseClock
  hasher: PasswordHasher
  /** How long a request about an account waits after it was answered, in milliseconds. */
  requestPauseMs: () => number
  /** How long a statement waits for a lock before its request fails with a conflict. */
  lockTimeoutMs: number
  /** How long all calls to a provider in one sign-in may take together. */
  providerBudgetMs: number
  /** Receives spans; without it none are created. */
  tracing: Tracing
  /** Base URLs of SMS gateways and CAPTCHA services. */
  smsUrls: Readonly<Record<SmsProvider, string>>
  captchaUrls: Readonly<Record<CaptchaProvider, string>>
}

export type AuthContext = Awaited<ReturnType<typeof createContext>>

const LOCK_TIMEOUT_MS = 5000

/**
 * The composition root: the only place that opens connections; with `createServices`, the only one that creates
 * services.
 */
export async function createContext(config: AuthConfig, ports: Partial<Ports> = {}) {
  const log = ports.log ?? createAuthLogger(config)
  const { tracing } = ports
  const registry = createRegistry({ runtime: config.metricsEnabled })
  const observer = createObserver(log, registry)
  const lockTimeoutMs = ports.lockTimeoutMs ?? LOCK_TIMEOUT_MS
  const db = createDb(config, log, { tracing, lockTimeoutMs })
  const clock = new SharedClock(db)
  const now = ports.now ?? clock.now
  const stores = createStores(tablesOf(config.dbNamespace))
  const keys = createLiveKeys({
    config,
    configured: createKeyRing(config),
    db,
    store: stores.signingKeys,
    observer,
    now,
  })
  const redis =
    config.rateLimitRedisUrl === undefined
      ? undefined
      : await connectLimitRedis(config.rateLimitRedisUrl, observer)
  const limits = createRateLimits(rateLimitRules(config), {
    observer,
    redis,
    prefix: config.rateLimitRedisPrefix,
    now,
  })
  const quotas = createSendQuotas(sendQuotaConfig(config), {
    limiter: createLimiter({ prefix: `${config.rateLimitRedisPrefix}:quota`, redis, now }),
    onMailRefused: (meta) => observer.mailRefused(meta),
  })
  const directOutbound = createOutbound({ allowPrivateUrls: config.allowPrivateProviderUrls })
  const outbound = tracing ? tracedOutbound(directOutbound, tracing) : directOutbound
  const mailTransport = createMailTransport({
    config: mailConfig(config),
    outbound,
    observer,
    tracing,
  })
  const smsWith = (template: string) =>
    createSmsSender({
      config: smsConfig(config, template),
      outbound,
      baseUrls: ports.smsUrls,
    })
  const smsSender = smsWith(config.smsTemplate)
  const factorSmsSender = smsWith(config.mfaPhoneTemplate)
  const captcha = createCaptchaVerifier({
    config: captchaConfig(config),
    outbound,
    verifyUrls: ports.captchaUrls,
  })
  const directHasher =
    ports.hasher ??
    createPasswordHasher({
      queuePerThread: config.passwordQueue,
      observe: (...job) => observer.hashing(...job),
    })
  const hasher = tracing ? tracedHasher(directHasher, tracing) : directHasher

  const services = createServices({
    config,
    db,
    stores,
    keys,
    observer,
    smsSender,
    factorSmsSender,
    quotas,
    hasher,
    limits,
    outbound,
    requestPauseMs: ports.requestPauseMs ?? randomPauseMs,
    providerBudgetMs: ports.providerBudgetMs ?? callBudgetMs(config.apiMaxRequestDuration),
    now,
    databaseNow: ports.databaseNow ?? databaseNow,
  })
  const audiences = new Audiences(config.jwtAud, allowedAudiences(config))
  // How each kind of message is sent. A new kind needs a handler here, and `outbox.add` where it is triggered.
  const sending = { concurrency: config.outboxConcurrency, attemptMs: config.outboxAttemptTimeout }
  const { tokens } = services
  const eventOutbound = createOutbound({ allowPrivateUrls: true })
  const outboxHandlers: OutboxHandler<object>[] = [
    accountRequestHandler({ ...sending, ...services }),
    mailHandler({ ...sending, transport: mailTransport, tokens, repeatedSignUps: stores.repeatedSignUps }),
    smsHandler({ ...sending, sender: smsSender, tokens, observer }),
    factorCodeHandler({
      ...sending,
      sender: factorSmsSender,
      challenges: stores.challenges,
      factors: stores.factors,
      observer,
    }),
    accountEventHandler({
      concurrency: sending.concurrency,
      outbound: eventOutbound,
      target: eventTarget(config),
      now,
    }),
  ]
  // A separate connection, because the pool may have only one.
  const presenceDb = new Db({
    connectionString: config.databaseUrl,
    max: 1,
    applicationName: 'signet-auth-sender',
    statementTimeoutMs: LOCK_TIMEOUT_MS,
  })
  const outboxSender = new OutboxSender({
    db,
    presenceDb,
    store: stores.outbox,
    outbox: services.outbox,
    audit: services.audit,
    observer,
    now,
    pollMs: config.outboxPollInterval,
    handlers: outboxHandlers,
  })
  for (const { kind } of outboxHandlers) observer.messageKindKnown(kind, GIVEN_UP_REASONS)
  registerOutboxMetrics(registry, {
    db,
    store: stores.outbox,
    kinds: outboxHandlers.map(({ kind }) => kind),
    now,
  })
  const callers = new Batches<TokenHolder, FoundCaller | null>({
    underWay: 2,
    send: (holders) => stores.sessions.findCallers(db, holders),
  })
  const bearer = new Bearer({
    tokens: new VerifiedTokens(keys, now),
    findCaller: (holder) => callers.add(holder),
    gate: services.gate,
    requireRecentProof: (live) => services.recentProofs.requireOfHandedOver(live),
    adminRoles: config.jwtAdminRoles,
    audiences,
    now,
  })
  const cookies = new Cookies(config.apiExternalUrl)
  const flowRules = { key: services.flowKey, lifeMs: config.flowStateExpiryDuration }
  const guard = new RequestGuard({ bearer, captcha, addresses: clientAddressRules(config) })

  return {
    ...services,
    config,
    clock,
    isTimeKnown: () => ports.now !== undefined || clock.isKnown,
    now,
    log,
    registry,
    observer,
    tracing,
    db,
    stores,
    keys,
    limits,
    outboxSender,
    redirects: new Redirects({ ...config, ownPage: config.uiEnabled ? uiReturnUrl(config) : undefined }),
    linkPage: linkPage(config),
    drain: new Drain(config.apiDrainDuration),
    isRedisReady: redis && (() => redis.ping()),
    cookies,
    flowCookies: new FlowCookies({ ...flowRules, cookies }),
    linkConfirmation: new LinkConfirmation({ ...flowRules, externalUrl: config.apiExternalUrl, now }),
    audiences,
    bearer,
    guard,
    /** Does work in advance that would reveal something to strangers if it happened during the first request that needs it. */
    prepare: () => mailTransport.prepare(),
    /** Closes what was opened, in reverse order. */
    async close() {
      if (!ports.hasher) await hasher.close()
      await mailTransport.close()
      await outbound.close()
      await eventOutbound.close()
      redis?.disconnect()
      await presenceDb.close()
      await db.close()
      await log.close()
    },
  }
}

export const createAuthLogger = ({ logLevel: level, logFile: file }: AuthConfig): Logger =>
  createLogger({ level, component, file })

function createDb(
  config: AuthConfig,
  log: Logger,
  { tracing, lockTimeoutMs }: Partial<Ports> & Pick<Ports, 'lockTimeoutMs'>,
): Db {
  return new Db({
    connectionString: config.databaseUrl,
    max: config.dbMaxPoolSize === 0 ? 'unlimited' : config.dbMaxPoolSize,
    applicationName: 'signet-auth',
    statementTimeoutMs: config.apiMaxRequestDuration,
    lockTimeoutMs,
    // PostgreSQL keeps plans. One made while a table was small would scan the whole table forever.
    preferIndexes: true,
    // Without this, PostgreSQL would plan every refresh again, because a plan for a few given tokens looks cheaper than one for any number.
    planOnce: true,
    trace: tracing && tracedStatements(tracing),
    onIdleError: (error) => log.warn('idle database connection lost', { error }),
  })
}
