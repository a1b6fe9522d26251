import { UsageError } from '../errors.js'
import { plainUrl } from './plain-url.js'

/** The addresses at which `npm start` in a checkout serves. A published tool has no default service. */
export const DEFAULT_SERVICE_URL = 'http://localhost:8082'
export const DEFAULT_IDENTITY_URL = 'http://localhost:8081'

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Returns a service's address in normalized form, without a trailing slash. Tokens are stored under this text. */
export function serviceAddress(text: string, name: string, { allowHttp }: { allowHttp: boolean }): string {
  const url = plainUrl(text)
  const isBare = url && !url.search && !url.hash && !url.username && !url.password
  if (!isBare) {
    // What is in front of an @ may be a password.
    const shown = text.includes('@') ? '' : `: ${text}`
    throw new UsageError(`${name} is not the address of a service${shown}`, {
      hint: 'It looks like https://hooks.example.com, without a query and a password.',
    })
  }
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.has(url.hostname) && !allowHttp) {
    throw new UsageError(`${name} would send your credentials unencrypted to ${url.host}`, {
      hint: 'Use https. In a closed network you may set SIGNET_ALLOW_HTTP=1.',
    })
  }
  return url.href.replace(/\/+$/, '')
}
