import { NOTICE_ID } from './fields.js'
import { html, type Html } from './html.js'

/** A message above a form. Screen readers announce it at once, and it gets the focus, unless it is about a field, which gets it instead. */
export const notice = (text: string | Html | undefined, fault?: string): Html | null =>
  text === undefined
    ? null
    : html`<p
        class="notice"
        id="${NOTICE_ID}"
        role="alert"
        tabindex="-1"
        ${fault === undefined ? 'autofocus' : null}
      >
        ${text}
      </p>`

export const hidden = (fields: Readonly<Record<string, string>>): Html[] =>
  Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `,
  )
