import { durationText } from '@signet/language'
import { codeField, type Html, html, notice, type Page, waitingButton } from '@signet/pages'
import { isEmail, type SentMessage } from '../context/sent-message.js'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

export type CodeView = {
  sent: SentMessage
  notice: string | undefined
  fault: string | undefined
  /** The number to type on the device that confirms the link. */
  number: string | null
  statusUrl: string
  selfUrl: string
  /** How long until the message can be sent again. */
  waitSeconds: number
  form: { action: string; fields: readonly Html[] }
  resend: { action: string; fields: readonly Html[] }
  signIn: string
}

/** Longer than people wait while they look at a page. */
const LONG_WAIT_SECONDS = 60

/** The page is the same whether or not a message was sent, so it does not reveal who has an account. */
export function codePage(t: UiTexts, view: CodeView): Page {
  const byEmail = isEmail(view.sent.kind)
  const title = t(byEmail ? 'code.title.email' : 'code.title.sms')
  return {
    title,
    ...(view.number === null ? {} : { polls: true }),
    body: html`<h1>${title}</h1>
      ${view.sent.again ? html`<p class="good" role="status">${t('code.again.done')}</p>` : null}
      <p>${t.html(byEmail ? 'code.by-email' : 'code.by-sms', { address: view.sent.address })}</p>
      ${notice(view.notice, view.fault)}
      <form method="post" action="${view.form.action}">
        ${view.form.fields} ${codeField(t, { fault: view.fault })}
        <button type="submit">${t('continue')}</button>
      </form>
      ${view.number === null ? null : otherDevice(t, view, view.number)}
      <form method="post" action="${view.resend.action}">
        ${view.resend.fields}
        ${
          view.waitSeconds <= LONG_WAIT_SECONDS
            ? null
            : html`<p class="soft">
                ${t('code.waits', { time: durationText(t.language, view.waitSeconds) })}
              </p>`
        }
        ${waitingButton(t, { label: t('code.again'), waitSeconds: view.waitSeconds })}
      </form>
      ${foot(link(view.signIn, t(view.waitSeconds > LONG_WAIT_SECONDS ? 'code.other-ways' : 'code.start-again')))}`,
  }
}

const otherDevice = (t: UiTexts, { statusUrl, selfUrl }: CodeView, number: string): Html =>
  html`<div class="soft aside" data-status="${statusUrl}" data-then="${selfUrl}">
    <p>${t.html('code.other-device', { number, a: (text) => html`<a href="${selfUrl}">${text}</a>` })}</p>
  </div>`
