import { dateTimeText, durationText } from '@signet/language'
import { field, html, notice, type Html, type Page } from '@signet/pages'
import type { DeletionProof } from '../../account/account-deletion-service.js'
import type { UiTexts } from '../texts.js'
import { accountName, foot, link } from './parts.js'

type Form = { action: string; fields: readonly Html[] }

export type AccountDeleteView = {
  address: string
  notice?: string | undefined
  fault?: string | undefined
  graceSeconds: number
  proof: DeletionProof
  sent: boolean
  form: Form
  sendCode: string
  back: string
}

export const accountDeletePage = (t: UiTexts, view: AccountDeleteView): Page => ({
  title: t('me.delete'),
  body: html`<h1>${t('me.delete')}</h1>
    <p class="soft"><bdi>${view.address}</bdi></p>
    ${notice(view.notice, view.fault)}
    <p>${graceText(t, view.graceSeconds)}</p>
    ${view.sent ? html`<p class="good" role="status">${t('me.delete.code-sent')}</p>` : null}
    ${view.proof === 'nonce' ? codeRequest(t, view) : null}
    <form method="post" action="${view.form.action}">
      ${view.form.fields} ${proofField(t, view)}
      <button class="danger" type="submit">${t('me.delete.button')}</button>
    </form>
    ${foot(link(view.back, t('me.delete.keep')))}`,
})

const graceText = (t: UiTexts, seconds: number): string =>
  seconds === 0 ? t('me.delete.at-once') : t('me.delete.grace', { time: durationText(t.language, seconds) })

const codeRequest = (t: UiTexts, { form, sendCode }: AccountDeleteView): Html =>
  html`<form method="post" action="${sendCode}">
    ${form.fields}
    <button class="plain" type="submit">${t('me.delete.send-code')}</button>
  </form>`

function proofField(t: UiTexts, { address, proof, fault }: AccountDeleteView): Html | null {
  if (proof === 'none') return null
  return proof === 'password'
    ? html`${accountName(address)}
      ${field(t, {
        name: 'password',
        label: t('password.current'),
        type: 'password',
        autocomplete: 'current-password',
        fault,
        first: true,
      })}`
    : field(t, {
        name: 'nonce',
        label: t('password.code'),
        autocomplete: 'one-time-code',
        inputmode: 'numeric',
        fault,
        first: true,
      })
}

export type AccountPendingView = { address: string; dueAt: Date; keep: Form; signOut: Form }

/** Shown to a person who signs in before the account is deleted. */
export const accountPendingPage = (
  t: UiTexts,
  { address, dueAt, keep, signOut }: AccountPendingView,
): Page => ({
  title: t('me.pending'),
  body: html`<h1>${t('me.pending')}</h1>
    <p>${t.html('me.pending.text', { address, time: dateTimeText(t.language, dueAt) })}</p>
    <form method="post" action="${keep.action}">
      ${keep.fields}
      <button type="submit">${t('me.pending.keep')}</button>
    </form>
    <form method="post" action="${signOut.action}">
      ${signOut.fields}
      <button class="plain second" type="submit">${t('sign-out')}</button>
    </form>`,
})

export const accountGonePage = (
  t: UiTexts,
  view: { graceSeconds: number; home: { url: string; name: string } },
): Page => ({
  title: t('me.gone'),
  body: html`<h1>${t('me.gone')}</h1>
    <p>
      ${
        view.graceSeconds === 0
          ? t('me.gone.now')
          : t('me.gone.later', { time: durationText(t.language, view.graceSeconds) })
      }
    </p>
    <a class="button" href="${view.home.url}">${t('account.go-to', { site: view.home.name })}</a>`,
})
