import { route, type Route } from '@signet/http'
import type { PageResponder } from '../pages/page-responder.js'
import { pageDocs } from './page-form.js'

/**
 * If a form is refused before it is processed, its address stays in the address bar. Redirects a person who opens that address later to
 * the nearest of `pages` above it, or to the start page.
 */
export function waysBack(
  responder: PageResponder,
  { forms, pages }: { forms: readonly Route[]; pages: ReadonlySet<string> },
): Route[] {
  return forms
    .filter(({ method, path }) => method === 'post' && !pages.has(path))
    .map(({ path }) => {
      const segments = path.split('/')
      while (segments.length > 1 && !pages.has(segments.join('/'))) segments.pop()
      return route({
        method: 'get',
        path,
        docs: pageDocs(`leave${inCamelCase(path)}`, 'Redirect from the address of a form to its page'),
        handle({ req }) {
          const above = req.path.split('/').slice(0, segments.length).join('/')
          return responder.redirect(303, responder.path(above === '' ? '/' : above))
        },
      })
    })
}

const inCamelCase = (path: string): string =>
  path.replace(/[^a-z]+([a-z]?)/gi, (_, letter: string) => letter.toUpperCase())
