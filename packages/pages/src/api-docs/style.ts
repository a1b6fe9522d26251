/** The whole style of the page, inline, so that it loads nothing. */
export const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --text: #1c1c28; --accent: #4338ca;
  --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 7%, transparent) }
@media (prefers-color-scheme: dark) { :root { --bg: #101018; --text: #ececf4; --accent: #a5a0ff } }
html { background: var(--bg); color: var(--text) }
a { color: var(--accent); text-underline-offset: .15em }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 6rem; font: 1rem/1.6 system-ui, sans-serif;
  overflow-wrap: anywhere }
main { margin-top: 1.5rem }
.token p { margin: .4rem 0 0; font-size: .85rem }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 3rem; padding-top: 0 }
  header { position: sticky; top: 0; align-self: start; height: 100vh; display: flex; flex-direction: column; padding: 1.5rem 0 }
  nav { flex: 1; overflow: auto; padding: .25rem }
  @supports selector(::details-content) {
    nav details::details-content { content-visibility: visible; display: block }
    nav summary { display: none } } }
h1 { line-height: 1.2; margin: 0 0 .5rem }
h2 { margin: 3.5rem 0 .5rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line) }
h3 { margin: 2.5rem 0 .3rem; font-size: 1.1rem }
h4 { margin: 1.2rem 0 .3rem; font-size: .9rem }
h2 + h3 { margin-top: 1.2rem }
nav strong { display: block; margin-top: 1rem }
nav ul { list-style: none; margin: 0; padding: 0; font-size: .9rem }
nav a { display: inline-block; padding: .15rem 0 }
code, pre { font: .875em/1.5 ui-monospace, monospace; background: var(--soft); border-radius: .25rem }
code { padding: .1em .3em }
pre { padding: .8rem 1rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0 }
.method { font: 700 .8rem ui-monospace, monospace; border: 1px solid; border-radius: .25rem; padding: .15rem .45rem }
table { border-collapse: collapse; width: 100%; font-size: .92rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); font-weight: 400 }
thead th { font-weight: 600 }
td:nth-child(2):not(:last-child) { width: 9rem }
thead th:first-child { width: 34% }
@media (max-width: 40rem) { table, tbody, tr, tbody th, td { display: block } thead { display: none }
  tr { padding: .5rem 0; border-bottom: 1px solid var(--line) } tbody th, td { padding: .05rem 0; border: 0 }
  td:nth-child(2):not(:last-child) { width: auto; font-size: .85rem; opacity: .8 } td:empty { display: none } }
.answer { margin: .35rem 0 }
summary { cursor: pointer; padding: .3rem 0; font-weight: 600; font-size: .9rem }
.answer > summary { font: inherit; padding: 0 }
section { scroll-margin-top: 1rem }
[role=status] { margin: .75rem 0 0; font-weight: 600 }
[role=status]:empty { margin: 0 }
pre[hidden] { display: none }
.try, .token { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; margin-top: .75rem }
.try[hidden], .token[hidden] { display: none }
label { display: block; font-size: .9rem; margin-top: .5rem }
input, textarea { display: block; width: 100%; font: .9rem/1.5 ui-monospace, monospace; padding: .45rem .6rem;
  border: 1px solid color-mix(in srgb, currentColor 55%, transparent); border-radius: .3rem; background: transparent; color: inherit }
button { font: inherit; margin-top: .75rem; min-height: 2.75rem; padding: .4rem 1.2rem; border: 1px solid; border-radius: .4rem;
  background: var(--soft); color: inherit; cursor: pointer }
:focus-visible { outline: 3px solid; outline-offset: 2px }
`
