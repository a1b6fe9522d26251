import { tokenRules } from '@signet/brand'
import { styles } from '../styles.js'
import { wideStyle } from '../wide-style.js'

/** Styles that only these pages need: a sidebar, operations, and forms to try them. */
const OWN = `
body { max-width: 80rem; min-height: 0; margin: 0 auto; padding-bottom: 4rem; place-items: start stretch }
main { max-width: none }
.brand { justify-content: start }
.token p { margin: .4rem 0 0; font-size: .85rem }
nav { display: block; margin: 0; padding: .25rem; border: 0 }
@media (min-width: 60rem) {
  body { grid-template-columns: 15rem minmax(0, 1fr); gap: 2.5rem; padding-top: 0 }
  main { padding-top: 1.5rem }
  header { position: sticky; top: 0; align-self: start; height: 100vh; display: flex; flex-direction: column; padding: 1.5rem 0 }
  nav { flex: 1; overflow: auto }
  @supports selector(::details-content) {
    nav details::details-content { content-visibility: visible; display: block }
    nav summary { display: none } } }
h1 { font-size: 1.75rem }
h2 { margin: 3rem 0 .5rem; padding-bottom: .3rem; font-size: 1.3rem; border-bottom: 1px solid var(--line) }
h3 { margin: 2.5rem 0 .3rem; font-size: 1.1rem }
h4 { margin: 1.2rem 0 .3rem; font-size: .9rem }
h2 + h3 { margin-top: 1.2rem }
nav strong { display: block; margin-top: 1rem }
nav ul { list-style: none; margin: 0; padding: 0; font-size: .9rem }
nav a { display: inline-block; padding: .15rem 0 }
code { padding: .1em .3em; background: var(--bg); border-radius: .25rem }
pre { max-height: none; overflow-wrap: anywhere }
.method { font: 700 .8rem var(--mono); border: 1px solid; border-radius: .25rem; padding: .15rem .45rem }
th, td { padding: .35rem .9rem .35rem 0 }
tbody th { color: inherit; font-weight: 400 }
td:nth-child(2):not(:last-child) { width: 9rem }
thead th:first-child { width: 34% }
@media (max-width: 40rem) { table, tbody, tr, tbody th, td { display: block } thead { display: none }
  tr { padding: .5rem 0; border-bottom: 1px solid var(--line) } tbody th, td { padding: .05rem 0; border: 0 }
  td:nth-child(2):not(:last-child) { width: auto; font-size: .85rem; color: var(--soft) } td:empty { display: none } }
.answer { margin: .35rem 0 }
summary { cursor: pointer; padding: .3rem 0; font-weight: 600; font-size: .9rem }
.answer > summary { font: inherit; padding: 0 }
section { scroll-margin-top: 1rem }
[role=status] { margin: .75rem 0 0; font-weight: 600 }
[role=status]:empty { margin: 0 }
pre[hidden] { display: none }
.try, .token { border: 1px solid var(--line); border-radius: var(--radius); padding: .25rem 1rem 1rem; margin-top: .75rem; background: var(--card) }
.try[hidden], .token[hidden] { display: none }
label { font-weight: 400 }
input:not([type=hidden]), textarea { font: .9rem/1.5 var(--mono) }
.try > button { width: auto; margin-top: .75rem; padding: .5rem 1.2rem }
`

/** The complete style of the page, inlined so that the page loads nothing. */
export const docsStyle = (accent: string): string => tokenRules(accent) + styles + wideStyle + OWN
