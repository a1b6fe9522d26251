export const RECEIVER_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Webhook receiver</title>
<style>
  :root { color-scheme: light dark; --line: light-dark(#e3e5ea, #30333b); --soft: light-dark(#f6f7f9, #1b1d22);
    --quiet: light-dark(#61666f, #9aa0ab); --good: light-dark(#14804a, #5dd39e); --bad: light-dark(#b3261e, #ff8a80) }
  a { color: light-dark(#3454d1, #8fa5ff) }
  body { margin: 0 auto; max-width: 70rem; padding: 1.5rem; font: 15px/1.45 system-ui, sans-serif;
    background: light-dark(#fff, #15171b) }
  h1 { font-size: 1.1rem } p { color: var(--quiet) }
  table { width: 100%; border-collapse: collapse }
  th { text-align: left; font-weight: 500; color: var(--quiet) }
  th, td { padding: .55rem .6rem; border-bottom: 1px solid var(--line) }
  td { overflow-wrap: anywhere }
  tbody tr { cursor: pointer } tbody tr:hover { background: var(--soft) }
  td button { padding: .1rem .6rem; font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line);
    border-radius: .4rem; cursor: pointer }
  :focus-visible { outline: 3px solid light-dark(#3454d1, #8fa5ff); outline-offset: 2px }
  .good { color: var(--good) } .bad { color: var(--bad) }
  pre { padding: 1rem; background: var(--soft); border-radius: .6rem; overflow: auto; max-height: 60vh }
  [hidden] { display: none }
  @media (max-width: 45rem) {
    body { padding: 1rem }
    thead { position: absolute; clip-path: inset(50%) }
    tr { display: grid; grid-template-columns: auto 1fr auto; padding: .6rem 0; border-bottom: 1px solid var(--line) }
    td { border: 0; padding: .15rem .5rem }
    td:nth-child(3) { grid-column: 1 / -1; grid-row: 2 }
    td:nth-child(4) { grid-row: 1 }
  }
</style>
<main>
<h1>Webhook receiver</h1>
<p>What the dispatcher delivered to this machine, newest first. Choose a line to see its body.
<a href="/">Mail inbox</a></p>
<table>
  <thead><tr><th>#<th>Time<th>Path<th>Event<th>Size<th>Signature<th>Answer</thead>
  <tbody id="rows"></tbody>
</table>
<p id="empty" hidden>Nothing was delivered yet. What arrives shows up here by itself.</p>
<pre id="body" tabindex="0" role="region" aria-label="Body" hidden></pre>
</main>
<script>
  const cell = (value, mark) => {
    const td = document.createElement('td')
    td.textContent = value
    if (mark) td.className = mark
    return td
  }
  const signature = (d) => d.verified === null ? ['not checked'] : d.verified ? ['valid', 'good'] : [d.refusal, 'bad']
  const answer = ({ answer: a }) => a.kind !== 'reply' ? [a.kind, 'bad'] : [a.status, a.status < 300 ? 'good' : 'bad']
  let last = -1
  async function show(number) {
    const text = await (await fetch('/api/deliveries/' + number)).text()
    let shown = text
    try { shown = JSON.stringify(JSON.parse(text), null, 2) } catch { /* shown as it came */ }
    const body = document.getElementById('body')
    body.textContent = shown
    body.hidden = false
  }
  async function refresh() {
    try {
      const { items } = await (await fetch('/api/deliveries')).json()
      if (items.length === last) return
      last = items.length
      document.getElementById('empty').hidden = items.length > 0
      document.getElementById('rows').replaceChildren(...items.reverse().map((d) => {
        const row = document.createElement('tr')
        const number = cell('')
        // The line is for the mouse, the button for the keyboard.
        number.append(Object.assign(document.createElement('button'), { textContent: d.number, ariaLabel: 'Body of delivery ' + d.number }))
        row.append(number, cell(new Date(d.receivedAt).toLocaleTimeString()), cell(d.path),
          cell(d.eventType || '—'), cell(d.bytes.toLocaleString() + ' B'), cell(...signature(d)), cell(...answer(d)))
        row.onclick = () => show(d.number)
        return row
      }))
    } catch { /* the stack is stopping or restarting; the next look will tell */ }
  }
  refresh()
  setInterval(refresh, 1500)
</script>
</html>
`
