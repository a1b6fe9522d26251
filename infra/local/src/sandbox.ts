import type { Authority } from './certificate.js'
import { startInbox } from './inbox/inbox.js'
import { startReceiver } from './receiver/receiver.js'

interface SandboxOptions {
  /** `inbox` has the pages and APIs of both tools. */
  ports: { smtp: number; inbox: number; receiver: number }
  authority: Authority
  /** Name by which the dispatcher reaches the receiver, where it is not this machine. */
  publicHost?: string
  /** Interface to listen on; 127.0.0.1 unless it runs in a container. */
  host?: string
}

/** The outside world of a development machine: a mail inbox and an HTTPS receiver, with one server for their pages. */
export async function startSandbox({ ports, host, ...certificate }: SandboxOptions) {
  const receiver = await startReceiver({ port: ports.receiver, host, ...certificate })
  const { receiverRoutes } = await import('./receiver/receiver-pages.js')
  const inbox = await startInbox({
    ...{ smtpPort: ports.smtp, httpPort: ports.inbox, host },
    alsoServe(router) {
      receiverRoutes(receiver)(router)
      router.get('/healthz', (_, response) => void response.type('text').send('ok\n'))
    },
  })
  return {
    name: 'mail inbox and webhook receiver',
    stop: () => Promise.all([inbox.close(), receiver.close()]),
  }
}
