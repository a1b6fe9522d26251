import { InvalidArgumentError } from 'commander'
import { plainUrl } from './plain-url.js'

/** Parses the address that this computer sends deliveries to. It may use http, since it is the user's own. */
export function parseTarget(text: string): URL {
  const url = plainUrl(text)
  if (url === null)
    throw new InvalidArgumentError('It must be an address such as http://localhost:3000/hook.')
  return url
}

/** Parses the address that the service delivers to. Only the service knows whether it accepts http. */
export function parseHookAddress(text: string): string {
  if (plainUrl(text) === null)
    throw new InvalidArgumentError('It must be a URL such as https://example.com/hook.')
  return text
}
