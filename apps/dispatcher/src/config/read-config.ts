import { loadConfig } from '@signet/config'
import { settings, type DispatcherConfig } from './config.js'

type Rule = (config: DispatcherConfig) => string[]

const rule =
  (broken: (config: DispatcherConfig) => boolean, problem: string): Rule =>
  (config) =>
    broken(config) ? [problem] : []

/** Rules across settings. They run one by one: a rule that reads an invalid setting does not hide the others. */
const rules: readonly Rule[] = [
  rule(
    ({ nodeEnv, allowPrivateTargets }) => nodeEnv === 'production' && allowPrivateTargets,
    'WEBHOOKS_ALLOW_PRIVATE_TARGETS must not be true in production',
  ),
  rule(
    ({ nodeEnv, adminToken }) => !['development', 'test'].includes(nodeEnv) && adminToken === undefined,
    'DISPATCHER_ADMIN_TOKEN is required outside development',
  ),
  rule(
    ({ redisSentinels, redisClusterNodes }) => redisSentinels.length > 0 && redisClusterNodes.length > 0,
    'WEBHOOKS_REDIS_SENTINELS and WEBHOOKS_REDIS_CLUSTER_NODES cannot both be set',
  ),
]

/** Reads the settings table from an environment and reports every problem at once. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): DispatcherConfig =>
  loadConfig(settings, env, ...rules)
