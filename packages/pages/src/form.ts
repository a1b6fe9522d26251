import { html, type Html } from './html.js'

/** A message above a form. Screen readers announce it at once. */
export const notice = (text: string | undefined): Html | null =>
  text === undefined ? null : html`<p class="notice" role="alert">${text}</p>`

export const hidden = (fields: Readonly<Record<string, string>>): Html[] =>
  Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `,
  )
