import { facts, html, table, time, type Html, type Page } from '@signet/pages'
import type { Status } from '../../operations/operations.js'
import type { Overview } from '../admin-service.js'
import { SHOWN } from '../shown.js'
import type { Sample } from '../backlog-history.js'
import { adminPage } from './admin-page.js'
import { areaPlot } from './plot.js'
import { duration, link, urlOf } from './show.js'

export function overviewPage({ status, failing, disabled, samples }: Overview, now: Date): Page {
  const body = html`${stateView(status, now)} ${plots(samples)}
    <h2>Failing endpoints</h2>
    <p class="soft">Active ones whose last attempt failed, the longest row of failures first.</p>
    ${table(
      'Failing endpoints',
      ['Endpoint', 'Failures in a row', 'Since', 'Account'],
      failing.map((endpoint) => [
        html`${link('endpoints', endpoint.id)} ${urlOf(endpoint)}`,
        html`${endpoint.consecutiveFailures}`,
        html`${time(endpoint.failingSince)}`,
        link('accounts', endpoint.accountId),
      ]),
    )}
    ${failing.length === SHOWN && html`<p class="soft">The worst ${SHOWN}; there are more.</p>`}
    <h2>Disabled in the last 7 days</h2>
    ${table(
      'Disabled endpoints',
      ['Endpoint', 'Disabled', 'Last failure', 'Account'],
      disabled.map(({ endpointId, accountId, at, lastError }) => [
        link('endpoints', endpointId),
        html`${time(at)}`,
        html`<code>${lastError === '' ? 'unknown' : lastError}</code>`,
        link('accounts', accountId),
      ]),
    )}
    <h2>Most pending deliveries</h2>
    ${table(
      'Endpoints with most pending deliveries',
      ['Endpoint', 'Pending'],
      status.busiest.map(({ endpointId, pending }) => [link('endpoints', endpointId), html`${pending}`]),
    )}
    <h2>What operators did</h2>
    ${table(
      'Actions',
      ['Time', 'Operator', 'Action', 'Reason'],
      status.actions.map(({ at, operator, action, reason }) => [
        html`${time(at)}`,
        html`${operator}`,
        html`${action}`,
        html`${reason}`,
      ]),
    )}`
  return adminPage({ title: 'Deliveries', here: 'overview', body })
}

function stateView(status: Status, now: Date): Html {
  const { switch: decided, backlog, undispatched, disabledEndpoints, queues } = status
  const age = (since: Date | null) =>
    since && html`(oldest ${duration(Math.max(0, (now.getTime() - since.getTime()) / 1000))})`
  return html`${
    decided.paused &&
    html`<p class="notice">
      Paused by ${decided.operator} since ${time(decided.since)}: ${decided.reason}. Nothing new starts until
      <code>ops resume</code>.
    </p>`
  }
  ${facts([
    ['Events to dispatch', html`<strong>${undispatched.events}</strong> ${age(undispatched.oldestAt)}`],
    ['Pending deliveries', html`<strong>${backlog.pending}</strong>`],
    ['Due now', html`<strong>${backlog.due}</strong> ${age(backlog.oldestDueAt)}`],
    ['Disabled endpoints', html`<strong>${disabledEndpoints}</strong>`],
  ])}
  ${
    queues === null
      ? html`<p class="notice">Redis does not respond. What is committed is sent once it is back.</p>`
      : table(
          'Queues',
          ['Queue', 'Waiting', 'In flight', 'Delayed', 'Workers'],
          Object.entries(queues).map(([name, { waiting, active, delayed, workers }]) => [
            html`${name}`,
            html`${waiting}`,
            html`${active}`,
            html`${delayed}`,
            html`${workers}`,
          ]),
        )
  }`
}

function plots(samples: readonly Sample[]): Html {
  const [first] = samples
  if (!first) return html`<p class="soft">The first sample for the plots is on its way.</p>`
  return html`<div class="plots">
      ${areaPlot({ title: 'Waiting', values: samples.map(({ waiting }) => waiting), show: String })}
      ${areaPlot({
        title: 'Age of the oldest',
        values: samples.map(({ oldestSeconds }) => oldestSeconds),
        show: duration,
      })}
      ${areaPlot({
        title: 'Failed attempts a minute',
        values: samples.map(({ failed }) => failed),
        show: String,
      })}
      ${areaPlot({
        title: 'Successful attempts a minute',
        values: samples.map(({ delivered }) => delivered),
        show: String,
      })}
    </div>
    <p class="soft">
      Since ${time(first.at)}, at most 24 hours, from the metrics of this process. Attempts are those of this
      process alone.
    </p>`
}
