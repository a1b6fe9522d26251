import { html, type SmallResponse } from '../small-http.js'
import type { Mail } from './mail.js'

/** A mail is a stranger's HTML: it runs no script, and its links open in a tab of their own. */
export function mailDocument(mail: Mail | undefined): SmallResponse {
  if (!mail) return { status: 404, type: 'text/plain', body: 'no such message' }
  const body =
    mail.html ||
    `<pre style="white-space:pre-wrap;font:15px/1.5 ui-monospace,monospace">${escape(mail.text)}</pre>`
  return {
    ...html(`<!doctype html><meta charset="utf-8"><base target="_blank">${body}`),
    headers: {
      'content-security-policy':
        "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    },
  }
}

const escape = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)

export const INBOX_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inbox</title>
<style>
  :root { color-scheme: light dark; --line: light-dark(#e3e5ea, #30333b); --soft: light-dark(#f6f7f9, #1b1d22);
    --quiet: light-dark(#61666f, #9aa0ab); --accent: light-dark(#3454d1, #8fa5ff); --paper: light-dark(#fff, #15171b); }
  * { box-sizing: border-box }
  body { margin: 0; height: 100vh; display: grid; grid-template: auto 1fr / minmax(16rem, 24rem) 1fr;
    font: 15px/1.45 system-ui, sans-serif; background: var(--paper) }
  header { grid-column: 1 / 3; display: flex; gap: 1rem; align-items: center; padding: .7rem 1.2rem;
    border-bottom: 1px solid var(--line) }
  h1 { font-size: 1.05rem; margin: 0 }
  header input { flex: 1; max-width: 24rem; margin-left: auto; padding: .4rem .7rem; border: 1px solid var(--line);
    border-radius: .5rem; background: var(--soft); color: inherit; font: inherit }
  a { color: var(--accent) }
  button { padding: .4rem .8rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--soft);
    color: inherit; font: inherit; cursor: pointer }
  nav { overflow: auto; border-right: 1px solid var(--line) }
  ul { margin: 0; padding: 0; list-style: none }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: -3px }
  li button { display: block; width: 100%; text-align: left; padding: .75rem 1.2rem; border: 0; border-radius: 0;
    border-bottom: 1px solid var(--line); background: none }
  li button:hover { background: var(--soft) }
  li button[aria-current=true] { background: var(--soft); box-shadow: inset 3px 0 var(--accent) }
  b, small { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
  b { font-weight: 600 } small { color: var(--quiet) }
  main { display: grid; grid-template-rows: auto 1fr; min-width: 0 }
  .head { padding: 1rem 1.4rem; border-bottom: 1px solid var(--line) }
  .head h2 { margin: 0 0 .3rem; font-size: 1.2rem }
  .head p { margin: 0; color: var(--quiet) }
  iframe { width: 100%; height: 100%; border: 0; background: #fff; color-scheme: light }
  .empty { place-self: center; color: var(--quiet); grid-row: 1 / 3; text-align: center }
  [hidden] { display: none !important }
  .head { overflow-wrap: anywhere }
  @media (max-width: 45rem) {
    body { grid-template: auto auto 1fr / 1fr; min-height: 100vh; height: auto }
    header { grid-column: 1; flex-wrap: wrap }
    header input { order: 1; flex-basis: 100%; max-width: none; margin: 0 }
    nav { max-height: 14rem; border-right: 0; border-bottom: 1px solid var(--line) }
    iframe { min-height: 70vh }
    .empty { padding: 2rem 1.2rem }
  }
</style>
<header>
  <h1>Inbox <small id="count"></small></h1>
  <input id="filter" type="search" placeholder="Filter by address or subject" aria-label="Filter">
  <button id="clear">Delete all</button>
  <a href="/receiver">Webhook receiver</a>
</header>
<nav aria-label="Messages"><ul id="list"></ul></nav>
<main>
  <p class="empty" id="empty">No mail yet. What the services send arrives here by itself.</p>
  <div class="head" id="head" hidden><h2 id="subject"></h2><p id="meta"></p></div>
  <iframe id="body" title="Message" sandbox="allow-popups allow-popups-to-escape-sandbox" hidden></iframe>
</main>
<script>
  const $ = (id) => document.getElementById(id)
  let mails = [], open = null
  const text = (tag, value) => Object.assign(document.createElement(tag), { textContent: value })
  function show(mail) {
    open = mail.id
    for (const id of ['head', 'body']) $(id).hidden = false
    $('empty').hidden = true
    $('subject').textContent = mail.subject || '(no subject)'
    $('meta').textContent = mail.sender + ' → ' + mail.to.join(', ') + ' · ' + new Date(mail.receivedAt).toLocaleString()
    $('body').src = '/messages/' + mail.id + '.html'
    draw()
  }
  function draw() {
    const wanted = $('filter').value.toLowerCase()
    const shown = mails.filter((mail) => (mail.subject + ' ' + mail.to.join(' ')).toLowerCase().includes(wanted))
    $('count').textContent = mails.length === 1 ? '1 message' : mails.length + ' messages'
    $('list').replaceChildren(...shown.map((mail) => {
      const button = document.createElement('button')
      button.setAttribute('aria-current', String(mail.id === open))
      button.append(text('b', mail.subject || '(no subject)'), text('small', mail.to.join(', ')),
        text('small', new Date(mail.receivedAt).toLocaleTimeString()))
      button.onclick = () => show(mail)
      const item = document.createElement('li')
      item.append(button)
      return item
    }))
  }
  async function refresh() {
    try {
      const { items } = await (await fetch('/api/messages')).json()
      const news = items[0]?.id !== mails[0]?.id || items.length !== mails.length
      mails = items
      if (news) { draw(); if (open === null && items[0]) show(items[0]) }
    } catch { /* the stack is stopping or restarting; the next look will tell */ }
  }
  $('filter').oninput = draw
  $('clear').onclick = async () => {
    await fetch('/api/messages', { method: 'DELETE' })
    open = null
    for (const id of ['head', 'body']) $(id).hidden = true
    $('empty').hidden = false
    mails = []
    draw()
  }
  refresh()
  setInterval(refresh, 1500)
</script>
</html>
`

/** Where links in mails of the local stack lead in the end: it stands for the product's own site. */
export const WELCOME_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Welcome</title>
<style>
  :root { color-scheme: light dark }
  body { margin: 0; min-height: 100vh; padding: 1.5rem; box-sizing: border-box; display: grid; place-content: center;
    text-align: center; font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
</style>
<main>
<h1 id="title">You are signed in</h1>
<p id="text">This page stands for your own site; the tokens are in the address bar, behind the #.</p>
</main>
<script>
  const result = new URLSearchParams(location.hash.slice(1) || location.search)
  if (result.has('error_description')) {
    document.getElementById('title').textContent = 'That did not work'
    document.getElementById('text').textContent = result.get('error_description')
  } else if (result.has('message')) {
    document.getElementById('title').textContent = 'One more step'
    document.getElementById('text').textContent = result.get('message')
  }
</script>
</html>
`
