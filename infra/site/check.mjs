// `npm run site -- check`: checks the site in infra/site/dist. All links and pictures must lead somewhere. The pages below, one of each
// kind, are opened in Chromium in light and dark mode, on a phone and on a desktop.
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, posix } from 'node:path'
import { bootstrap, BootstrapError } from '../local/bootstrap.mjs'
import { ensureChromium } from '../checks/chromium.mjs'

const PAGES = [
  '/index',
  '/README',
  '/infra/site/overview',
  '/infra/site/why-signet',
  '/infra/site/measured',
  '/infra/site/tutorials/sign-in',
  '/packages/cli/README',
  '/apps/webhooks/docs/specification',
  '/apps/auth/docs/providers',
  '/infra/decisions/README',
]
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

/** Returns what is wrong with the site in a folder, one line per problem. */
export async function faultsOfSite(dist) {
  return [...deadReferences(dist), ...(await faultsInBrowser(dist))]
}

/** Returns links to pages, anchors and files, and sources of pictures, that do not exist. */
function deadReferences(dist) {
  const files = new Set(readdirSync(dist, { recursive: true }).map((file) => `/${file}`))
  const pages = new Map(
    [...files].filter((file) => file.endsWith('.html')).map((file) => [file, partsOf(join(dist, file))]),
  )
  return [...pages].flatMap(([page, { references }]) =>
    references
      .filter((reference) => !/^[a-z]+:/.test(reference))
      .filter((reference) => {
        const { pathname, hash } = new URL(reference, `http://site${page}`)
        const file = decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname)
        return !files.has(file) || (hash && !pages.get(file)?.anchors.has(decodeURIComponent(hash.slice(1))))
      })
      .map((reference) => `${page}: ${reference} leads nowhere`),
  )
}

function partsOf(file) {
  const html = readFileSync(file, 'utf8').replaceAll(/<script[^]*?<\/script>/g, '')
  const values = (pattern) => [...html.matchAll(pattern)].map(([, value]) => value.replaceAll('&amp;', '&'))
  return { references: values(/\s(?:href|src)="([^"]+)"/g), anchors: new Set(values(/\sid="([^"]+)"/g)) }
}

async function faultsInBrowser(dist) {
  const noBrowser = await ensureChromium()
  if (noBrowser) throw new BootstrapError(`The site is not looked at: ${noBrowser}`)
  await bootstrap({ projects: ['packages/testkit/tsconfig.build.json'] })
  const { launchChromium } = await import('../../packages/testkit/dist/chromium.js')
  const { faultsOfPages } = await import('../../packages/testkit/dist/page-walk.js')
  const server = serve(dist)
  await once(server, 'listening')
  const browser = await launchChromium(process.env.CHROMIUM_BIN)
  try {
    const base = `http://127.0.0.1:${server.address().port}`
    const faults = await faultsOfPages(browser, { base, paths: PAGES, language: 'en' })
    // VitePress has buttons with only an icon, which have no name in the text.
    return faults.filter((fault) => !fault.includes(': more than one is named '))
  } finally {
    await browser.close()
    server.close()
  }
}

/** Serves the site as hosts of such sites do: an address without an extension is a page. */
function serve(dist) {
  const server = createServer((request, response) => {
    const path = posix.normalize(decodeURIComponent(new URL(request.url, 'http://site').pathname))
    const type = TYPES[extname(path) || '.html']
    try {
      const body = readFileSync(join(dist, extname(path) ? path : `${path}.html`))
      response.writeHead(200, type && { 'content-type': type }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  return server.listen(0, '127.0.0.1')
}
