import { displayWidth, printable, truncate } from './text.js'
import type { Paint } from './style.js'

export type Column<Row> = {
  header: string
  value: (row: Row) => string | number
  /** Applied after the padding, so that color codes cannot misalign the columns. */
  paint?: (row: Row, cell: string, paint: Paint) => string
  /** May be cut when the terminal is too narrow for the whole table. */
  flexible?: boolean
}

type Options = {
  paint: Paint
  /** Width of the terminal in cells. Without it nothing is cut, so that a pipe gets whole values. */
  terminalWidth?: number | undefined
}

const GAP = '  '
const NARROWEST = 8

/** Columns separated by two spaces, one line per row, a header line above. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { paint, terminalWidth }: Options,
): string {
  const cells = rows.map((row) => columns.map((column) => printable(String(column.value(row)))))
  const widths = fit(
    // Not as arguments of one Math.max: a function takes only some hundred thousand.
    columns.map(({ header }, index) =>
      cells.reduce((widest, line) => Math.max(widest, displayWidth(line[index] ?? '')), displayWidth(header)),
    ),
    columns,
    terminalWidth,
  )
  const pad = (text: string, index: number) => {
    const width = widths[index] ?? 0
    const cut = truncate(text, width)
    // Adds no spaces at the end of a line: they wrap on narrow terminals and end up in copied text.
    return index === columns.length - 1 ? cut : cut + ' '.repeat(width - displayWidth(cut))
  }
  const header = columns.map((column, index) => paint('dim', pad(column.header, index))).join(GAP)
  const lines = rows.map((row, line) =>
    columns
      .map((column, index) => {
        const cell = pad(cells[line]?.[index] ?? '', index)
        return column.paint ? column.paint(row, cell, paint) : cell
      })
      .join(GAP)
      .trimEnd(),
  )
  return [header, ...lines].join('\n')
}

/** Renders one label and value per line, with the values aligned. */
export function renderFields(
  fields: readonly (readonly [label: string, value: string])[],
  paint: Paint,
): string {
  const width = Math.max(...fields.map(([label]) => displayWidth(label)))
  return fields
    .map(([label, value]) => `${paint('dim', label.padEnd(width))}${GAP}${printable(value)}`)
    .join('\n')
}

/** Takes cells from the flexible columns, the widest first, until the table fits or they are narrow enough. */
function fit<Row>(
  widths: number[],
  columns: readonly Column<Row>[],
  terminalWidth: number | undefined,
): number[] {
  if (terminalWidth === undefined) return widths
  const fitted = [...widths]
  const total = () => fitted.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1)
  while (total() > terminalWidth) {
    const widest = columns
      .map((column, index) => ({ index, width: column.flexible ? (fitted[index] ?? 0) : 0 }))
      .reduce((left, right) => (right.width > left.width ? right : left))
    if (widest.width <= NARROWEST) break
    fitted[widest.index] = widest.width - 1
  }
  return fitted
}
