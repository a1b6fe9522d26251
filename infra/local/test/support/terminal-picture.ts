/** A line that a terminal printed, and when. */
export type PrintedLine = { text: string; atMs: number }

const LINE_HEIGHT = 20
const CHARACTER = 8.5
const COLUMNS = 96
const PADDING = 20
/** Readers need longer than the program took; then the animation starts again. */
const SHOWN_AT_THE_END_MS = 6000

/** An animated SVG of what a terminal showed: lines appear when they were printed. It loads nothing and runs no script. */
export function terminalPicture(lines: readonly PrintedLine[]): string {
  const total = (lines.at(-1)?.atMs ?? 0) + SHOWN_AT_THE_END_MS
  const width = Math.ceil(COLUMNS * CHARACTER + 2 * PADDING)
  const height = lines.length * LINE_HEIGHT + 2 * PADDING
  const times = [...new Set(lines.map(({ atMs }) => atMs))]
  const rules = times.map((atMs, index) => {
    const percent = (100 * atMs) / total
    const steps = `0%,${percent.toFixed(2)}%{opacity:0}${(percent + 0.01).toFixed(2)}%,100%{opacity:1}`
    return `@keyframes t${index}{${steps}}.t${index}{animation:t${index} ${total}ms infinite}`
  })
  const rows = lines.map(({ text, atMs }, row) => {
    const y = PADDING + (row + 0.75) * LINE_HEIGHT
    return `<text class="t${times.indexOf(atMs)}" x="${PADDING}" y="${y}">${marked(escaped(cut(text)))}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<style>
rect{fill:#161b22}text{fill:#e6edf3;font:14px ui-monospace,Menlo,Consolas,monospace;white-space:pre}
.ok{fill:#7ee787}.typed{font-weight:bold}
${rules.join('\n')}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
</style>
<rect width="100%" height="100%" rx="8"/>
${rows.join('\n')}
</svg>
`
}

const cut = (text: string): string => (text.length > COLUMNS ? `${text.slice(0, COLUMNS - 1)}…` : text)

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const marked = (text: string): string =>
  text
    .replace(/^\$ .*/, '<tspan class="typed">$&</tspan>')
    .replace('✓ verified', '<tspan class="ok">$&</tspan>')
