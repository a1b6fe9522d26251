import { pageScript } from '../page-script.js'

/**
 * Sends the requests that readers compose on the page to the service that served it. Without the script, the forms stay hidden, and a
 * sentence says why. The token stays in the page's memory: it is never put into storage or a URL.
 */
const SCRIPT = `{
  const base = document.body.dataset.base
  const token = document.getElementById('token')
  const field = (form, name) => form.elements.namedItem(name)?.value.trim() ?? ''

  const addressOf = (form) => {
    const path = form.dataset.path.replace(/\\{(\\w+)\\}/g, (_, name) => encodeURIComponent(field(form, 'path:' + name)))
    const query = new URLSearchParams()
    for (const { name, value } of form.elements)
      if (name.startsWith('query:') && value.trim() !== '') query.set(name.slice(6), value.trim())
    return base + path + (query.size > 0 ? '?' + query : '')
  }

  const bodyOf = (form) => {
    const text = field(form, 'body')
    if (text === '' || form.dataset.type !== 'application/x-www-form-urlencoded') return text === '' ? undefined : text
    try {
      return new URLSearchParams(Object.entries(JSON.parse(text))).toString()
    } catch (error) {
      throw new Error('the body is not JSON. ' + error.message)
    }
  }

  const textOf = async (response) => {
    const text = await response.text()
    let shown = text
    try { shown = JSON.stringify(JSON.parse(text), null, 2) } catch {}
    return shown.length > 100000 ? shown.slice(0, 100000) + '… (cut off here)' : shown
  }

  const send = async (form) => {
    const headers = {}
    const body = bodyOf(form)
    if (body !== undefined) headers['Content-Type'] = form.dataset.type
    const secured = form.dataset.secured !== undefined
    const typed = token.value.trim()
    if (secured && typed !== '') headers.Authorization = 'Bearer ' + typed
    const response = await fetch(addressOf(form), {
      method: form.dataset.method, headers, body, credentials: 'omit', redirect: 'manual', cache: 'no-store',
    })
    if (response.type === 'opaqueredirect') return ['A redirect, which this page does not follow.', '']
    const withoutToken = secured && typed === '' ? ' (sent without a token)' : ''
    return [(response.status + ' ' + response.statusText).trim() + withoutToken, await textOf(response)]
  }

  // Show every response as text, regardless of its type.
  const show = (form, status, answer) => {
    const pre = form.querySelector('pre')
    form.querySelector('[role=status]').textContent = status
    pre.textContent = answer
    pre.hidden = answer === ''
  }

  for (const part of document.querySelectorAll('.try, .token')) part.hidden = false
  for (const part of document.querySelectorAll('.without-script')) part.hidden = true
  document.addEventListener('submit', async (event) => {
    const form = event.target
    event.preventDefault()
    // Not the attribute: a disabled button would lose the focus.
    if (form.ariaBusy === 'true') return
    form.ariaBusy = 'true'
    show(form, 'Sending…', '')
    try {
      show(form, ...(await send(form)))
    } catch (error) {
      show(form, 'The request could not be sent: ' + error.message, '')
    }
    form.ariaBusy = null
  })
}
`

/** The script of the page, to be served by the service. */
export const tryScript = pageScript(SCRIPT)
