// Turns Mermaid diagrams into SVG while the site is built, so that pages load no script for them and the diagrams follow light and dark
// mode.
import { renderMermaidSVG } from 'beautiful-mermaid'

const COLORS = { bg: 'var(--vp-c-bg)', fg: 'var(--vp-c-text-1)', muted: 'var(--vp-c-text-1)' }

const MARGIN = 120

/** A markdown-it plug-in. */
export function diagrams(md) {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index]
    return info.trim() === 'mermaid' ? figure(content) : fence(tokens, index, ...rest)
  }
}

function figure(source) {
  // The library loads its typeface from a font service, but the site must not load anything from other hosts.
  const svg = renderMermaidSVG(source, COLORS).replace(/@import url\([^)]*\);/, '')
  const shown = source.startsWith('sequenceDiagram') ? widened(svg) : svg
  return `<div class="diagram" role="img" aria-label="Diagram" tabindex="0" v-pre>${shown}</div>\n`
}

/** Widens diagrams: long messages between the first or the last two participants extend beyond the size that the library computes. */
function widened(svg) {
  return svg.replace(
    /viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+"/,
    (_, width, height) =>
      `viewBox="-${MARGIN} 0 ${Number(width) + 2 * MARGIN} ${height}" width="${Number(width) + 2 * MARGIN}"`,
  )
}
