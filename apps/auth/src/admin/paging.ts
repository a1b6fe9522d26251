import { invalid } from '../errors/auth-error.js'

export type Page = { number: number; size: number }

const DEFAULT_SIZE = 50
/** Larger pages would only tie up memory on both sides. */
const MAX_SIZE = 1000
/** Characters of the other parameters in a link. Many proxies and clients accept 8 KiB of headers, and there are two links. */
const MAX_PARAMETERS = 2000

/** `page` and `per_page` of a query; empty strings and 0 mean the default. */
export function pageOf(query: Readonly<Record<string, unknown>>): Page {
  const number = numberOf(query['page'], 'page') || 1
  const size = Math.min(numberOf(query['per_page'], 'per_page') || DEFAULT_SIZE, MAX_SIZE)
  return { number, size }
}

function numberOf(value: unknown, name: string): number {
  if (value === undefined || value === '') return 0
  if (typeof value !== 'string' || !/^\d{1,9}$/.test(value))
    throw invalid(`Bad Pagination Parameters: ${name}`)
  return Number(value)
}

/** A parameter used as text in a query; PostgreSQL accepts no NUL in it. */
export function textOf(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value !== 'string') throw invalid('A parameter is given more than once')
  if (value.includes('\0')) throw invalid('A parameter contains invalid characters')
  return value
}

/**
 * The paging headers of docs/specification.md#lists. The client reads the first number after the first `=`, so `page` is the first
 * parameter. The only comma is the one between links. `others` are the remaining parameters of the list, without which another
 * page would be one of another list.
 */
export function pagingHeaders(
  path: string,
  page: Page,
  total: number,
  others: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const last = Math.ceil(total / page.size)
  const rest = Object.entries(others)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `&${name}=${encodeURIComponent(value)}`)
    .join('')
  const link = (number: number, rel: string) =>
    `<${path}?page=${number}&per_page=${page.size}${rest}>; rel="${rel}"`
  if (rest.length > MAX_PARAMETERS) return { 'X-Total-Count': String(total) }
  const links = [...(page.number < last ? [link(page.number + 1, 'next')] : []), link(last, 'last')]
  return { 'X-Total-Count': String(total), Link: links.join(', ') }
}
