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
  rule(
    ({ proxyUrl }) => proxyUrl !== undefined && !isPercentEncoded(proxyUrl),
    'DISPATCHER_PROXY_URL must have a percent-encoded user and password',
  ),
]

function isPercentEncoded(proxyUrl: string): boolean {
  const { username, password } = new URL(proxyUrl)
  try {
    for (const part of [username, password]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/** Reads the settings table from an environment and reports every problem at once. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): DispatcherConfig =>
  loadConfig(settings, env, ...rules)
