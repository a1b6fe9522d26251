import { facts, html, notice, table, time, type Html, type Page } from '@signet/pages'
import { withoutInvisible } from '@signet/pages/visible'
import type { PersonDetail } from '../../operator/operator-service.js'
import { isBanned, type Factor } from '../../users/user.js'
import { deviceOf } from '../../requests/device.js'
import { deviceText } from '../context/device-name.js'
import type { UiTexts } from '../texts.js'
import { named } from './account-parts.js'
import { auditTable } from './operator-audit-page.js'
import { nameOf, operatorPage, stateOf, type OperatorLinks } from './operator-search-page.js'

/** In the format of the admin API. */
const BAN_DURATIONS = ['1h', '24h', '168h', '720h', '876000h'] as const
export const isBanDuration = (text: string): boolean => BAN_DURATIONS.some((known) => known === text)

const DONE = ['banned', 'unbanned', 'signed-out', 'sent', 'factor-removed'] as const
export type Done = (typeof DONE)[number]
export const doneOf = (text: string): Done | undefined => DONE.find((known) => known === text)

type UserView = OperatorLinks &
  PersonDetail & {
    form: { action: string; fields: (more: Readonly<Record<string, string>>) => readonly Html[] }
    now: Date
    done?: Done | undefined
    notice?: string
  }

export function operatorUserPage(t: UiTexts, view: UserView): Page {
  const { user, now, done } = view
  const at = (when: Date | null) => time(when, t.language)
  const body = html`${notice(view.notice)}
  ${done !== undefined && html`<p class="good" role="status">${t(`op.done.${done}`)}</p>`}
  ${facts([
    ['', html`<strong>${stateOf(t, user, now)}</strong>`],
    [t('op.user-id'), html`<code>${user.id}</code>`],
    [t('op.role'), html`<code>${user.role}</code>`],
    [t('op.phone'), user.phone === null ? null : `+${user.phone}`],
    [t('op.email-confirmed'), at(user.emailConfirmedAt)],
    [t('op.phone-confirmed'), at(user.phoneConfirmedAt)],
    [t('op.banned-until'), isBanned(user, now) ? at(user.bannedUntil) : null],
    [t('op.created'), at(user.createdAt)],
    [t('op.last-sign-in'), at(user.lastSignInAt)],
    [t('op.deletion-due'), at(user.deletionDueAt)],
    [t('op.deleted'), at(user.deletedAt)],
    [t('op.codes-left'), user.factors.length === 0 ? null : String(view.recoveryCodesLeft)],
  ])}
  ${user.deletedAt === null && actions(t, view)} ${factors(t, view)} ${tables(t, view)}`
  return operatorPage(t, view, { title: nameOf(t, user), query: user.email ?? user.id, body })
}

const button = (
  { form }: UserView,
  fields: Readonly<Record<string, string>>,
  label: string,
  className = 'plain',
  entry?: string,
): Html =>
  html`<form method="post" action="${form.action}">
    ${form.fields(fields)}
    <button class="${className}" type="submit" ${named(label, entry)}>${label}</button>
  </form>`

function actions(t: UiTexts, view: UserView): Html {
  const { user, form, now } = view
  return html`<h2>${t('op.help')}</h2>
    <div class="actions">
      ${user.email !== null && button(view, { action: 'recovery' }, t('op.help.recovery'))}
      ${
        user.email !== null &&
        user.emailConfirmedAt === null &&
        button(view, { action: 'confirmation' }, t('op.help.confirmation'))
      }
      ${button(view, { action: 'sign-out' }, t('op.help.sign-out'))}
    </div>
    <h2>${t(isBanned(user, now) ? 'op.banned' : 'op.ban')}</h2>
    ${
      isBanned(user, now)
        ? html`<div class="actions">${button(view, { action: 'unban' }, t('op.ban.lift'))}</div>`
        : html`<form method="post" action="${form.action}" class="filters">
            ${form.fields({ action: 'ban' })}
            <div>
              <label for="duration">${t('op.ban.for')}</label>
              <select id="duration" name="duration">
                ${BAN_DURATIONS.map(
                  (value) => html`<option value="${value}">${t(`op.ban.for.${value}`)}</option>`,
                )}
              </select>
            </div>
            <div><button class="danger" type="submit">${t('op.ban.button')}</button></div>
          </form>`
    }`
}

const factorName = (t: UiTexts, { friendlyName }: Factor): string =>
  friendlyName === '' ? t('op.unnamed') : friendlyName

const factors = (t: UiTexts, view: UserView): Html =>
  html`<h2>${t('op.factors')}</h2>
    ${table(
      t('op.factors'),
      [t('op.name'), t('op.kind'), t('op.status'), t('op.since'), t('op.action')],
      view.user.factors.map((factor) => [
        html`${factorName(t, factor)}`,
        html`${factor.factorType}`,
        html`${factor.status}`,
        html`${time(factor.createdAt, t.language)}`,
        button(
          view,
          { action: 'factor', factor_id: factor.id },
          t('op.remove'),
          'danger narrow',
          factorName(t, factor),
        ),
      ]),
      t,
    )}`

function tables(t: UiTexts, { user, sessions, entries, passkeys }: UserView): Html {
  const more = sessions.total - sessions.rows.length
  return html`<h2>${t('op.identities')}</h2>
    ${table(
      t('op.identities'),
      [t('op.provider'), t('op.provider-address'), t('op.last-used')],
      user.identities.map(({ provider, email, lastSignInAt }) => [
        html`${provider}`,
        html`${email}`,
        html`${time(lastSignInAt, t.language)}`,
      ]),
      t,
    )}
    <h2>${t('op.passkeys')}</h2>
    ${table(
      t('op.passkeys'),
      [t('op.name'), t('op.added'), t('op.last-used')],
      passkeys.map(({ friendlyName, createdAt, lastUsedAt }) => [
        html`${withoutInvisible(friendlyName)}`,
        html`${time(createdAt, t.language)}`,
        html`${time(lastUsedAt, t.language)}`,
      ]),
      t,
    )}
    <h2>${t('op.sessions')}</h2>
    ${table(
      t('op.sessions'),
      [t('op.device'), t('op.address'), t('op.level'), t('op.opened'), t('op.last-used'), t('op.ended')],
      sessions.rows.map((session) => [
        html`${deviceText(t, deviceOf(session.userAgent))}`,
        html`${session.ip}`,
        html`${session.aal}`,
        html`${time(session.createdAt, t.language)}`,
        html`${time(session.refreshedAt, t.language)}`,
        session.revokedAt === null
          ? html``
          : html`${session.revokedReason} ${time(session.revokedAt, t.language)}`,
      ]),
      t,
    )}
    ${more > 0 && html`<p class="soft">${t('op.sessions.more', { number: String(more) })}</p>`}
    <h2>${t('op.audit')}</h2>
    ${auditTable(t, entries)}`
}
