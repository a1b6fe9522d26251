import { loadConfig } from '@signet/config'
import { configChecks } from './config-checks.js'
import { settings, type WebhooksConfig } from './config.js'

/** Reads the settings table from an environment. Reports every problem at once, including those of rules across settings. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): WebhooksConfig =>
  loadConfig(settings, env, ...configChecks)
