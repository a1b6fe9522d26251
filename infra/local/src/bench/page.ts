import { plotSvg, shown, type Plot } from './plot.js'
import { casesOf, ofCase, partsOf, type Measured, type Results } from './results.js'

/** The page and its plots: content by file name. */
export function pageOf(results: Results): Record<string, string> {
  const plots = plotsOf(results)
  const images = Object.fromEntries(
    Object.entries(plots).map(([name, plot]) => [`images/bench-${name}.svg`, plotSvg(plot)]),
  )
  return { 'measured.md': markdown(results, plots), ...images }
}

const INTRO = `# Measured side by side

What \`npm run bench\` measured on one machine, in one run. The page is written by that command; run it on the machine that you would use.
Everything shares the machine: the load, the receiver, PostgreSQL, Redis and the services. In each round all take their turn on the
same load, after one round that warms up, and a figure is the median of the rounds. The raw limit is what Node does with the same
database and the same requests and nothing else: no checks, no limits, no log, no retries. Read the ratios; a busy machine has other figures.`

const BUSY = `**Other work kept this machine busy while it measured**, as its load average below says. Rates are far below and times far above what it can
do; ratios and CPU times mean something, the rest does not. Write the page again where nothing else runs.`

function markdown(results: Results, plots: Record<string, Plot>): string {
  const { machine, wasBusy, rounds, scale, settings } = results
  const image = (name: string) => `![${plots[name]?.title ?? ''}](images/bench-${name}.svg)`
  const peers = settings.map(({ who, settings: how }) => `- **${who}**: ${how}`)
  return [
    INTRO,
    ...(wasBusy ? [BUSY] : []),
    '## The machine',
    table(
      ['', ''],
      Object.entries({
        ...machine,
        Rounds: String(rounds),
        Events: `${shown(100 * scale)} % of the usual number`,
      }),
    ),
    ...(peers.length > 0 ? ['Beside it ran, as those who ran it describe it:', peers.join('\n')] : []),
    '## From a request to its arrival',
    'Events are published one by one over HTTP and arrive as signed HTTPS requests. Times run from the moment at which an event was due to its arrival; in a burst they are the time of waiting in line.',
    image('deliveries'),
    wholeWayTable(results),
    '### CPU time of one delivery, by process',
    image('cpu'),
    cpuTable(results),
    '## Requests to the identity server',
    'Over HTTP, sixteen at a time, sign-ins twice as many as cores. What the processor can hash is the limit of sign-ins.',
    image('identity'),
    identityTable(results),
    '## Another product in the same harness',
    '[Peers](peers.md) says how to measure one beside ours, and what makes the comparison fair.\n',
  ].join('\n\n')
}

function wholeWayTable(results: Results): string {
  return table(
    ['Case', 'Who', 'Deliveries a second', 'p50, ms', 'p99, ms'],
    rowsOf(results, 'pipeline', pace),
  )
}

function cpuTable(results: Results): string {
  const rows = rowsOf(results, 'pipeline', (one) => [
    cpuByProcess(one) || 'not measured',
    number(one, 'cpuUs'),
  ])
  return table(['Case', 'Who', 'Each process, µs', 'Together, µs'], rows)
}

function identityTable(results: Results): string {
  const rows = rowsOf(results, 'common', (one) => [...pace(one), cpuByProcess(one) || '–'])
  return table(['Request', 'Who', 'A second', 'p50, ms', 'p99, ms', 'CPU time of each process, µs'], rows)
}

/** A row for each that was measured: the case, who, and further cells. */
const rowsOf = (results: Results, bench: Measured['bench'], cells: (one: Measured) => string[]) =>
  casesOf(results, bench).flatMap((name) =>
    ofCase(results, name).map((one) => [name, one.who, ...cells(one)]),
  )

const pace = (one: Measured) => [shown(one.value), number(one, 'p50Ms'), number(one, 'p99Ms')]
const number = ({ others }: Measured, name: string) => shown(others[name] ?? NaN)
const cpuByProcess = (one: Measured) =>
  partsOf(one)
    .map(([part, us]) => `${part} ${shown(us)}`)
    .join(', ')

/** Numbers to the right. Prettier, which formats the page, makes all cells of a column equally wide. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumber = (_: string, column: number) => rows.every((row) => /^[\d.,–]+$/.test(row[column] ?? ''))
  const rule = head.map(isNumber).map((toTheRight) => (toTheRight ? '--:' : '---'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function plotsOf(results: Results): Record<'deliveries' | 'cpu' | 'identity', Plot> {
  const groups = (
    bench: Measured['bench'],
    barOf: (one: Measured) => Plot['groups'][number]['bars'][number],
  ) => casesOf(results, bench).map((name) => ({ label: name, bars: ofCase(results, name).map(barOf) }))
  const rate = (one: Measured) => ({ label: one.who, parts: [{ name: one.who, value: one.value }] })
  const cpu = (one: Measured) => ({
    label: one.who,
    parts: partsOf(one).map(([name, value]) => ({ name, value })),
  })
  return {
    deliveries: { title: 'Deliveries a second', unit: '/s', groups: groups('pipeline', rate) },
    cpu: { title: 'CPU time of one delivery', unit: 'µs', groups: groups('pipeline', cpu) },
    identity: { title: 'Requests a second', unit: '/s', groups: groups('common', rate) },
  }
}
