import type { FailureReason } from '@signet/webhook-core'

type Explained = { what: string; advice: string }

const EXPLAINED: Readonly<Partial<Record<FailureReason, Explained>>> = {
  timeout: {
    what: 'no complete response within 5 seconds',
    advice: 'Have your receiver answer 200 first, and do its work afterwards.',
  },
  dns_error: {
    what: 'its host name has no address',
    advice: 'Check the host name of its URL, and the DNS records of that name.',
  },
  blocked_address: {
    what: 'its host name leads to an address that is not public',
    advice: 'Give it a URL on a public address.',
  },
  connection_refused: {
    what: 'the connection was refused',
    advice: 'Check that your receiver runs, and that its firewall lets our requests through.',
  },
  connection_reset: {
    what: 'the connection was closed before a response',
    advice: 'Check the logs of your receiver and of any proxy in front of it.',
  },
  connection_error: {
    what: 'no connection could be made',
    advice: 'Check that your receiver can be reached from the public internet.',
  },
  tls_error: {
    what: 'its TLS certificate was not accepted',
    advice:
      'Check that the certificate is valid for the host name, has not expired, and is sent with its whole chain.',
  },
  invalid_response: {
    what: 'the response was not HTTP',
    advice: 'Check that the port of its URL is the one on which your receiver speaks HTTPS.',
  },
}

const GENERAL = 'Check the logs of your receiver for the time of the last failure.'

const BY_STATUS: Readonly<Record<string, string>> = {
  http_401: 'Check that your receiver verifies the signature with the current signing secret.',
  http_403: 'Check that neither your receiver nor a firewall in front of it refuses our requests.',
  http_404: 'Check that the path of its URL is the one on which your receiver listens.',
  http_410: 'If the receiver is gone for good, delete the webhook.',
  http_429: 'Allow your receiver more requests, or have it take events into a queue.',
}

/** A failure in words for the owner of the receiver, and what usually helps (docs/specification.md#failure-reasons). */
export function explainFailure(reason: FailureReason): Explained {
  const known = EXPLAINED[reason]
  if (known) return known
  const [, status] = /^http_(\d{3})$/.exec(reason) ?? []
  if (status === undefined) return { what: reason, advice: GENERAL }
  const isRedirect = status.startsWith('3')
  return {
    what: `it answered with status ${status}`,
    advice: isRedirect
      ? 'Redirects are not followed: change the URL of the webhook to the one it redirects to.'
      : (BY_STATUS[reason] ?? GENERAL),
  }
}
