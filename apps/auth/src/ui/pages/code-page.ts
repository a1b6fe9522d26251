import { codeField, type Html, html, notice, type Page, waitingButton } from '@signet/pages'
import { isEmail, type SentMessage } from '../context/sent-message.js'
import { foot, link } from './parts.js'

export type CodeView = {
  sent: SentMessage
  notice: string | undefined
  fault: string | undefined
  /** To be typed on the device that confirms the link. */
  number: string | null
  statusUrl: string
  selfUrl: string
  /** Until the message can be sent again. */
  waitSeconds: number
  form: { action: string; fields: readonly Html[] }
  resend: { action: string; fields: readonly Html[] }
  signIn: string
}

/** The same whether or not a message was sent, so it does not reveal who has an account. */
export function codePage(view: CodeView): Page {
  const byEmail = isEmail(view.sent.kind)
  const title = byEmail ? 'Check your email' : 'Enter the code'
  return {
    title,
    ...(view.number === null ? {} : { polls: true }),
    body: html`<h1>${title}</h1>
      ${view.sent.again ? html`<p class="good" role="status">We have sent it again.</p>` : null}
      <p>${byEmail ? mailText(view.sent.address) : smsText(view.sent.address)}</p>
      ${notice(view.notice, view.fault)}
      <form method="post" action="${view.form.action}">
        ${view.form.fields} ${codeField({ fault: view.fault })}
        <button type="submit">Continue</button>
      </form>
      ${view.number === null ? null : otherDevice(view, view.number)}
      <form method="post" action="${view.resend.action}">
        ${view.resend.fields} ${waitingButton({ label: 'Send it again', waitSeconds: view.waitSeconds })}
      </form>
      ${foot(link(view.signIn, 'Start again'))}`,
  }
}

const otherDevice = ({ statusUrl, selfUrl }: CodeView, number: string): Html =>
  html`<div class="soft aside" data-status="${statusUrl}" data-then="${selfUrl}">
    <p>
      Opened the link on another device? To go on here, type the number <strong>${number}</strong> there. Then
      <a href="${selfUrl}">continue here</a>.
    </p>
  </div>`

const mailText = (address: string) =>
  html`If there is an account for <strong>${address}</strong>, we have sent it an email. Open its link, or
    enter its code here. Nothing after a few minutes? Check your spam folder.`

const smsText = (address: string) =>
  html`If there is an account for <strong>${address}</strong>, we have sent it a code.`
