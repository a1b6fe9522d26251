import { html } from './html.js'
import type { Page } from './page.js'

/** A page that explains what went wrong and what to do. It has no links. */
export const errorPage = ({ title, message }: { title: string; message: string }): Page => ({
  title,
  body: html`<h1>${title}</h1>
    <p>${message}</p>
    <p class="soft">You can close this page and start again from the application.</p>`,
})
