/** Opens the address in the user's browser, or in the program from BROWSER. Returns false if nothing could be started. */
export async function openBrowser(url: URL, program: string | undefined): Promise<boolean> {
  try {
    // Loaded here because most commands never need it.
    const { default: open } = await import('open')
    await open(url.href, program === undefined ? {} : { app: { name: program } })
    return true
  } catch {
    return false
  }
}
