/** Horizontal bars in groups. A bar with several parts is stacked. */
export type Plot = {
  title: string
  /** Shown after each number. */
  unit: string
  groups: readonly { label: string; bars: readonly Bar[] }[]
}

export type Bar = { label: string; parts: readonly { name: string; value: number }[] }

const WIDTH = 760
const LABELS = 150
const NUMBERS = 90
const BAR = 18
const GAP = 6
const GROUP_GAP = 30
const TOP = 64

/** Light and dark mode. Neighbors differ in lightness, so that people who see no colors can also distinguish them. */
const COLORS = [
  ['#0b5c9e', '#6cb6ff'],
  ['#d98200', '#f0b545'],
  ['#3d7a3d', '#8ddb8c'],
  ['#8a4baf', '#dcbdfb'],
  ['#a4373a', '#f69d9d'],
  ['#5c6670', '#adbac7'],
] as const

const STYLE = `text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:15px}.value{font-variant-numeric:tabular-nums}
${COLORS.map(([light], index) => `.c${index}{fill:${light}}`).join('')}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}${COLORS.map(([, dark], index) => `.c${index}{fill:${dark}}`).join('')}}`

/** A self-contained image: it has no script, fetches no font, and follows light and dark mode. */
export function plotSvg({ title, unit, groups }: Plot): string {
  const names = [
    ...new Set(groups.flatMap(({ bars }) => bars.flatMap(({ parts }) => parts.map(({ name }) => name)))),
  ]
  const longest = Math.max(...groups.flatMap(({ bars }) => bars.map(total)), Number.MIN_VALUE)
  const scale = (WIDTH - LABELS - NUMBERS) / longest
  const shapes: string[] = []
  let y = TOP
  for (const { label, bars } of groups) {
    shapes.push(text(0, y + 13, label, 'group'))
    y += 22
    for (const bar of bars) {
      shapes.push(...barShapes(bar, { y, scale, names, unit }))
      y += BAR + GAP
    }
    y += GROUP_GAP - GAP - 10
  }
  const legend = names.length > 1 ? names.map((name, index) => legendEntry(name, index, names)) : []
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img">
<title>${escape(title)}</title>
<style>${STYLE}</style>
${[text(0, 16, title, 'title'), ...legend, ...shapes].join('\n')}
</svg>
`
}

const total = ({ parts }: Bar) => parts.reduce((sum, { value }) => sum + value, 0)

type Frame = { y: number; scale: number; names: readonly string[]; unit: string }

function barShapes(bar: Bar, { y, scale, names, unit }: Frame): string[] {
  let x = LABELS
  const shapes = [text(LABELS - 8, y + 14, bar.label, 'label', 'end')]
  for (const { name, value } of bar.parts) {
    const width = Math.max(1, value * scale)
    shapes.push(
      `<rect class="c${names.indexOf(name) % COLORS.length}" x="${px(x)}" y="${y}" width="${px(width)}" height="${BAR}"/>`,
    )
    x += width
  }
  return [...shapes, text(x + 6, y + 14, `${shown(total(bar))} ${unit}`, 'value')]
}

/** Names the colors in the order of the parts, each to the right of those before it. */
function legendEntry(name: string, index: number, names: readonly string[]): string {
  const x = names.slice(0, index).reduce((sum, before) => sum + 34 + 7.5 * before.length, 0)
  return `<rect class="c${index % COLORS.length}" x="${px(x)}" y="32" width="12" height="12"/>\n${text(x + 18, 43, name, 'legend')}`
}

const text = (x: number, y: number, content: string, kind: string, anchor = 'start') =>
  `<text class="${kind}" x="${px(x)}" y="${px(y)}" text-anchor="${anchor}">${escape(content)}</text>`

const px = (value: number) => String(Math.round(value * 10) / 10)
const escape = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** Rounded to about three significant digits. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return new Intl.NumberFormat('en', { maximumFractionDigits: digits }).format(value)
}
