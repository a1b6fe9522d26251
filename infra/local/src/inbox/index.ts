export { type Inbox, type MailFilter, type SmtpFault, startInbox } from './inbox.js'
export type { Mail } from './mail.js'
