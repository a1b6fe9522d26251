import { startInbox as startColdInbox, type Inbox } from '@signet/testkit/inbox'
import { openSmtpTransport } from '@signet/mail'

let warm: Promise<void> | undefined

/**
 * Starts an inbox once this process has received a first email. That email loads the code that reads emails. On a busy machine, this takes
 * longer than a sender waits, and the sender would send the email again.
 */
export async function startInbox(options?: Parameters<typeof startColdInbox>[0]): Promise<Inbox> {
  await (warm ??= takeOne())
  return startColdInbox(options)
}

async function takeOne(): Promise<void> {
  const inbox = await startColdInbox()
  const adminEmail = 'no-reply@example.com'
  const sender = openSmtpTransport(
    { host: '127.0.0.1', port: inbox.smtpPort, adminEmail },
    { connections: 1 },
  )
  const to = 'first@example.com'
  // The sender may give up; what matters is that the inbox has read the email.
  const sent = sender.send(
    {
      to,
      id: 'first',
      subject: 'First',
      html: '<a href="https://example.com">first</a>',
    },
    new AbortController().signal,
  )
  await Promise.all([inbox.waitForMail({ to }), sent.catch(() => undefined)])
  sender.close()
  await inbox.close()
}
