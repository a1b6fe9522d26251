import { startInbox as startColdInbox, type Inbox } from '@signet/testkit/inbox'
import { openSmtpTransport } from '@signet/mail'

let warm: Promise<void> | undefined

/**
 * An inbox that has already taken an email in this process: the first one loads what reads emails, on a busy machine for longer than
 * a sender waits, which then sends that email again.
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
  // It may give up; what matters is that the inbox has read the email.
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
