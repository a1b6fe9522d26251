import { facts, html, table, time, type Html, type Page } from '@signet/pages'
import type { Status } from '../../operations/operations.js'
import type { Overview } from '../admin-service.js'
import { SHOWN } from '../shown.js'
import type { Sample } from '../backlog-history.js'
import { adminPage } from './admin-page.js'
import { areaPlot } from './plot.js'
import { duration, link, urlOf } from './show.js'
import type { AdminTexts } from './texts.js'

export function overviewPage(t: AdminTexts, overview: Overview, now: Date): Page {
  const { status, samples } = overview
  const body = html`${stateView(t, status, now)} ${plots(t, samples)} ${failingView(t, overview)}
    ${disabledView(t, overview)}
    <h2>${t('overview.busiest')}</h2>
    ${table(
      t('overview.busiest.label'),
      [t('column.endpoint'), t('column.pending')],
      status.busiest.map(({ endpointId, pending }) => [link('endpoints', endpointId), html`${pending}`]),
      t,
    )}
    ${actionsView(t, status)}`
  return adminPage(t, { title: t('deliveries'), here: 'overview', body })
}

const failingView = (t: AdminTexts, { failing }: Overview): Html =>
  html`<h2>${t('overview.failing')}</h2>
    <p class="soft">${t('overview.failing.text')}</p>
    ${table(
      t('overview.failing'),
      [t('column.endpoint'), t('column.failures'), t('column.since'), t('column.account')],
      failing.map((endpoint) => [
        html`${link('endpoints', endpoint.id)} ${urlOf(endpoint)}`,
        html`${endpoint.consecutiveFailures}`,
        html`${time(endpoint.failingSince, t.language)}`,
        link('accounts', endpoint.accountId),
      ]),
      t,
    )}
    ${failing.length === SHOWN && html`<p class="soft">${t('overview.failing.more', { count: SHOWN })}</p>`}`

const disabledView = (t: AdminTexts, { disabled }: Overview): Html =>
  html`<h2>${t('overview.disabled')}</h2>
    ${table(
      t('overview.disabled-endpoints'),
      [t('column.endpoint'), t('column.disabled'), t('column.last-failure'), t('column.account')],
      disabled.map(({ endpointId, accountId, at, lastError }) => [
        link('endpoints', endpointId),
        html`${time(at, t.language)}`,
        html`<code>${lastError === '' ? t('overview.unknown') : lastError}</code>`,
        link('accounts', accountId),
      ]),
      t,
    )}`

const actionsView = (t: AdminTexts, { actions }: Status): Html =>
  html`<h2>${t('overview.actions')}</h2>
    ${table(
      t('overview.actions.label'),
      [t('column.time'), t('column.operator'), t('column.action'), t('column.reason')],
      actions.map(({ at, operator, action, reason }) => [
        html`${time(at, t.language)}`,
        html`${operator}`,
        html`${action}`,
        html`${reason}`,
      ]),
      t,
    )}`

function stateView(t: AdminTexts, status: Status, now: Date): Html {
  const { switch: decided, backlog, undispatched, disabledEndpoints } = status
  const age = (since: Date | null) =>
    since && t('overview.age', { age: duration(Math.max(0, (now.getTime() - since.getTime()) / 1000)) })
  return html`${
    decided.paused &&
    html`<p class="notice">
      ${t.html('overview.paused', {
        operator: decided.operator,
        time: time(decided.since, t.language) ?? '',
        reason: decided.reason,
      })}
    </p>`
  }
  ${facts([
    [t('overview.to-dispatch'), html`<strong>${undispatched.events}</strong> ${age(undispatched.oldestAt)}`],
    [t('overview.pending'), html`<strong>${backlog.pending}</strong>`],
    [t('overview.due'), html`<strong>${backlog.due}</strong> ${age(backlog.oldestDueAt)}`],
    [t('overview.disabled-endpoints'), html`<strong>${disabledEndpoints}</strong>`],
  ])}
  ${queuesView(t, status)}`
}

const queuesView = (t: AdminTexts, { queues }: Status): Html =>
  queues === null
    ? html`<p class="notice">${t('overview.no-redis')}</p>`
    : table(
        t('overview.queues'),
        [
          t('column.queue'),
          t('column.waiting'),
          t('column.in-flight'),
          t('column.delayed'),
          t('column.workers'),
        ],
        Object.entries(queues).map(([name, { waiting, active, delayed, workers }]) => [
          html`${name}`,
          html`${waiting}`,
          html`${active}`,
          html`${delayed}`,
          html`${workers}`,
        ]),
        t,
      )

function plots(t: AdminTexts, samples: readonly Sample[]): Html {
  const [first] = samples
  if (!first) return html`<p class="soft">${t('overview.first-sample')}</p>`
  const plot = (title: string, value: (sample: Sample) => number, show: (value: number) => string = String) =>
    areaPlot(t, { title, values: samples.map(value), show })
  return html`<div class="plots">
      ${plot(t('plot.waiting'), ({ waiting }) => waiting)}
      ${plot(t('plot.age'), ({ oldestSeconds }) => oldestSeconds, duration)}
      ${plot(t('plot.failed'), ({ failed }) => failed)}
      ${plot(t('plot.delivered'), ({ delivered }) => delivered)}
    </div>
    <p class="soft">${t.html('overview.samples', { time: time(first.at, t.language) })}</p>`
}
