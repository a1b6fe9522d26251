import { html } from '@signet/pages'
import type { Routes } from '../web-server.js'
import { servePage } from './local-page.js'

/** Browsers keep what is behind the # to themselves, so only a script can read it. */
const SCRIPT = `{
  const result = new URLSearchParams(location.hash.slice(1))
  const [title, text] = ['title', 'text'].map((id) => document.getElementById(id))
  const said = result.get('error_description') ?? result.get('message')
  if (said) {
    title.textContent = result.has('error_description') ? title.dataset.failed : title.dataset.more
    text.textContent = said
  }
}`

/** Where links in emails of the local stack finally lead: it stands for the product's own site. */
export const welcomePage: Routes = (router) => {
  servePage(router, '/welcome', (t, request) => {
    const { error_description: failure, message } = request.query
    const [failed, more] = [t('welcome.failed'), t('welcome.more')]
    const title =
      typeof failure === 'string' ? failed : typeof message === 'string' ? more : t('welcome.title')
    const text = [failure, message].find((said) => typeof said === 'string') ?? t('welcome.text')
    const body = html`<h1 id="title" data-failed="${failed}" data-more="${more}">${title}</h1>
      <p id="text">${String(text)}</p>
      <p class="links"><a href="/">${t('inbox')}</a></p>`
    return { title, body, script: SCRIPT }
  })
}
