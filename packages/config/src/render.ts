import type { Setting, Settings } from './settings.js'

const NOTICE = 'Generated from the settings table by `npm run docs`; change the table, not this file.'

/** A limit that no setting changes. */
export type FixedLimit = { readonly of: string; readonly limit: string }

/** Renders the settings as a Markdown page with one table row per variable, followed by the limits that cannot be set. */
export function renderMarkdown(
  title: string,
  settings: Settings,
  fixedLimits: readonly FixedLimit[] = [],
): string {
  const rows = Object.values(settings).map(
    (setting) =>
      `| ${setting.env.map((name) => `\`${name}\``).join(' or ')} | ${cell(setting.kind)} | ${cell(defaultOf(setting))} | ${cell(setting.doc)}${setting.secret ? ' Secret.' : ''} |`,
  )
  return [
    `# ${title}`,
    '',
    NOTICE,
    '',
    '| Variable | Kind | Default | Meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    ...(fixedLimits.length > 0 ? fixedLimitTable(fixedLimits) : []),
  ].join('\n')
}

const fixedLimitTable = (limits: readonly FixedLimit[]): string[] => [
  '## Fixed limits',
  '',
  '| Of | Limit |',
  '| --- | --- |',
  ...limits.map(({ of, limit }) => `| ${of} | ${limit} |`),
  '',
]

/** Renders the settings as an `.env` file to start from. Optional settings are commented out and show their default. */
export function renderEnvExample(settings: Settings): string {
  const blocks = Object.values(settings).map((setting) => {
    const name = setting.env[0] ?? ''
    return `# ${setting.doc}\n${setting.required ? `${name}=` : `# ${name}=${plain(setting)}`}`
  })
  return [`# ${NOTICE}`, ...blocks].join('\n\n') + '\n'
}

function defaultOf(setting: Setting<unknown>): string {
  if (setting.required) return '**required**'
  if (setting.fallbackDoc !== undefined) return setting.fallbackDoc
  const value = plain(setting)
  return value === '' ? '–' : `\`${value}\``
}

/** The default as an operator would write it. For a structured value, that is the code in its documented default. */
function plain({ fallback, fallbackDoc, kind }: Setting<unknown>): string {
  if (fallback === undefined || fallback === null) return ''
  if (isRecord(fallback)) return /^`([^`]+)`$/.exec(fallbackDoc ?? '')?.[1] ?? ''
  if (kind === 'duration') return `${Number(fallback) / 1000}s`
  if (Array.isArray(fallback)) return fallback.join(',')
  return typeof fallback === 'string' ? fallback : JSON.stringify(fallback)
}

const isRecord = (value: unknown) => typeof value === 'object' && !Array.isArray(value)

const cell = (value: string) => value.replaceAll('|', '\\|').replaceAll('\n', ' ')
