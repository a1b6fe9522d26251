/** The style sheet of all pages, after the tokens: no external resources. */
export const styles = `
*, *::before, *::after { box-sizing: border-box }
body { margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; grid-template-columns: minmax(0, 1fr); place-items: center; padding: 1.5rem 1rem;
  background: var(--bg); color: var(--text); font: 1rem/1.5 var(--font); overflow-wrap: anywhere }
main { width: 100%; max-width: 26rem }
.brand { display: flex; align-items: center; justify-content: center; gap: .6rem; margin: 0 0 1.25rem; font-weight: 650;
  letter-spacing: .01em }
.brand svg { width: 1.6rem; height: 1.6rem; color: var(--accent) }
.brand img { height: 2rem; max-width: 9rem; object-fit: contain }
.legal { margin: 1.25rem 0 0; padding: 0; border: 0; display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; justify-content: center; font-size: .85rem }
.legal a { color: var(--soft) }
.card { overflow-x: clip; background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.75rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / .04), 0 8px 28px rgb(0 0 0 / .06) }
h1 { margin: 0 0 .5rem; font-size: 1.375rem; line-height: 1.25; letter-spacing: -.01em; hyphens: auto }
p { margin: 0 0 1rem }
.soft { color: var(--soft); font-size: .925rem }
label { display: block; margin: 1rem 0 .35rem; font-weight: 600; font-size: .925rem }
input:not([type=hidden]) { width: 100%; padding: .7rem .8rem; font: inherit; color: inherit; background: var(--field);
  border: 1px solid var(--soft); border-radius: var(--radius) }
button, .button { display: block; width: 100%; margin: 0; padding: .75rem 1rem; font: inherit; font-weight: 600;
  border: 1px solid var(--accent); border-radius: var(--radius); background: var(--accent); color: var(--on-accent);
  text-align: center; text-decoration: none; cursor: pointer }
button.equal, button.plain, .button.plain { background: var(--card); color: var(--accent) }
button:hover, .button:hover { filter: brightness(1.07) }
.skip { position: absolute; top: 0; left: 0; z-index: 1; padding: .6rem .9rem; background: var(--card); border-radius: var(--radius) }
.skip:not(:focus) { width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
form > button { margin-top: 1.5rem }
.hint { margin: .35rem 0 0; color: var(--soft); font-size: .875rem }
a { color: var(--accent); text-underline-offset: .15em }
button.second { margin-top: .6rem }
.links { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; justify-content: center }
.code { font-size: 1.35rem; letter-spacing: .3em; text-align: center }
.captcha { margin-top: 1.25rem }
.stack form > button { margin-top: 0 }
.choice { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; margin-top: 1.5rem }
.link { width: auto; display: inline; padding: 0; border: 0; background: none; color: var(--accent); font-weight: 500;
  text-decoration: underline; text-underline-offset: .15em }
.facts { margin: 1.25rem 0; padding: 0; border-block: 1px solid var(--line); list-style: none }
.facts li { padding: .8rem 0; display: grid; gap: .1rem }
.facts li + li { border-top: 1px solid var(--line) }
.facts strong { font-weight: 550 }
.facts span { color: var(--soft); font-size: .85rem }
.tag { display: inline-block; padding: .05rem .5rem; border-radius: 1rem; background: var(--warn-soft);
  color: var(--warn); font-size: .8rem; font-weight: 600 }
.notice { margin: 1rem 0; padding: .75rem .9rem; border-radius: var(--radius); background: var(--bad-soft); color: var(--bad);
  font-size: .925rem }
[aria-invalid=true] { border-color: var(--bad); box-shadow: 0 0 0 1px var(--bad) }
.good { margin: 1rem 0; padding: .75rem .9rem; border-radius: var(--radius); border: 1px solid var(--line); font-size: .925rem }
.aside { margin: 1.25rem 0 0 }
.show { margin: .35rem 0 0; padding: .2rem 0; font-size: .875rem }
[aria-busy=true] { cursor: progress }
[aria-busy=true]::after { content: ''; display: inline-block; width: .8em; height: .8em; margin-left: .5em; border-radius: 50%;
  border: 2px solid currentColor; border-right-color: transparent; vertical-align: -.1em; animation: turn 1s linear infinite }
@keyframes turn { to { transform: rotate(1turn) } }
@media (prefers-reduced-motion: reduce) { [aria-busy=true]::after { animation: none } }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.5rem 0 1rem; color: var(--soft); font-size: .85rem }
.or::before, .or::after { content: ''; flex: 1; border-top: 1px solid var(--line) }
.stack { display: grid; gap: .6rem }
form.foot > button { margin-top: 0 }
.card > :last-child { margin-bottom: 0 }
.foot { margin: 1.25rem 0 0; text-align: center }
@media (max-width: 30rem) { body { place-items: start center } .card { padding: 1.35rem } }
@media (forced-colors: active) { .card, button, .button { border: 1px solid } }
`
