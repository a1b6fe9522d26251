import { join } from 'node:path'
import { diagrams } from './diagrams.mjs'
import { copyLinkedFiles, repositoryLinks } from './links.mjs'
import { componentFixes } from './component-fixes.mjs'
import { copyPages, HOME, root, sidebar } from './pages.mjs'
import { withPolicy } from './policy.mjs'

/** @type {import('vitepress').UserConfig} */
export default {
  title: 'Signet',
  description:
    'Sign people in, and tell their tools what happened: an identity server, webhooks and their delivery',
  lang: 'en',
  // An empty icon, because browsers would otherwise request one that does not exist.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: copyPages(),
  outDir: join(root, 'infra/site/dist'),
  cacheDir: join(root, '.cache/site'),
  base: process.env.SITE_BASE ?? '/',
  rewrites: { [HOME]: 'index.md' },
  ignoreDeadLinks: false,
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slug },
    config: (md) => md.use(diagrams).use(repositoryLinks).use(plainBraces).use(emptyHeadings),
  },
  transformHtml: withPolicy,
  buildEnd: ({ outDir }) => copyLinkedFiles(outDir),
  vite: { plugins: [componentFixes], build: { chunkSizeWarningLimit: 3000 } },
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: false, next: false },
  },
}

/** Our Markdown is not a template, so braces in it are literal. */
function plainBraces(md) {
  const { renderer } = md
  const render = renderer.render.bind(renderer)
  renderer.render = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
}

/** In a table that also has headings on its left, the first cell is not a heading. */
function emptyHeadings(md) {
  md.core.ruler.push('empty-headings', ({ tokens }) => {
    for (const [index, { type, content }] of tokens.entries()) {
      const [before, after] = [tokens[index - 1], tokens[index + 1]]
      if (type === 'inline' && content === '' && before.type === 'th_open') before.tag = after.tag = 'td'
    }
  })
}

/** Makes the same anchors for headings as code hosts, so that a link works in both places. */
function slug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}
