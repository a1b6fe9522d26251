import { startInbox } from './inbox/inbox.js'
import { inboxRoutes } from './inbox/inbox-pages.js'
import { kitRoutes } from './pages/local-page.js'
import { type ReceiverOptions, startReceiver } from './receiver/receiver.js'
import { receiverRoutes } from './receiver/receiver-pages.js'
import { type Routes, serve } from './web-server.js'

/** `inbox` has the pages and APIs of both tools. */
export const SANDBOX_PORTS = { smtp: 1025, inbox: 8025, receiver: 8443 }

interface SandboxOptions extends Omit<ReceiverOptions, 'port'> {
  ports: typeof SANDBOX_PORTS
}

/** Starts the outside world of a development machine: an email inbox and an HTTPS receiver, with one server for their pages. */
export async function startSandbox({ ports, host, ...certificate }: SandboxOptions) {
  const receiver = await startReceiver({ port: ports.receiver, host, ...certificate })
  const inbox = await startInbox({ port: ports.smtp, host })
  const routes = [kitRoutes, inboxRoutes(inbox), receiverRoutes(receiver), health]
  const pages = await serve((router) => routes.forEach((add) => add(router)), { port: ports.inbox, host })
  return {
    ...{ name: 'email inbox and webhook receiver', inbox, receiver, url: pages.url },
    stop: () => Promise.all([pages, inbox, receiver].map((server) => server.close())),
  }
}

const health: Routes = (router) =>
  router.get('/healthz', (_, response) => void response.type('text').send('ok\n'))
