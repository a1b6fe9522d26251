import { html, notice, type Html, type Page } from '@signet/pages'
import { codeField, foot, link } from './parts.js'

export type CodeView = {
  kind: 'mail' | 'sms'
  address: string
  notice?: string
  form: { action: string; fields: readonly Html[] }
  signIn: string
}

/** The same whether or not a message was sent, so it does not reveal who has an account. */
export const codePage = (view: CodeView): Page => ({
  title: view.kind === 'mail' ? 'Check your email' : 'Enter the code',
  body: html`<h1>${view.kind === 'mail' ? 'Check your email' : 'Enter the code'}</h1>
    <p>${view.kind === 'mail' ? mailText(view.address) : smsText(view.address)}</p>
    ${notice(view.notice)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields} ${codeField}
      <button type="submit">Continue</button>
    </form>
    ${foot(link(view.signIn, 'Start again'))}`,
})

const mailText = (address: string) =>
  html`If there is an account for <strong>${address}</strong>, we have sent it an email. Open the link in this
    browser, or enter the code from the email. Nothing after a few minutes? Check your spam folder.`

const smsText = (address: string) =>
  html`If there is an account for <strong>${address}</strong>, we have sent it a code.`
