import { route, type Route } from '@signet/http'
import { KEPT } from '../context/kept-fields.js'
import { pageDocs } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'

const PREFIX = '/ui'

/** This page shows nothing without the query of an emailed link. */
const OF_LINKS = '/ui/link'

/** Routes for all paths that only take forms. Reloading one leads to the nearest page above it. */
export function reloadRoutes({ pages }: UiDeps, routes: readonly Route[]): Route[] {
  const shown = new Set(routes.flatMap(({ method, path }) => (method === 'get' ? [path] : [])))
  const goals = new Set([...shown].filter((path) => path !== OF_LINKS))
  const forms = routes.filter(
    ({ method, path, body }) => method === 'post' && body?.as === 'form' && !shown.has(path),
  )
  return forms.map(({ path }) =>
    route({
      method: 'get',
      path,
      docs: pageDocs('A reload after a form, which leads to the page with the form'),
      handle({ req, res }) {
        const length = pageAbove(path, goals).split('/').length
        const page = req.path.split('/').slice(0, length).join('/').slice(PREFIX.length)
        const { [KEPT]: kept } = req.query
        const more: Record<string, string> = typeof kept === 'string' ? { [KEPT]: kept } : {}
        return pages.redirect(pages.path(page, pages.open(req, res).context, more))
      },
    }),
  )
}

function pageAbove(path: string, shown: ReadonlySet<string>): string {
  const above = path.slice(0, path.lastIndexOf('/'))
  return above === '' || above === PREFIX || shown.has(above) ? above || PREFIX : pageAbove(above, shown)
}
