import { InvalidArgumentError } from 'commander'

/** An address that deliveries are sent to from this computer: http as well, since it is the person's own. */
export function parseTarget(text: string): URL {
  const url = urlOf(text)
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('It must be an address such as http://localhost:3000/hook.')
  }
  return url
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
