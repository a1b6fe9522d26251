// Makes links that work on a code host work on the site: they lead to a page, or to a file that is then copied next to the pages.
import { copyFileSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { HOME, markdownFiles, PAGES, root } from './pages.mjs'

const pages = new Set(markdownFiles())
const linkedFiles = new Set()

/** A markdown-it plug-in. */
export function repositoryLinks(md) {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const from = relative(PAGES, env.realPath ?? env.path)
    for (const token of tokens.flatMap((block) => [block, ...(block.children ?? [])])) {
      if (token.type === 'link_open') token.attrSet('href', addressOf(token.attrGet('href'), from))
      // Vue reads a picture's address without a dot as the name of a package.
      if (/^html_/.test(token.type))
        token.content = token.content.replaceAll(/\bsrc="(?=\w)(?!\w+:)/g, 'src="./')
    }
  })
}

/** Browsers show text, and offer other files for download, so sources are copied with `.txt` added. */
export function copyLinkedFiles(outDir) {
  for (const file of linkedFiles) {
    const copy = join(outDir, textName(file))
    mkdirSync(dirname(copy), { recursive: true })
    copyFileSync(join(root, file), copy)
  }
}

function addressOf(href, from) {
  const [target, anchor] = href.split('#')
  if (/^[a-z]+:/.test(href) || target === '') return href
  const file = posix.join(posix.dirname(from), decodeURIComponent(target)).replace(/\/$/, '')
  const page = [file, `${file}/README.md`].find((name) => pages.has(name))
  const hash = anchor === undefined ? '' : `#${anchor}`
  if (page) return `/${page === HOME ? '' : page.replace(/\.md$/, '')}${hash}`
  if (!statSync(join(root, file), { throwIfNoEntry: false })?.isFile())
    throw new Error(`${from}: the link to ${target} leads to no page and no file`)
  linkedFiles.add(file)
  return `/${textName(file)}`
}

const textName = (file) => (file.endsWith('.json') ? file : `${file}.txt`)
