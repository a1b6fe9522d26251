import { createRequire } from 'node:module'

const MARGIN = 4
/** The most bytes that fit with the error correction below (ISO/IEC 18004, version 40). */
export const MAX_QR_BYTES = 2331

/** Loaded with the first code, because the library has many encoders that are not used here. */
const library = () => createRequire(import.meta.url)('qrcode') as typeof import('qrcode')

/**
 * A QR code as SVG text. Clients put it unescaped behind `data:image/svg+xml;utf-8,` (docs/specification.md#factors), so it must not
 * contain `#`, `%` or line breaks. Therefore colors are written as names.
 */
export function qrCodeSvg(text: string): string {
  const { modules } = library().create(text, { errorCorrectionLevel: 'M' })
  const size = modules.size + 2 * MARGIN
  const rows = Array.from({ length: modules.size }, (_, y) =>
    runsOf(modules.data.subarray(y * modules.size, (y + 1) * modules.size))
      .map(([x, length]) => `M${x + MARGIN} ${y + MARGIN}h${length}v1h-${length}z`)
      .join(''),
  )
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="256" height="256" ` +
    `shape-rendering="crispEdges"><path fill="white" d="M0 0h${size}v${size}H0z"/>` +
    `<path fill="black" d="${rows.join('')}"/></svg>`
  )
}

/** Start and length of each run of dark modules in a row. */
function runsOf(row: Uint8Array): [start: number, length: number][] {
  const runs: [number, number][] = []
  row.forEach((dark, x) => {
    const last = runs.at(-1)
    if (dark === 0) return
    if (last && last[0] + last[1] === x) last[1]++
    else runs.push([x, 1])
  })
  return runs
}
