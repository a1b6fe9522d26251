import { FormBrowser } from '@signet/testkit'
import { pageCatalogues } from '../../src/pages/texts.js'

/** A browser of somebody who prefers German. */
export const germanBrowser = (origin: string): FormBrowser =>
  new FormBrowser(origin, { 'accept-language': 'de-AT, de;q=0.9, en;q=0.5' })

/** The English texts on a page, except those that are the same in both languages. */
export function englishIn(page: string): string[] {
  const words = page
    .replace(/<(pre|style|code)\b[^]*?<\/\1>/g, '')
    .replace(/<span lang="en">[^<]*<\/span>/g, '')
    .replace(/<(?!\w+ [^>]*aria-label)[^>]*>/g, ' | ')
  const german = Object.values(pageCatalogues.de).join(' ')
  return Object.values(pageCatalogues.en)
    .flatMap((text) => text.split(/\{[^}]*\}|<[^>]*>/))
    .map((text) => text.trim())
    .filter((text) => /\w{3}/.test(text) && !german.includes(text))
    .filter((text) => new RegExp(`(?<!\\w)${text.replace(/[^\w\s]/g, '\\$&')}(?!\\w)`).test(words))
}
