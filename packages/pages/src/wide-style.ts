/**
 * Style for pages with tables, plots and navigation, placed after the style of all pages. Its colors come from there, including dark
 * ones.
 */
export const wideStyle = `
main { max-width: 62rem }
body { place-items: start center }
nav { display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; margin: 0 0 1.25rem; padding-bottom: .9rem; border-bottom: 1px solid var(--line) }
nav a { text-decoration: none }
nav a[aria-current=page] { color: var(--text); font-weight: 650; text-decoration: underline }
h2 { margin: 2rem 0 .5rem; font-size: 1.1rem }
h3 { margin: 1.25rem 0 .25rem; font-size: 1rem }
footer { margin-top: 2.5rem; padding-top: .9rem; border-top: 1px solid var(--line) }
footer form { display: flex; flex-wrap: wrap; align-items: baseline; gap: .35rem 1.1rem }
footer form > button { margin: 0 }
.card form.inline, .actions form { display: inline }
.card form.inline > button, .actions button, .actions .button, .narrow { display: inline-block; width: auto; margin: 0; padding: .5rem .9rem }
.actions { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0 }
form:not(.inline) > .narrow { margin-top: 1rem }
form + p, .scroll + p { margin-top: 1rem }
.danger { border-color: var(--bad); background: var(--card); color: var(--bad) }
.good { padding: .6rem .9rem; border-radius: .6rem; border: 1px solid var(--line) }
.scroll { overflow-x: auto; overflow-wrap: normal }
table { width: 100%; border-collapse: collapse; font-size: .925rem }
th, td { padding: .5rem .75rem .5rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 600 }
@media (max-width: 40rem) {
  .scroll table, .scroll tbody, .scroll tr, .scroll td { display: block }
  .scroll { position: relative }
  .scroll thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .scroll tr { padding: .6rem 0; border-bottom: 1px solid var(--line) }
  .scroll td { padding: .1rem 0; border: 0; overflow-wrap: anywhere }
  .scroll td:empty { display: none }
  .scroll td::before { content: attr(data-label) ' '; color: var(--soft); font-size: .85rem }
}
pre { margin: .5rem 0; padding: .75rem; max-height: 24rem; overflow: auto; white-space: pre-wrap; background: var(--bg);
  border-radius: .6rem; font: .85rem/1.45 ui-monospace, monospace }
code { font: .9em ui-monospace, monospace }
textarea, select { width: 100%; padding: .6rem .7rem; font: inherit; color: inherit; background: var(--field);
  border: 1px solid var(--soft); border-radius: .6rem }
textarea { min-height: 8rem; font: .85rem/1.45 ui-monospace, monospace }
fieldset { margin: 1rem 0 0; padding: 0; border: 0 }
legend { padding: 0; font-weight: 600; font-size: .925rem }
label.check { display: flex; gap: .6rem; align-items: baseline; margin: .4rem 0; font-weight: 400 }
label.check input { width: auto }
.filters { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 0 .9rem; align-items: end; margin-bottom: 1.5rem }
.filters input, .filters select, .filters button { height: 2.8rem; padding-block: 0 }
.filters button { margin: 1rem 0 0 }
.plot { width: 100%; height: 4rem; display: block }
.plot .delivered { fill: var(--accent) }
.plot .failed { fill: var(--bad) }
.numbers { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: .5rem 0; padding: 0; list-style: none }
.numbers strong { font-weight: 650 }
.entry { padding: 1rem 0; border-top: 1px solid var(--line) }
.entry h2 { margin: 0 0 .25rem }
ol.steps { padding-left: 1.25rem }
progress { width: 100% }
`
