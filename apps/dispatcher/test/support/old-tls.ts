import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import type { Authority } from '@signet/local'
import { issueCertificate } from '@signet/local'

export type OldReceiver = { port: number; requests: number; close(): void }

/**
 * A receiver that speaks TLS 1.1 at most, in a process that is configured to accept it: by default Node itself refuses
 * such an old version, which would hide whether our own limit works.
 */
export async function startOldReceiver(authority: Authority, host: string): Promise<OldReceiver> {
  const { DEFAULT_MIN_VERSION: version, DEFAULT_CIPHERS: ciphers } = tls
  Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1', DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0' })
  const options = { ...(await issueCertificate(authority, [host])), maxVersion: 'TLSv1.1' as const }
  const receiver = { port: 0, requests: 0, close }
  const server = createServer(options, (_req, res) => {
    receiver.requests += 1
    res.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  receiver.port = (server.address() as AddressInfo).port
  return receiver

  function close() {
    Object.assign(tls, { DEFAULT_MIN_VERSION: version, DEFAULT_CIPHERS: ciphers })
    server.closeAllConnections()
    server.close()
  }
}
