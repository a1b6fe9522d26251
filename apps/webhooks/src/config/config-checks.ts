import type { WebhooksConfig } from './config.js'

type Rule = (config: WebhooksConfig) => string[]

const rule =
  (broken: (config: WebhooksConfig) => boolean, problem: string): Rule =>
  (config) =>
    broken(config) ? [problem] : []

const isProduction = ({ nodeEnv }: WebhooksConfig) => nodeEnv === 'production'

/** Rules across settings. */
export const configChecks: readonly Rule[] = [
  rule(
    (config) => isProduction(config) && !config.baseUrl.startsWith('https://'),
    'WEBHOOKS_BASE_URL must use https in production',
  ),
  rule(
    (config) => isProduction(config) && config.identityPublicUrl?.startsWith('http://') === true,
    'WEBHOOKS_IDENTITY_PUBLIC_URL must use https in production',
  ),
  rule(
    (config) => isProduction(config) && config.signInUrl?.startsWith('http://') === true,
    'WEBHOOKS_SIGN_IN_URL must use https in production',
  ),
  rule(
    (config) => isProduction(config) && config.allowPrivateTargets,
    'WEBHOOKS_ALLOW_PRIVATE_TARGETS is refused in production',
  ),
  rule(
    (config) => config.redisSentinels.length > 0 && config.redisClusterNodes.length > 0,
    'WEBHOOKS_REDIS_SENTINELS and WEBHOOKS_REDIS_CLUSTER_NODES cannot both be set',
  ),
  rule(
    (config) => config.port !== 0 && config.port === config.internalPort,
    'WEBHOOKS_PORT and WEBHOOKS_INTERNAL_PORT must differ: the internal API is never public',
  ),
]
