import { pageScript } from '@signet/pages'

/**
 * Asks the browser for a passkey or a security key, and sends its answer with the form around the button. The options are in the page, so
 * the script makes no requests. A form with `data-autofill` also offers passkeys while an address is typed. If the browser does not support
 * this, the button stays hidden and the text in its place stays visible.
 */
const SCRIPT = `{
  const can = typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential
  for (const form of document.querySelectorAll('form[data-webauthn]')) {
    if (!can) break
    const { webauthn, options, autofill, failed } = form.dataset
    const button = form.querySelector('button')
    const status = form.querySelector('[role=status]')
    const json = JSON.parse(options)
    let waiting
    const ask = async (more) => {
      waiting?.abort()
      waiting = new AbortController()
      const { signal } = waiting
      const credential =
        webauthn === 'create'
          ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(json), signal })
          : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(json), signal, ...more })
      form.elements.credential.value = JSON.stringify(credential)
      form.submit()
    }
    button.addEventListener('click', () => {
      status.textContent = ''
      button.setAttribute('aria-busy', 'true')
      ask({}).catch(() => {
        button.removeAttribute('aria-busy')
        status.textContent = failed
      })
    })
    // An unanswered browser prompt must not block the prompt of the next page.
    addEventListener('pagehide', () => waiting?.abort())
    form.hidden = false
    for (const instead of document.querySelectorAll('[data-webauthn-instead]')) instead.hidden = true
    // The person has not asked for anything yet, so a failure stays silent.
    if (autofill !== undefined)
      PublicKeyCredential.isConditionalMediationAvailable?.().then((offered) => {
        if (offered && waiting === undefined) ask({ mediation: 'conditional' }).catch(() => undefined)
      })
  }
}
`

/** The script of pages that ask for a passkey or security key, to be served by the service. */
export const passkeyScript = pageScript(SCRIPT)
