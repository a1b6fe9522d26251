import { html, type Page } from '@signet/pages'

export type CallbackView = { action: string; txn: string; csrf: string }

/**
 * Landing page of sign-ins by email or an external provider. The identity server puts its answer in the fragment, which only
 * a script can read; it leaves the address bar before anything else happens.
 */
export const callbackPage = ({ action, txn, csrf }: CallbackView): Page => ({
  title: 'Signing in',
  script: SCRIPT,
  body: html`<h1>Signing in …</h1>
    <p id="message" class="soft" role="status" data-action="${action}" data-txn="${txn}" data-csrf="${csrf}">
      One moment, please.
    </p>
    <noscript><p class="notice">This step needs JavaScript.</p></noscript>`,
})

const SCRIPT = `
const message = document.getElementById('message')
const answer = new URLSearchParams(location.hash.slice(1))
history.replaceState(null, '', location.pathname + location.search)
const fail = () => {
  document.querySelector('h1').textContent = 'Something went wrong'
  message.textContent = 'The link is no longer valid, or the sign-in was cancelled. Start again from the application.'
}
const { action, txn, csrf } = message.dataset
const token = answer.get('access_token')
if (!token) fail()
else fetch(action, {
  method: 'POST',
  headers: { accept: 'application/json' },
  body: new URLSearchParams({ txn, csrf, access_token: token }),
}).then(async (response) => {
  if (!response.ok) return fail()
  location.replace((await response.json()).location)
}, fail)
`
