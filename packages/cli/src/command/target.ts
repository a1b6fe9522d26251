import { InvalidArgumentError } from 'commander'
import { plainUrl } from './plain-url.js'

/** An address that deliveries are sent to from this computer: http as well, since it is the person's own. */
export function parseTarget(text: string): URL {
  const url = plainUrl(text)
  if (url === null)
    throw new InvalidArgumentError('It must be an address such as http://localhost:3000/hook.')
  return url
}

/** An address that the service delivers to. Whether http is good enough for it, only the service knows. */
export function parseHookAddress(text: string): string {
  if (plainUrl(text) === null)
    throw new InvalidArgumentError('It must be a URL such as https://example.com/hook.')
  return text
}
