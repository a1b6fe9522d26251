import { field, type Html, html, notice, type Page } from '@signet/pages'
import type { LinkOrigin } from '../context/own-flow.js'
import { foot, link } from './parts.js'

type Form = { action: string; fields: readonly Html[] }

export type LinkView = {
  address: string
  /** What the link is for. */
  setsPassword: boolean
  /** Who is signed in in this browser, if it is somebody else. */
  signedInAs: string | null
  /** The device that asked, if it is another one. */
  elsewhere: { origin: LinkOrigin; now: number; sameNetwork: boolean; confirm: Form | null } | null
  proceed: Form
  signIn: string
}

/** Asks before a link is used: programs that only look at links use nothing up. */
export const linkPage = (view: LinkView): Page => ({
  title: 'Continue',
  body: html`<h1>Continue as <bdi>${view.address}</bdi>?</h1>
    ${
      view.signedInAs === null
        ? null
        : html`<p>
            You are signed in here as <strong>${view.signedInAs}</strong>. If you continue, you will be signed
            in as <strong>${view.address}</strong> instead.
          </p>`
    }
    ${view.elsewhere === null ? null : originOf(view.elsewhere)}
    <form method="post" action="${view.proceed.action}">
      ${view.proceed.fields}
      <button type="submit">${labelOf(view)}</button>
    </form>
    ${view.elsewhere?.confirm ? confirmForm(view.elsewhere.confirm) : null}
    ${foot(link(view.signIn, 'This is not me'))}`,
})

const labelOf = ({ setsPassword, elsewhere }: LinkView): string => {
  if (elsewhere === null) return setsPassword ? 'Choose a new password' : 'Continue'
  return setsPassword ? 'Choose a new password here' : 'Sign in here'
}

const originOf = ({ origin, now, sameNetwork }: NonNullable<LinkView['elsewhere']>): Html =>
  html`<p>This link was asked for in another browser:</p>
    <ul class="facts">
      <li><strong>${origin.device}</strong></li>
      <li>
        <strong>${origin.ip}</strong>
        <span>${sameNetwork ? 'The network of this device' : 'Not the network of this device'}</span>
      </li>
      <li>
        <strong>${ago(now - origin.at)}</strong>
        <span>${new Date(origin.at).toISOString().slice(0, 16).replace('T', ' ')} UTC</span>
      </li>
    </ul>`

const confirmForm = ({ action, fields }: Form): Html =>
  html`<p class="or">or</p>
    <form method="post" action="${action}">
      ${fields}
      <p class="soft">
        <strong>Go on on the other device</strong>, only if it is yours and in front of you. Whoever uses it
        gets into your account. Type the number that it shows; there is one attempt.
      </p>
      ${field({ name: 'number', label: 'Number on the other device', autocomplete: 'off', inputmode: 'numeric' })}
      <button class="plain" type="submit">Let the other device continue</button>
    </form>`

function ago(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes === 0) return 'Less than a minute ago'
  return minutes === 1 ? 'One minute ago' : `${minutes} minutes ago`
}

export const deadLinkPage = (view: { notice: string; signIn: string }): Page => ({
  title: 'This link does not work',
  body: html`<h1>This link does not work</h1>
    ${notice(view.notice)}
    <p>
      A link works once, and not for long. The code of the same email may still work where you asked for it.
    </p>
    <a class="button" href="${view.signIn}">Sign in</a>`,
})

export const confirmedPage = (): Page => ({
  title: 'Confirmed',
  body: html`<h1>Confirmed</h1>
    <p>Your other device can continue now. You can close this page.</p>`,
})
