export { logoAttachments, type Attachment } from './brand.js'
export { htmlLayout, textLayout, type MailContent } from './layout.js'
export {
  connectionOptions,
  MailRefusedError,
  MailUnansweredError,
  openSmtpTransport,
  type OutgoingMail,
  type SmtpConfig,
  type SmtpTransport,
} from './smtp.js'
export {
  parseTemplate,
  renderHtml,
  renderSubject,
  renderText,
  type Template,
  type TemplateValues,
} from './template.js'
