import { InvalidArgumentError } from 'commander'
import { UsageError } from '../errors.js'
import { plainUrl } from './plain-url.js'

/**
 * Parses the address that this computer sends deliveries to. It may use http, since it is the user's own. A password in it would be shown
 * with each answer, and in the list of processes.
 */
export const parseTarget =
  (option: string) =>
  (text: string): URL => {
    const url = plainUrl(text)
    if (url !== null && url.username === '' && url.password === '') return url
    // The parser's own error would quote the value.
    if (text.includes('@'))
      throw new UsageError(
        `${option} must be an address such as http://localhost:3000/hook, without a password`,
      )
    throw new InvalidArgumentError('It must be an address such as http://localhost:3000/hook.')
  }

/** Parses the address that the service delivers to. Only the service knows whether it accepts http. */
export function parseHookAddress(text: string): string {
  if (plainUrl(text) === null)
    throw new InvalidArgumentError('It must be a URL such as https://example.com/hook.')
  return text
}
