/**
 * Parses a URL (WHATWG URL), or returns null. Replaces `URL.canParse`, which in Node 20 starts to return false for URLs with letters
 * such as `ü` once the engine has optimized the call, after some thousand requests.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}
