import { brandSettings } from '@signet/brand'
import {
  defineSettings,
  hostName,
  integer,
  parsed,
  text,
  choice,
  httpUrl,
  type ConfigOf,
} from '@signet/config'
import { logLevels } from '@signet/telemetry'
import { DEFAULT_RETRY_DELAYS_SECONDS } from '@signet/webhook-core'
import { sharedSettings } from '@signet/webhook-core/settings'

export const settings = defineSettings({
  ...sharedSettings,
  logLevel: choice({
    env: ['DISPATCHER_LOG_LEVEL', 'WEBHOOKS_LOG_LEVEL', 'LOG_LEVEL'],
    choices: logLevels,
    fallback: 'info',
    doc: 'Least severe level to log.',
  }),
  port: integer({
    env: ['DISPATCHER_PORT', 'PORT'],
    fallback: 8084,
    max: 65535,
    doc: 'Port for health checks, metrics and the pages for operators. Keep it private. 0 picks a free port.',
  }),
  host: hostName({
    env: 'DISPATCHER_HOST',
    optional: true,
    doc: 'Address to listen on. Defaults to all addresses.',
  }),
  concurrency: integer({
    env: 'DISPATCHER_CONCURRENCY',
    fallback: 100,
    min: 1,
    max: 10_000,
    doc: 'Maximum attempts in flight in this process.',
  }),
  endpointConcurrency: integer({
    env: 'DISPATCHER_ENDPOINT_CONCURRENCY',
    fallback: 8,
    min: 1,
    max: 1000,
    doc: 'Maximum attempts in flight to one endpoint from this process.',
  }),
  retryDelaysSeconds: parsed<readonly number[], { env: string; fallback: readonly number[]; doc: string }>({
    env: 'DISPATCHER_RETRY_DELAYS_SECONDS',
    fallback: DEFAULT_RETRY_DELAYS_SECONDS,
    kind: 'list of seconds',
    parse: parseRetryDelays,
    doc: 'Delays before each retry. Their number is the number of retries.',
  }),
  timeoutMs: integer({
    env: 'DISPATCHER_TIMEOUT_MS',
    fallback: 5000,
    min: 10,
    max: 8000,
    doc: 'Time limit of one attempt in milliseconds, from DNS lookup to the headers of the response.',
  }),
  proxyUrl: httpUrl({
    env: 'DISPATCHER_PROXY_URL',
    optional: true,
    secret: true,
    doc: 'Egress proxy. When set, the proxy is responsible for checking target addresses, and answers 403 for those that it refuses, or 407 without `Proxy-Authenticate`. While it is away, refuses our credentials or closes connections without an answer, deliveries wait.',
  }),
  bodyCacheMib: integer({
    env: 'DISPATCHER_BODY_CACHE_MIB',
    fallback: 64,
    max: 16_384,
    doc: 'Memory for cached event bodies, shared by retries and endpoints. 0 disables the cache.',
  }),
  adminToken: text({
    env: 'DISPATCHER_ADMIN_TOKEN',
    optional: true,
    secret: true,
    minBytes: 32,
    doc: 'Password of the pages for operators at `/admin` and `/queues`, with any user name. Required in production. Without it they are off.',
  }),
  ...brandSettings('DISPATCHER'),
})

export type DispatcherConfig = ConfigOf<typeof settings>

function parseRetryDelays(raw: string): readonly number[] {
  const delays = raw.split(',').map((item) => item.trim())
  if (delays.length > 20 || !delays.every((item) => /^\d{1,6}(\.\d{1,3})?$/.test(item) && Number(item) > 0))
    throw new Error('must be up to 20 numbers of seconds above 0, separated by commas')
  return delays.map(Number)
}
