import { html, notice, type Html, type Page } from '@signet/pages'
import { codeField, foot, link } from './parts.js'

export type CodeView = {
  kind: 'mail' | 'sms'
  address: string
  notice?: string
  form: { action: string; fields: readonly Html[] }
  signIn: string
}

/** The same whether a message was sent or not: it must not tell who has an account. */
export const codePage = (view: CodeView): Page => ({
  title: view.kind === 'mail' ? 'Check your mail' : 'Enter the code',
  body: html`<h1>${view.kind === 'mail' ? 'Check your mail' : 'Enter the code'}</h1>
    <p>${view.kind === 'mail' ? mailText(view.address) : smsText(view.address)}</p>
    ${notice(view.notice)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields} ${codeField}
      <button type="submit">Continue</button>
    </form>
    ${foot(link(view.signIn, 'Start again'))}`,
})

const mailText = (address: string) =>
  html`If <strong>${address}</strong> can be used here, a mail is on its way to it. Open its link in this
    browser, or enter the code that it shows. Nothing there after a few minutes? Then look among the unwanted
    mails.`

const smsText = (address: string) =>
  html`If <strong>${address}</strong> can be used here, a code is on its way to it.`
