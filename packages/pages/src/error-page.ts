import { html } from './html.js'
import { type Page } from './page.js'

/** A page that says what went wrong and what to do; it leads nowhere. */
export const errorPage = ({ title, message }: { title: string; message: string }): Page => ({
  title,
  body: html`<h1>${title}</h1>
    <p>${message}</p>
    <p class="soft">You can close this page and start again from the application.</p>`,
})
