// Decides which Markdown files of the repository are pages, and where the sidebar lists them. A file that fits nowhere fails the build.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../..', import.meta.url))
export const HOME = 'infra/site/index.md'
export const PAGES = join(root, 'infra/site/pages')

/**
 * In the order of the sidebar. The first pattern that matches a file determines its place, and the order of the patterns determines its
 * rank.
 */
const SECTIONS = [
  {
    text: 'Start',
    files: [/^infra\/site\/why-signet\.md$/, /^README\.md$/, /^infra\/site\/(?!measured|peers)[\w-]+\.md$/],
  },
  {
    text: 'Tutorials',
    files: [/tutorials\/sign-in\.md$/, /tutorials\/receive\.md$/, /^infra\/site\/tutorials\//],
  },
  {
    text: 'How to',
    files: [
      /^packages\/webhook-verify\/README\.md$/,
      /^packages\/cli\/README\.md$/,
      /^apps\/webhooks\/docs\/(publishing|mcp|interop)\.md$/,
      /^apps\/auth\/docs\/(sign-in-page|providers|account-events|row-level-security|keys)\.md$/,
    ],
  },
  {
    text: 'Reference',
    files: [
      /\/docs\/specification\.md$/,
      /\/docs\/(configuration|errors)\.md$/,
      /\/docs\/commands\.md$/,
      /\/CHANGELOG\.md$/,
    ],
  },
  {
    text: 'Operations',
    files: [
      /^infra\/(docker|kubernetes|monitoring|release)\//,
      /^infra\/(sizing|backups)\.md$/,
      /^infra\/site\/(measured|peers)\.md$/,
      /\/docs\/telemetry\.md$/,
      /\/docs\/(performance|bench)\.md$/,
      /\/runbooks\/README\.md$/,
      /\/runbooks\//,
    ],
  },
  { text: 'How it works', files: [/^apps\/.*\.md$/, /^packages\/.*\.md$/] },
  { text: 'Decisions', files: [/^infra\/decisions\/README\.md$/, /^infra\/decisions\//] },
]
/** Folders that begin with a dot contain forms and rules for the code host, not pages. */
export const markdownFiles = () => tracked('*.md').filter((file) => !file.startsWith('.'))

/** VitePress finds Vue only from inside this package, so the build reads a copy of the pages and their pictures. */
export function copyPages() {
  rmSync(PAGES, { recursive: true, force: true })
  for (const file of [...markdownFiles(), ...tracked('*.png', '*.svg', '*.gif')])
    cpSync(join(root, file), join(PAGES, file))
  return PAGES
}

function tracked(...patterns) {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns]
  const files = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n')
  return files.filter((file) => file !== '' && existsSync(join(root, file)))
}

/** Returns the sidebar, which lists every page once. */
export function sidebar(files = markdownFiles()) {
  const groups = SECTIONS.map(({ text }) => ({ text, collapsed: false, items: [] }))
  for (const file of files.filter((name) => name !== HOME).sort(byRank)) {
    const { section } = placeOf(file)
    groups[section].items.push({ text: labelOf(file), link: `/${file.replace(/\.md$/, '')}` })
  }
  for (const group of groups.filter(({ items }) => items.length > 12)) group.collapsed = true
  return groups
}

const byRank = (a, b) => placeOf(a).rank - placeOf(b).rank || a.localeCompare(b)

function placeOf(file) {
  for (const [section, { files }] of SECTIONS.entries()) {
    const rank = files.findIndex((pattern) => pattern.test(file))
    if (rank !== -1) return { section, rank }
  }
  throw new Error(`${file} has no place in the sidebar: give it one in infra/site/.vitepress/pages.mjs`)
}

/** Labels for pages, because names of packages say little in a list. */
const LABELS = {
  'README.md': 'Signet',
  'packages/webhook-verify/README.md': 'Verify deliveries',
  'packages/cli/README.md': 'The command-line tool',
}

/** Returns the first heading, together with the app if several apps have such a page. */
function labelOf(file) {
  if (LABELS[file]) return LABELS[file]
  const [, heading = file] = /^# (.+)$/m.exec(readFileSync(join(root, file), 'utf8')) ?? []
  const title = heading.replaceAll('`', '')
  const app = /^apps\/([^/]+)\/(?:docs\/(?:specification|configuration|errors|performance)|CHANGELOG)/.exec(
    file,
  )?.[1]
  const owner = app ?? /^packages\/([^/]+)\/CHANGELOG/.exec(file)?.[1]
  return owner === undefined || title.toLowerCase().includes(owner) ? title : `${owner}: ${title}`
}
