import { field, type Html, html, notice, type Page } from '@signet/pages'
import { dateTimeText } from '@signet/language'
import type { LinkOrigin } from '../context/own-flow.js'
import type { UiTexts } from '../texts.js'
import { deviceText } from '../context/device-name.js'
import { foot, link } from './parts.js'

type Form = { action: string; fields: readonly Html[] }

export type LinkView = {
  address: string
  /** Set if the number of the other device is missing. */
  notice: string | undefined
  /** Whether the link confirms a new address of the account. */
  confirmsAddress: boolean
  /** The link signs nobody in, and this browser has no session of the account's owner. */
  onlyConfirms: boolean
  setsPassword: boolean
  /** Who is signed in to this browser, if that is another person. */
  signedInAs: string | null
  /** The device that asked for the link, if it is another one. */
  elsewhere: { origin: LinkOrigin; now: number; sameNetwork: boolean; confirm: Form | null } | null
  proceed: Form
  signIn: string
}

/** Asks before a link is used, so that programs that only open links do not use them up. */
export const linkPage = (t: UiTexts, view: LinkView): Page => ({
  title: t('link.title'),
  body: html`<h1>
      ${t.html(view.confirmsAddress ? 'me.email.confirm' : 'link.heading', { address: view.address })}
    </h1>
    ${notice(view.notice, view.notice && 'number')}
    ${
      view.signedInAs === null
        ? null
        : html`<p>${t.html('link.switches', { current: view.signedInAs, address: view.address })}</p>`
    }
    ${view.elsewhere === null ? null : originOf(t, view.elsewhere)}
    ${view.onlyConfirms ? html`<p>${t('me.email.only-confirms')}</p>` : null}
    <form method="post" action="${view.proceed.action}">
      ${view.proceed.fields}
      <button type="submit">${labelOf(t, view)}</button>
    </form>
    ${view.elsewhere?.confirm ? confirmForm(t, view.elsewhere.confirm, view.notice) : null}
    ${foot(link(view.signIn, t('link.not-me')))}`,
})

const labelOf = (t: UiTexts, { confirmsAddress, setsPassword, elsewhere }: LinkView): string => {
  if (confirmsAddress) return t('me.confirm')
  if (elsewhere === null) return t(setsPassword ? 'link.password' : 'continue')
  return t(setsPassword ? 'link.password-here' : 'link.sign-in-here')
}

const originOf = (t: UiTexts, { origin, now, sameNetwork }: NonNullable<LinkView['elsewhere']>): Html =>
  html`<p>${t('link.elsewhere')}</p>
    <ul class="facts">
      <li><strong>${deviceText(t, origin.device)}</strong></li>
      <li>
        <strong>${origin.ip}</strong>
        <span>${t(sameNetwork ? 'link.network.same' : 'link.network.other')}</span>
      </li>
      <li>
        <strong>${t('link.ago', { minutes: Math.max(0, Math.floor((now - origin.at) / 60_000)) })}</strong>
        <span>${dateTimeText(t.language, new Date(origin.at))}</span>
      </li>
    </ul>`

const confirmForm = (t: UiTexts, { action, fields }: Form, missing: string | undefined): Html =>
  html`<p class="or">${t('or')}</p>
    <form method="post" action="${action}">
      ${fields}
      <p class="soft">${t.html('link.other-device')}</p>
      ${field(t, {
        name: 'number',
        label: t('link.number'),
        autocomplete: 'off',
        inputmode: 'numeric',
        fault: missing && 'number',
      })}
      <button class="plain" type="submit">${t('link.other-device.button')}</button>
    </form>`

export const deadLinkPage = (t: UiTexts, view: { notice: string; signIn: string }): Page => ({
  title: t('link.dead.title'),
  body: html`<h1>${t('link.dead.title')}</h1>
    ${notice(view.notice)}
    <p>${t('link.dead.text')}</p>
    <a class="button" href="${view.signIn}">${t('sign-in')}</a>`,
})

export const confirmedPage = (t: UiTexts, text = t('link.confirmed.text')): Page => ({
  title: t('link.confirmed.title'),
  body: html`<h1>${t('link.confirmed.title')}</h1>
    <p>${text}</p>`,
})
