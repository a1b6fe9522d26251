/**
 * The URL that a text is (WHATWG URL), or null. In place of `URL.canParse`, which in Node 20 begins to answer false for URLs with
 * letters such as `ü` once the engine has optimized the call, after some thousand requests.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}
