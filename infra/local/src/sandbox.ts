import type { Authority } from './certificate.js'
import { startInbox } from './inbox/index.js'
import { receiverRoutes, startReceiver } from './receiver/index.js'
import type { Routes } from './web-server.js'

export interface SandboxOptions {
  smtpPort: number
  /** Pages and APIs of both tools. */
  pagePort: number
  receiverPort: number
  authority: Authority
  /** Name by which the dispatcher reaches the receiver, where it is not this machine. */
  publicHost?: string
  /** Interface to listen on; 127.0.0.1 unless it runs in a container. */
  host?: string
}

/** The outside world of a development machine: a mail inbox and an HTTPS receiver, with one server for their pages. */
export async function startSandbox(options: SandboxOptions): Promise<{ close(): Promise<void> }> {
  const { host, authority, publicHost } = options
  const receiver = await startReceiver({ port: options.receiverPort, authority, publicHost, host })
  const { receiverPages } = await import('./pages/receiver-pages.js')
  const alsoServe: Routes = (router) => {
    receiverRoutes(receiver)(router)
    receiverPages(() => receiver.deliveries())(router)
    router.get('/healthz', (_, response) => void response.type('text').send('ok\n'))
  }
  const inbox = await startInbox({
    smtpPort: options.smtpPort,
    httpPort: options.pagePort,
    host,
    alsoServe,
  })
  return {
    async close() {
      await Promise.all([inbox.close(), receiver.close()])
    },
  }
}
