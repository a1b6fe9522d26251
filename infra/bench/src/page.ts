import { markdownTable } from 'markdown-table'
import { plotSvg, shown, type Bar } from './plot.js'
import { casesOf, partsOf, type Measured, type Results } from './results.js'

const INTRO = `# Measured side by side

These are the results of \`npm run bench\` on one machine, in one run. The command writes this page; run it on the machine that you plan to use.
Everything shares the machine: the load, the receiver, PostgreSQL, Redis and the services. In each round all take their turn on the
same load, after one round that warms up, and each figure is its own median of the rounds, so a sum may differ from its parts. The raw limit is what Node does with the same
database and the same requests and nothing else: no checks, no limits, no log, no retries. Read the ratios; a busy machine has other figures.`

const BUSY = `**Other work kept this machine busy while it measured**, as its load average below says. Rates are far below and times far above what it can
do; ratios and CPU times mean something, the rest does not. Write the page again where nothing else runs.`

const PEERS = `## Another product in the same harness

[Peers](peers.md) says how to measure one beside ours, and what makes the comparison fair.
`

/** A part of the page: a plot of the cases of a bench, and a table with one row per measured case. */
interface Section {
  text: string
  bench: Measured['bench']
  plot: { file: string; title: string; unit: string; parts: (one: Measured) => Bar['parts'] }
  columns: readonly string[]
  cells: (one: Measured) => string[]
}

const rate = ({ who, value }: Measured): Bar['parts'] => [{ name: who, value }]
const number = ({ others }: Measured, name: string) => shown(others[name] ?? NaN)
const pace = (one: Measured) => [shown(one.value), number(one, 'p50Ms'), number(one, 'p99Ms')]
const cpu = (one: Measured) =>
  partsOf(one)
    .map(({ name, value }) => `${name} ${shown(value)}`)
    .join(', ')

const SECTIONS: readonly Section[] = [
  {
    text: `## From a request to its arrival

Events are published one by one over HTTP and arrive as signed HTTPS requests. Times run from the moment at which an event was due to its arrival; in a burst they are the time of waiting in line.`,
    bench: 'pipeline',
    plot: { file: 'images/bench-deliveries.svg', title: 'Deliveries a second', unit: '/s', parts: rate },
    columns: ['Case', 'Who', 'Deliveries a second', 'p50, ms', 'p99, ms'],
    cells: pace,
  },
  {
    text: '### CPU time of one delivery, by process',
    bench: 'pipeline',
    plot: { file: 'images/bench-cpu.svg', title: 'CPU time of one delivery', unit: 'µs', parts: partsOf },
    columns: ['Case', 'Who', 'Each process, µs', 'Together, µs'],
    cells: (one) => [cpu(one) || 'not measured', number(one, 'cpuUs')],
  },
  {
    text: `## Requests to the identity server

Over HTTP, sixteen requests at a time; for sign-ins, two per core. The number of passwords that the processor can hash limits sign-ins.`,
    bench: 'common',
    plot: { file: 'images/bench-identity.svg', title: 'Requests a second', unit: '/s', parts: rate },
    columns: ['Request', 'Who', 'A second', 'p50, ms', 'p99, ms', 'CPU time of each process, µs'],
    cells: (one) => [...pace(one), cpu(one) || '–'],
  },
]

/** The page and its plots: content by file name. */
export function pageOf(results: Results): Record<string, string> {
  const { machine, wasBusy, rounds, scale, settings } = results
  const run = { Rounds: String(rounds), Events: `${shown(100 * scale)} % of the usual number` }
  const peers = settings.map(({ who, settings: how }) => `- **${who}**: ${how}`)
  const page = [
    INTRO,
    ...(wasBusy ? [BUSY] : []),
    '## The machine',
    table(['', ''], Object.entries({ ...machine, ...run })),
    ...(peers.length > 0
      ? ['Measured beside it, as described by the people who set it up:', peers.join('\n')]
      : []),
    ...SECTIONS.flatMap((section) => [
      section.text,
      `![${section.plot.title}](${section.plot.file})`,
      tableOf(section, results),
    ]),
    PEERS,
  ]
  const plots = SECTIONS.map((section) => [section.plot.file, plotOf(section, results)] as const)
  return { 'measured.md': page.join('\n\n'), ...Object.fromEntries(plots) }
}

const tableOf = ({ bench, columns, cells }: Section, results: Results): string => {
  const measured = casesOf(results, bench).flatMap((one) => one.measured)
  return table(
    columns,
    measured.map((one) => [one.case, one.who, ...cells(one)]),
  )
}

const plotOf = ({ bench, plot: { title, unit, parts } }: Section, results: Results): string => {
  const groups = casesOf(results, bench).map(({ name, measured }) => {
    return { label: name, bars: measured.map((one) => ({ label: one.who, parts: parts(one) })) }
  })
  return plotSvg({ title, unit, groups })
}

/** Numbers are right-aligned. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumber = (column: number) => rows.every((row) => /^[\d.,–]+$/.test(row[column] ?? ''))
  return markdownTable([head, ...rows], { align: head.map((_, column) => (isNumber(column) ? 'r' : null)) })
}
