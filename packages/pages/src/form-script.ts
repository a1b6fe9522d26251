import { pageScript } from './page-script.js'

/** In milliseconds, longer than any response takes. After this time, a form without a response can be submitted again. */
const RESUBMIT_AFTER_MS = 10_000
const POLL_EVERY_MS = 3000
/** For as long as links are valid by default. */
const POLL_FOR_MS = 3_600_000

/**
 * What pages with forms do in a browser with scripts:
 *
 * - A form is sent once. A password renews the session, and codes and decisions work only once: a second click would
 *   discard the first response and show an error instead. The button shows that it is busy. It is not disabled, because a
 *   disabled button does not submit its name and value.
 * - A refused form is not sent again by a reload, or on the way back from what came after it.
 * - A password can be shown.
 * - A button that must wait counts down.
 * - A page that waits for another device polls the service and continues.
 * - A page about work in progress keeps its part `data-live` up to date, and is reloaded when the work is done.
 */
const SCRIPT = `{
  const all = (selector) => document.querySelectorAll(selector)
  let sentAt = -Infinity
  const rest = () => {
    sentAt = -Infinity
    for (const busy of all('[aria-busy]')) busy.removeAttribute('aria-busy')
  }
  addEventListener('submit', (event) => {
    if (event.timeStamp - sentAt < ${RESUBMIT_AFTER_MS}) return event.preventDefault()
    sentAt = event.timeStamp
    event.submitter?.setAttribute('aria-busy', 'true')
    setTimeout(rest, ${RESUBMIT_AFTER_MS})
  })
  // The browser may restore the page from its back/forward cache.
  addEventListener('pageshow', rest)

  // It is shown in the response to a POST, so its URL would be that of the page with the form.
  const [{ responseStatus } = {}] = performance.getEntriesByType('navigation')
  if (responseStatus >= 400 && all('form').length > 0 && document.referrer.startsWith(location.origin + '/'))
    history.replaceState(null, '', document.referrer)

  const passwords = all('input[data-show]')
  for (const input of passwords) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'link show'
    const label = (shown) => {
      input.type = shown ? 'text' : 'password'
      button.textContent = shown ? input.dataset.hide : input.dataset.show
      // To a person who hears them, two with the same name are one.
      if (passwords.length > 1) button.ariaLabel = button.textContent + ': ' + input.labels[0].textContent
    }
    label(false)
    button.addEventListener('click', () => label(input.type === 'password'))
    input.form?.addEventListener('submit', () => label(false))
    input.after(button)
  }

  const inUnits = (unit, count) =>
    new Intl.NumberFormat(document.documentElement.lang, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
  for (const button of all('button[data-seconds]')) {
    const until = Date.now() + button.dataset.seconds * 1000
    const tick = () => {
      const left = Math.max(0, Math.ceil((until - Date.now()) / 1000))
      const { label, waiting } = button.dataset
      const time = left > 120 ? inUnits('minute', Math.ceil(left / 60)) : inUnits('second', left)
      button.textContent = left === 0 ? label : waiting.replace('%', () => time)
      if (left > 0) setTimeout(tick, 1000)
    }
    tick()
  }

  for (const element of all('[data-status]')) {
    const { status, then } = element.dataset
    const until = Date.now() + ${POLL_FOR_MS}
    const ask = async () => {
      const answer = await fetch(status).then((response) => response.json()).catch(() => ({}))
      if (answer.confirmed) location.assign(then)
      else if (Date.now() < until) setTimeout(ask, ${POLL_EVERY_MS})
    }
    setTimeout(ask, ${POLL_EVERY_MS})
  }

  const renew = (live, fresh) => {
    const news = [...fresh.children]
    if (news.length !== live.children.length) return live.replaceChildren(...news)
    for (const [index, part] of [...live.children].entries()) {
      if (part.isEqualNode(news[index])) continue
      // The element that screen readers watch stays.
      if (part.matches('[role=status]')) part.replaceChildren(...news[index].childNodes)
      else part.replaceWith(news[index])
    }
  }
  const live = document.querySelector('[data-live]')
  const until = Date.now() + ${POLL_FOR_MS}
  const follow = async () => {
    const answer = document.hidden ? null : await fetch(location.href).catch(() => null)
    if (answer?.ok) {
      // The policy of this page blocks style sheets of another response, even if that is only parsed.
      const text = (await answer.text()).replace(/<style[^]*?<\\/style>/g, '')
      const fresh = new DOMParser().parseFromString(text, 'text/html').querySelector('[data-live]')
      if (!fresh) return location.reload()
      renew(live, fresh)
    }
    if (Date.now() < until) setTimeout(follow, ${POLL_EVERY_MS})
  }
  if (live) setTimeout(follow, ${POLL_EVERY_MS})
}
`

/** The script of pages with forms, to be served by the service. Forms also work without it. */
export const formScript = pageScript(SCRIPT)
