import type { Authority } from './certificate.js'
import { startInbox } from './inbox/inbox.js'
import { startReceiver } from './receiver/receiver.js'

interface SandboxOptions {
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
  const { smtpPort, pagePort, receiverPort, ...rest } = options
  const receiver = await startReceiver({ port: receiverPort, ...rest })
  const { receiverRoutes } = await import('./receiver/receiver-pages.js')
  const inbox = await startInbox({
    ...{ smtpPort, httpPort: pagePort, host: rest.host },
    alsoServe(router) {
      receiverRoutes(receiver)(router)
      router.get('/healthz', (_, response) => void response.type('text').send('ok\n'))
    },
  })
  return { close: async () => void (await Promise.all([inbox.close(), receiver.close()])) }
}
