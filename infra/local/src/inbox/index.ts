export { type Inbox, type InboxOptions, type MailFilter, type SmtpFault, startInbox } from './inbox.js'
export type { Mail } from './mail.js'
