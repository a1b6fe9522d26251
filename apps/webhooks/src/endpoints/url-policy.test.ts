import { describe, expect, it } from '@jest/globals'
import { AddressGuard } from '@signet/address-guard'
import { parsePortRanges } from '../config/port-ranges.js'
import { UrlPolicy, UrlRefusedError } from './url-policy.js'

const PUBLIC = [{ address: '1.1.1.1', family: 4 as const }]
const names: Record<string, { address: string; family: 4 | 6 }[]> = {
  'private.example.com': [{ address: '10.0.0.1', family: 4 }],
  'mixed.example.com': [...PUBLIC, { address: '::ffff:10.0.0.1', family: 6 }],
  'empty.example.com': [],
}
const resolver = (hostname: string) =>
  hostname === 'missing.example.com'
    ? Promise.reject(new Error('NXDOMAIN'))
    : Promise.resolve(names[hostname] ?? PUBLIC)

const allowedPorts = parsePortRanges('443,1024-65535')
const ownHosts = ['hooks.signet.example', 'Auth.Signet.Example.']
const policy = new UrlPolicy({ guard: new AddressGuard({ resolver }), allowedPorts, ownHosts })
const open = new UrlPolicy({
  guard: new AddressGuard({ allowPrivateTargets: true, resolver }),
  allowedPorts,
})

describe('UrlPolicy', () => {
  it.each([
    'https://example.com',
    'HTTPS://Example.COM/Hook?a=b%20c',
    'https://example.com:443/',
    'https://example.com:1024/x',
    'https://example.com:65535/x',
    'https://example.com./hook',
    'https://bücher.example/hook',
    'https://1.1.1.1/hook',
    'https://[2606:4700::1111]/hook',
    'https://example.com/a@b',
    `https://example.com/${'a'.repeat(2048 - 20)}`,
    `https://example.com/${'😀'.repeat(2048 - 20)}`,
  ])('accepts %s and keeps it as it was given', async (url) => {
    expect(await policy.accept(url)).toEqual({ url, href: new URL(url).href })
  })

  it.each([
    ['', /1 to 2048/],
    [`https://example.com/${'a'.repeat(2048 - 19)}`, /1 to 2048/],
    [`https://example.com/${'😀'.repeat(2048 - 19)}`, /1 to 2048/],
    ['http://example.com', /https/],
    ['ftp://example.com', /https/],
    ['https:example.com', /https/],
    ['https:/example.com', /https/],
    [' https://example.com', /https/],
    ['//example.com', /https/],
    ['https://exa mple.com', /spaces/],
    ['https://example.com/\n', /control/],
    ['https://example.com\t/', /control/],
    ['https://example.com\\@evil.example/', /backslash/],
    ['https://example.com\u00a0/', /spaces/],
    ['https://example.com/\u202egpj.exe', /invisible/],
    ['https://example.com/\u2066a\u2069', /invisible/],
    ['https://example.com/\u200bx', /invisible/],
    ['https://example.com/\u3164x', /invisible/],
    ['https://example.com/\uffa0\u115f\u17b4', /invisible/],
    ['https://example.com/a\ufe0f', /invisible/],
    ['https://example.com/a\u034f\u{e0100}', /invisible/],
    ['https://example.com/\u2800', /invisible/],
    ['https://example.com/\ue000', /invisible/],
    ['https://example.com/\ufdd0', /invisible/],
    ['https:///example.com/hook', /host right after/],
    ['https:////example.com', /host right after/],
    ['https:///', /host right after/],
    ['https://exa\tmple.com/', /control/],
    ['https:/\\example.com/', /https/],
    ['https://', /valid/],
    ['https://.', /valid/],
    ['https://./hook', /valid/],
    ['https://exa%00mple.com/', /valid/],
    ['https://1.2.3.4.5/', /valid/],
    ['https://user@example.com/', /credentials/],
    ['https://user:pw@example.com/', /credentials/],
    ['https://:@example.com/', /credentials/],
    ['https://@example.com/', /credentials/],
    ['https://example.com/#', /fragment/],
    ['https://example.com/#a', /fragment/],
    ['https://example.com/\ud800x', /characters/],
    ['https://example.com:22/', /port/],
    ['https://example.com:80/', /port/],
    ['https://example.com:1023/', /port/],
    ['https://localhost/', /host name/],
    ['https://localhost:8443/', /host name/],
    ['https://LOCALHOST./', /host name/],
    ['https://receiver/', /host name/],
    ['https://a..example.com/', /host name/],
    ['https://example.com../', /host name/],
    ['https://hooks.signet.example../', /host name/],
    ['https://a.localhost/', /host name/],
    ['https://printer.local/', /host name/],
    ['https://metadata.google.internal/', /host name/],
    ['https://wiki.intranet/', /host name/],
    ['https://nas.lan/', /host name/],
    ['https://nas.home/', /host name/],
    ['https://nas.home.arpa./', /host name/],
    ['https://git.corp/', /host name/],
    ['https://a.test/', /host name/],
    ['https://a.invalid/', /host name/],
    ['https://a.onion/', /host name/],
    ['https://hooks.signet.example/x', /this service/],
    ['https://HOOKS.signet.example./x', /this service/],
    ['https://auth.signet.example:8443/x', /this service/],
    ['https://private.example.com/', /public addresses only$/],
    ['https://mixed.example.com/', /public addresses only$/],
    ['https://empty.example.com/', /public addresses only$/],
    ['https://missing.example.com/', /public addresses only$/],
    ['https://127.0.0.1/', /public addresses only$/],
    ['https://127.0.0.1./', /public addresses only$/],
    ['https://0x7f.1/', /public addresses only$/],
    ['https://2130706433/', /public addresses only$/],
    ['https://0177.0.0.1/', /public addresses only$/],
    ['https://127.1/', /public addresses only$/],
    ['https://0/', /public addresses only$/],
    ['https://%31%32%37.0.0.1/', /public addresses only$/],
    ['https://１２７.０.０.１/', /public addresses only$/],
    ['https://①②⑦.0.0.1/', /public addresses only$/],
    ['https://169.254.169.254/', /public addresses only$/],
    ['https://[::1]/', /public addresses only$/],
    ['https://[::ffff:127.0.0.1]/', /public addresses only$/],
    ['https://[::ffff:7f00:1]/', /public addresses only$/],
    ['https://[64:ff9b::127.0.0.1]/', /public addresses only$/],
    ['https://[fd00:ec2::254]/', /public addresses only$/],
    ['https://[fe80::1]/', /public addresses only$/],
  ])('refuses %j', async (url, message) => {
    await expect(policy.accept(url)).rejects.toThrow(UrlRefusedError)
    await expect(policy.accept(url)).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(message),
    })
  })

  it('names no address and no host in its refusals', async () => {
    for (const host of ['private.example.com', 'missing.example.com', '127.0.0.1']) {
      const error = await policy.accept(`https://${host}/`).catch((refused: Error) => refused)
      expect((error as Error).message).not.toMatch(/example|10\.|127\./)
    }
  })

  it('takes http and private hosts where private targets are switched on, and nothing looser than that', async () => {
    await expect(open.accept('http://localhost:8080/hook')).resolves.toMatchObject({
      url: 'http://localhost:8080/hook',
    })
    await expect(open.accept('http://private.example.com/hook')).resolves.toBeDefined()
    await expect(open.accept('http://private.example.com:80/hook')).resolves.toBeDefined()
    await expect(open.accept('https://private.example.com:80/')).rejects.toThrow(/port 80/)
    await expect(open.accept('https://[::1]:8443/')).resolves.toBeDefined()
    await expect(open.accept('ftp://localhost/')).rejects.toThrow(UrlRefusedError)
    await expect(open.accept('http://a:b@localhost:8080/')).rejects.toThrow(UrlRefusedError)
    await expect(open.accept('http://localhost:22/')).rejects.toThrow(UrlRefusedError)
    await expect(open.accept('https://./')).rejects.toThrow(UrlRefusedError)
  })
})
