import { brandOf } from '@signet/brand'
import { Db, SharedClock } from '@signet/db'
import { Drain, healthHandlers } from '@signet/http'
import { createLogger, createRegistry, RepeatedWarning, type Logger } from '@signet/telemetry'
import { AddressGuard, type Resolver } from '@signet/address-guard'
import { connectRedis, redisSettings } from '@signet/redis'
import { WebhookQueues } from '@signet/webhook-core/queue'
import { UrlPolicy } from './endpoints/url-policy.js'
import type { Registry } from 'prom-client'
import { AccountService } from './accounts/account-service.js'
import { AuthorizationPages } from './authorization/authorization-pages.js'
import { AuthorizationService } from './authorization/authorization-service.js'
import { bearerAuthentication } from './bearer/bearer-authentication.js'
import { BearerService } from './bearer/bearer-service.js'
import { ClientService } from './clients/client-service.js'
import { RedirectAllowList } from './redirects/redirect-allow-list.js'
import type { WebhooksConfig } from './config/config.js'
import { MCP_PATH } from './mcp/mcp-path.js'
import { createMcpObserver } from './observers/mcp-observer.js'
import { createObserver } from './observers/observer.js'
import { AccountCheck } from './grants/account-check.js'
import { ConnectionService } from './grants/connection-service.js'
import { RevocationService } from './grants/revocation-service.js'
import { TokenService } from './grants/token-service.js'
import { REQUEST_TIMEOUT_MS } from './http/time-limit.js'
import { IdentityClient, type TimeLimit } from './identity/identity-client.js'
import { identityKeys } from './identity/identity-keys.js'
import { UserJwtVerifier } from './identity/user-jwt.js'
import { createLimits } from './limits/limits.js'
import { CleanupService } from './maintenance/cleanup-service.js'
import { accountAuthentication } from './personal-tokens/account-authentication.js'
import { PersonalTokenService } from './personal-tokens/personal-token-service.js'
import { ResourcePolicy } from './oauth/resource-policy.js'
import { SubmissionService } from './forms/submission-service.js'
import { HandoverService } from './handovers/handover-service.js'
import { SessionCookie } from './sessions/session-cookie.js'
import { SessionService } from './sessions/session-service.js'
import { FormGuard } from './forms/form-guard.js'
import { PageResponder } from './pages/page-responder.js'
import { SignInService } from './sign-in/sign-in-service.js'
import { createWarnings } from './warnings/create-warnings.js'
import { createWebhookObserver } from './observers/webhook-observer.js'
import { createWebhookServices } from './webhook-services.js'
import { component } from './version.js'

/** External dependencies that tests can replace; everything else is built from them. */
export type Ports = {
  log: Logger
  registry: Registry
  now: () => Date
  resolver: Resolver
  identityTimeLimit: TimeLimit
}

/** The composition root: the only place that constructs connections and services. */
export function createContext(config: WebhooksConfig, ports: Partial<Ports> = {}) {
  const log = ports.log ?? createLogger({ level: config.logLevel, component })
  const registry = ports.registry ?? createRegistry({ runtime: true })
  const db = new Db({
    connectionString: config.databaseUrl,
    max: config.databasePoolSize,
    applicationName: 'signet-webhooks',
    statementTimeoutMs: REQUEST_TIMEOUT_MS,
    preferIndexes: true,
    onIdleError: (error) => log.warn('idle database connection lost', { error }),
  })
  const clock = new SharedClock(db)
  const now = ports.now ?? clock.now
  const redis = connectRedis(redisSettings(config), 'request')
  const redisUnavailable = new RepeatedWarning(log, 'redis unavailable', now)
  redis
    .on('error', (error: Error) => redisUnavailable.warn(error))
    .on('ready', () => redisUnavailable.reset())
  const observer = createObserver(log, registry)
  const limits = createLimits(config, redis)
  const queues = new WebhookQueues({ connection: redis, prefix: config.queuePrefix })
  const accounts = new AccountService({ db, queues, observer, now })
  const oauth = createOAuth(config, {
    db,
    observer,
    limits,
    accounts,
    log,
    now,
    timeLimit: ports.identityTimeLimit,
  })
  const webhookObserver = createWebhookObserver(log, registry)
  const webhooks = createWebhookServices({
    db,
    webhookObserver,
    queues,
    urlPolicy: createUrlPolicy(config, ports.resolver),
    secretBox: config.secretBox,
    now,
  })
  const warnings = createWarnings(config, { db, identity: oauth.identity, webhookObserver })

  const drain = new Drain(config.drainSeconds * 1000)
  const health = healthHandlers({
    required: {
      async database() {
        await db.ping()
        // Compares the clock with the database's before it gives a time to anything that arrives.
        await clock.adjust()
      },
    },
    // Events are accepted without Redis, and the dispatcher's sweeper finds them (decision 0155).
    optional: { redis: () => queues.assertConnected() },
    drain,
    log,
  })

  return {
    config,
    log,
    registry,
    clock,
    isTimeKnown: () => ports.now !== undefined || clock.isKnown,
    now,
    db,
    redis,
    observer,
    mcpObserver: createMcpObserver(log, registry),
    limits,
    accounts,
    cleanup: new CleanupService({ db, observer }),
    queues,
    webhooks,
    /** Undefined if no emails are sent. */
    warnings,
    drain,
    health,
    ...oauth,
    /** Closes everything in reverse order of creation. */
    async close() {
      await warnings?.close()
      await webhooks.close()
      await queues.close()
      redis.disconnect()
      await db.close()
      await log.close()
    },
  }
}

export type Context = ReturnType<typeof createContext>

type Base = Pick<Ports, 'log' | 'now'> & {
  timeLimit: TimeLimit | undefined
  db: Db
  observer: ReturnType<typeof createObserver>
  limits: ReturnType<typeof createLimits>
  accounts: AccountService
}

/** The OAuth server: clients, sessions, pages, tokens, Bearer authentication. */
function createOAuth(config: WebhooksConfig, base: Base) {
  const { db, observer, limits, accounts, log, now, timeLimit } = base
  const { baseUrl, identityUrl, identityPublicUrl = identityUrl } = config
  const allowList = new RedirectAllowList(config.redirectAllowList)
  const resources = new ResourcePolicy(baseUrl, config.oauthResources)
  const cookie = new SessionCookie(baseUrl)
  const sessions = new SessionService(db)
  const submissions = new SubmissionService({ db, secretBox: config.secretBox })
  const clients = new ClientService({ db, allowList, observer })
  const identity = new IdentityClient({
    url: identityUrl,
    clientIpHeader: config.identityClientIpHeader,
    serviceToken: config.identityServiceToken,
    now,
    timeLimit,
  })
  const users = new UserJwtVerifier({
    keys: identityKeys(config, log),
    audience: config.identityJwtAudience,
    issuer: config.identityJwtIssuer,
    roles: config.identityJwtRoles,
    now,
  })
  const bearer = new BearerService({ db, resources, observer })
  const ui = `${identityPublicUrl.replace(/\/+$/, '')}/ui`
  const { signInUrl = ui } = config
  const signOutUrl = config.signInUrl === undefined ? `${ui}/sign-out` : null
  const accountUrl = config.signInUrl === undefined ? `${ui}/account` : null
  const responder = new PageResponder(baseUrl, cookie, brandOf(config), accountUrl)
  const signIn = new SignInService({
    baseUrl,
    signInUrl,
    signOutUrl,
    identity,
    users,
    accounts,
    sessions,
    observer,
  })
  return {
    identity,
    cookie,
    sessions,
    handovers: new HandoverService({ db, secretBox: config.secretBox }),
    submissions,
    clients,
    users,
    bearer,
    /** The `authenticate` step of /v1 routes. */
    authenticateBearer: bearerAuthentication({ baseUrl, bearer, limits }),
    authenticateMcp: bearerAuthentication({ baseUrl, bearer, limits, resourcePath: MCP_PATH }),
    accountAuthentication: accountAuthentication({
      baseUrl,
      bearer,
      users,
      identity,
      observer,
      accounts,
      limits,
      now,
    }),
    personalTokens: new PersonalTokenService({ db, observer }),
    connections: new ConnectionService({ db, observer }),
    authorizations: new AuthorizationService({
      db,
      issuer: baseUrl,
      clients,
      sessions,
      submissions,
      allowList,
      resources,
      codeTtlSeconds: config.codeTtlSeconds,
      observer,
      now,
    }),
    responder,
    signIn,
    pages: new AuthorizationPages({ responder, signIn, grantMaxDays: config.grantMaxDays }),
    guard: new FormGuard({ origin: new URL(baseUrl).origin, cookie, sessions }),
    revocations: new RevocationService({
      db,
      issuer: baseUrl,
      bearer,
      introspectionClients: config.introspectionClients,
      resources,
      observer,
    }),
    tokens: new TokenService({
      db,
      resources,
      accounts: new AccountCheck(identity, observer),
      secretBox: config.secretBox,
      refreshReuseGraceSeconds: config.refreshReuseGraceSeconds,
      grantMaxDays: config.grantMaxDays,
      observer,
    }),
  }
}

/** Where receivers may be. Deliveries to ourselves or to the identity server are refused (docs/specification.md#url-policy). */
function createUrlPolicy(config: WebhooksConfig, resolver: Resolver | undefined): UrlPolicy {
  const { baseUrl, identityUrl, identityPublicUrl = identityUrl, allowedPorts, allowPrivateTargets } = config
  return new UrlPolicy({
    guard: new AddressGuard({ allowPrivateTargets, ...(resolver ? { resolver } : {}) }),
    allowedPorts,
    ownHosts: [baseUrl, identityUrl, identityPublicUrl].map((url) => new URL(url).hostname),
  })
}
