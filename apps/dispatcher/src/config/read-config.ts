import { loadConfig, rule, type Rule } from '@signet/config'
import { sharedRules } from '@signet/webhook-core/settings'
import { settings, type DispatcherConfig } from './config.js'

/** Rules across settings. They run one by one: a rule that reads an invalid setting does not hide the others. */
const rules: readonly Rule<DispatcherConfig>[] = [
  ...sharedRules,
  rule(
    ({ nodeEnv, adminToken }) => nodeEnv === 'production' && adminToken === undefined,
    'DISPATCHER_ADMIN_TOKEN is required in production',
  ),
]

/** Reads the settings table from an environment and reports every problem at once. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): DispatcherConfig =>
  loadConfig(settings, env, ...rules)
