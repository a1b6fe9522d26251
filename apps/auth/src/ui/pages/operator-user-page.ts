import { facts, html, notice, table, time, type Html, type Page } from '@signet/pages'
import { withoutInvisible } from '@signet/pages/visible'
import type { PersonDetail } from '../../operator/operator-service.js'
import { isBanned } from '../../users/user.js'
import { deviceOf } from '../../requests/device.js'
import { deviceText } from '../context/device-name.js'
import { uiTextsIn } from '../texts.js'
import { auditTable } from './operator-audit-page.js'
import { nameOf, operatorPage, stateOf, type OperatorLinks } from './operator-search-page.js'

/** By the notation of the admin API. */
export const BAN_DURATIONS = {
  '1h': 'an hour',
  '24h': 'a day',
  '168h': 'a week',
  '720h': '30 days',
  '876000h': 'good',
} as const

const DONE = {
  banned: 'The account is blocked, and signed out everywhere.',
  unbanned: 'The account is no longer blocked.',
  'signed-out': 'All sessions have ended.',
  sent: 'The email is on its way.',
  'factor-removed': 'The second factor was removed.',
} as const
export type Done = keyof typeof DONE
export const isDone = (text: string): text is Done => Object.hasOwn(DONE, text)

type UserView = OperatorLinks &
  PersonDetail & {
    form: { action: string; fields: (more: Readonly<Record<string, string>>) => readonly Html[] }
    now: Date
    done?: Done
    notice?: string
  }

export function operatorUserPage(view: UserView): Page {
  const { user, now, done } = view
  const body = html`${notice(view.notice)}
  ${done !== undefined && html`<p class="good" role="status">${DONE[done]}</p>`}
  ${facts([
    ['', html`<strong>${stateOf(user, now)}</strong>`],
    ['Id', html`<code>${user.id}</code>`],
    ['Role', html`<code>${user.role}</code>`],
    ['Phone', user.phone === null ? null : `+${user.phone}`],
    ['Email confirmed', time(user.emailConfirmedAt)],
    ['Phone confirmed', time(user.phoneConfirmedAt)],
    ['Blocked until', isBanned(user, now) ? time(user.bannedUntil) : null],
    ['Created', time(user.createdAt)],
    ['Last sign-in', time(user.lastSignInAt)],
    ['Will be deleted', time(user.deletionDueAt)],
    ['Deleted', time(user.deletedAt)],
    ['Recovery codes left', user.factors.length === 0 ? null : String(view.recoveryCodesLeft)],
  ])}
  ${user.deletedAt === null && actions(view)} ${factors(view)} ${tables(view)}`
  return operatorPage(view, { title: nameOf(user), query: user.email ?? user.id, body })
}

const button = (
  { form }: UserView,
  fields: Readonly<Record<string, string>>,
  label: string,
  className = 'plain',
): Html =>
  html`<form method="post" action="${form.action}">
    ${form.fields(fields)}
    <button class="${className}" type="submit">${label}</button>
  </form>`

function actions(view: UserView): Html {
  const { user, form, now } = view
  return html`<h2>Help</h2>
    <div class="actions">
      ${user.email !== null && button(view, { action: 'recovery' }, 'Email a link for a new password')}
      ${
        user.email !== null &&
        user.emailConfirmedAt === null &&
        button(view, { action: 'confirmation' }, 'Email the confirmation again')
      }
      ${button(view, { action: 'sign-out' }, 'Sign out everywhere')}
    </div>
    <h2>${isBanned(user, now) ? 'Blocked' : 'Block'}</h2>
    ${
      isBanned(user, now)
        ? html`<div class="actions">${button(view, { action: 'unban' }, 'Lift the block')}</div>`
        : html`<form method="post" action="${form.action}" class="filters">
            ${form.fields({ action: 'ban' })}
            <div>
              <label for="duration">For how long</label>
              <select id="duration" name="duration">
                ${Object.entries(BAN_DURATIONS).map(
                  ([value, label]) => html`<option value="${value}">For ${label}</option>`,
                )}
              </select>
            </div>
            <div><button class="danger" type="submit">Block and sign out</button></div>
          </form>`
    }`
}

const factors = (view: UserView): Html =>
  html`<h2>Second factors</h2>
    ${table(
      'Second factors',
      ['Name', 'Kind', 'Status', 'Since', 'Action'],
      view.user.factors.map((factor) => [
        html`${factor.friendlyName === '' ? 'Unnamed' : factor.friendlyName}`,
        html`${factor.factorType}`,
        html`${factor.status}`,
        html`${time(factor.createdAt)}`,
        button(view, { action: 'factor', factor_id: factor.id }, 'Remove', 'danger narrow'),
      ]),
    )}`

const tables = ({ user, sessions, entries, passkeys }: UserView): Html =>
  html`<h2>Ways to sign in</h2>
    ${table(
      'Identities',
      ['Provider', 'Address there', 'Last used'],
      user.identities.map(({ provider, email, lastSignInAt }) => [
        html`${provider}`,
        html`${email}`,
        html`${time(lastSignInAt)}`,
      ]),
    )}
    <h2>Passkeys</h2>
    ${table(
      'Passkeys',
      ['Name', 'Added', 'Last used'],
      passkeys.map(({ friendlyName, createdAt, lastUsedAt }) => [
        html`${withoutInvisible(friendlyName)}`,
        html`${time(createdAt)}`,
        html`${time(lastUsedAt)}`,
      ]),
    )}
    <h2>Sessions</h2>
    ${table(
      'Sessions',
      ['Device', 'Address', 'Level', 'Opened', 'Last used', 'Ended'],
      sessions.map((session) => [
        html`${deviceText(uiTextsIn('en'), deviceOf(session.userAgent))}`,
        html`${session.ip}`,
        html`${session.aal}`,
        html`${time(session.createdAt)}`,
        html`${time(session.refreshedAt)}`,
        session.revokedAt === null ? html`` : html`${session.revokedReason} ${time(session.revokedAt)}`,
      ]),
    )}
    <h2>Audit log</h2>
    ${auditTable(entries)}`
