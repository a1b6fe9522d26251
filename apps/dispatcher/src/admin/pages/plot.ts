import { html, type Html } from '@signet/pages'
import type { AdminTexts } from './texts.js'

const WIDTH = 240
const HEIGHT = 60

export type PlotOptions = {
  title: string
  values: readonly number[]
  /** The value as text, with its unit. */
  show: (value: number) => string
}

/** Draws a line over the samples, oldest left. If there are more samples than points, each point shows the highest of its samples. */
export function areaPlot(t: AdminTexts, { title, values, show }: PlotOptions): Html {
  const most = Math.max(0, ...values)
  const points = thinned(values).map((value, index, all) => {
    const x = all.length === 1 ? WIDTH : (index / (all.length - 1)) * WIDTH
    return `${x.toFixed(1)},${(HEIGHT - (most === 0 ? 0 : (value / most) * (HEIGHT - 2))).toFixed(1)}`
  })
  const text = t('plot.text', { now: show(values.at(-1) ?? 0), most: show(most) })
  return html`<div>
    <h2>${title}</h2>
    <svg
      class="plot"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${t('plot.label', { title, text })}"
    >
      <polygon class="area" points="0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}" />
    </svg>
    <p class="soft">${text}</p>
  </div>`
}

function thinned(values: readonly number[]): number[] {
  const size = Math.max(1, Math.ceil(values.length / WIDTH))
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    Math.max(...values.slice(index * size, (index + 1) * size)),
  )
}
