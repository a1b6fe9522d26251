import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from '@jest/globals'
import { verify, WebhookVerificationError } from '../src/index.js'
import { vectors, type VectorCase } from './vectors.js'

// Runs each single-file verifier of verifiers/ in its language, against the vectors that the library must pass, too.

const VERIFIERS = fileURLToPath(new URL('../verifiers', import.meta.url))

/** Invalid secrets. They are a mistake of the caller, so every language has a separate error for them. */
const USELESS_SECRETS = [
  [],
  [''],
  ['AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'],
  ['whsec_'],
  ['whsec_AAECAwQFBgcICQoLDA0O'],
  [`whsec_${'A'.repeat(88)}`],
  [`${vectors.secret}\n`],
  [`${vectors.secret}===`],
  [vectors.secret, 'whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!'],
]

const { cases } = vectors
const [valid] = cases as [VectorCase]
const standard = cases.find(
  ({ verdict, headers }) => verdict === 'accepted' && 'webhook-signature' in headers,
) as VectorCase
const useless = USELESS_SECRETS.map((secrets) => ({
  ...valid,
  name: `the secrets ${JSON.stringify(secrets)}`,
  verdict: 'invalid_secret',
  secrets,
}))
const asked = [...cases, ...useless]

const GO = { GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOPROXY: 'off', CGO_ENABLED: '0' }

type Language = {
  name: string
  /** A command that succeeds if the language is installed. */
  probe: string[]
  verifier: string
  /** Where the verifier goes, if not next to the driver. */
  as?: string
  files: Record<string, string>
  run: string[]
  /** Cases that only the servers of this language produce. */
  own?: VectorCase[]
}

const renamed = (name: string, rename: (header: string) => string): VectorCase => ({
  ...valid,
  name,
  headers: Object.fromEntries(Object.entries(valid.headers).map(([key, value]) => [rename(key), value])),
})

const languages: Language[] = [
  {
    name: 'Python',
    probe: ['python3', '--version'],
    verifier: 'signet_webhook.py',
    files: {
      'drive.py': `
import json, sys
from signet_webhook import WebhookRefused, verify
for case in json.load(sys.stdin):
    try:
        event = verify(case["body"].encode(), case["headers"], case["secrets"], now=lambda: case["now"])
        print("accepted" if event == json.loads(case["body"]) else "another event")
    except WebhookRefused as refused:
        print(refused.code)
    except ValueError:
        print("invalid_secret")
`,
    },
    run: ['python3', 'drive.py'],
    // aiohttp decodes the bytes FF and FE like this.
    own: ['webhook-signature', 'webhook-id'].map((name) => ({
      ...standard,
      name: `a ${name} that is not UTF-8`,
      verdict: 'signature_mismatch',
      headers: { ...standard.headers, [name]: 'v1,\udcff\udcfe' },
    })),
  },
  {
    name: 'Go',
    probe: ['go', 'version'],
    verifier: 'signet_webhook.go',
    as: 'signetwebhook/signet_webhook.go',
    files: {
      'go.mod': 'module example.test/hook\n\ngo 1.21\n',
      'main.go': `package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"example.test/hook/signetwebhook"
)

func main() {
	var cases []struct {
		Secrets []string
		Now     int64
		Headers map[string]string
		Body    string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	for _, c := range cases {
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		now := func() time.Time { return time.Unix(c.Now, 0) }
		verifier := signetwebhook.Verifier{Secrets: c.Secrets, Now: now}
		event, err := verifier.Verify([]byte(c.Body), header)
		switch {
		case errors.Is(err, signetwebhook.ErrInvalidSecret):
			fmt.Println("invalid_secret")
		case err != nil:
			fmt.Println(err)
		case strings.Contains(c.Body, event.ID) && strings.Contains(c.Body, string(event.Data)):
			fmt.Println("accepted")
		default:
			fmt.Println("another event")
		}
	}
}
`,
    },
    // The first run on a machine compiles the standard library, which takes a third less time without optimizations,
    // debug information, and the parts in C.
    run: ['go', 'run', '-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w', '.'],
  },
  {
    name: 'PHP',
    probe: ['php', '--version'],
    verifier: 'SignetWebhook.php',
    files: {
      'drive.php': `<?php
require __DIR__ . '/SignetWebhook.php';
foreach (json_decode(stream_get_contents(STDIN), true) as $case) {
    try {
        $event = (new SignetWebhook($case['secrets']))->verify($case['body'], $case['headers'], $case['now']);
        echo $event === json_decode($case['body'], true) ? "accepted\\n" : "another event\\n";
    } catch (SignetWebhookRefused $refused) {
        echo $refused->getMessage(), "\\n";
    } catch (InvalidArgumentException) {
        echo "invalid_secret\\n";
    }
}
`,
    },
    run: ['php', 'drive.php'],
    // Symfony and Laravel give a list of values for each name.
    own: [
      { ...valid, name: 'lists of values', headers: lists(valid.headers, 1) },
      { ...valid, name: 'a repeated header', verdict: 'malformed_header', headers: lists(valid.headers, 2) },
    ],
  },
  {
    name: 'Ruby',
    probe: ['ruby', '--version'],
    verifier: 'signet_webhook.rb',
    files: {
      'drive.rb': `
require_relative 'signet_webhook'
JSON.parse($stdin.read).each do |c|
  event = SignetWebhook.new(c['secrets']).verify(c['body'], c['headers'], now: Time.at(c['now']))
  puts event == JSON.parse(c['body']) ? 'accepted' : 'another event'
rescue SignetWebhook::Refused => e
  puts e.message
rescue ArgumentError
  puts 'invalid_secret'
end
`,
    },
    run: ['ruby', 'drive.rb'],
    // The names in Rack's environment, and in the result of `request.headers.to_h` in Rails.
    own: [renamed('names as in CGI', (name) => `HTTP_${name.toUpperCase().replaceAll('-', '_')}`)],
  },
]

/** PHP's driver takes lists where the others take text, so the type is widened here only. */
function lists(headers: Record<string, string>, times: number): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name, Array(times).fill(value)])
  return Object.fromEntries(entries) as Record<string, string>
}

const atHand = ({ probe: [command = '', ...args] }: Language) => spawnSync(command, args).status === 0
const scratch = mkdtempSync(join(tmpdir(), 'webhook-verify-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

function verdictOf({ body, headers, secrets, now }: VectorCase): string {
  try {
    const options = { toleranceSeconds: vectors.tolerance_seconds, now: () => new Date(now * 1000) }
    verify(body, headers, secrets, options)
    return 'accepted'
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code
    return (error as Error).name === 'InvalidSecretError' ? 'invalid_secret' : String(error)
  }
}

const verdicts = (cases: readonly VectorCase[]) => cases.map(({ name, verdict }) => [name, verdict])

describe('vectors.json', () => {
  it('has every verdict in both families of headers', () => {
    const seen = (family: string) =>
      new Set(cases.filter(({ name }) => name.startsWith(family)).map(({ verdict }) => verdict))
    for (const family of ['X-Service', 'Standard Webhooks']) {
      expect([...seen(family)].sort()).toEqual([
        'accepted',
        'invalid_payload',
        'malformed_header',
        'missing_header',
        'signature_mismatch',
        'timestamp_in_future',
        'timestamp_too_old',
      ])
    }
  })

  it('gets these verdicts from the library', () => {
    expect(asked.map((one) => [one.name, verdictOf(one)])).toEqual(verdicts(asked))
  })
})

describe('the verifier for', () => {
  for (const { name, verifier, as = verifier, files, run, own = [], ...language } of languages) {
    const test = atHand({ name, verifier, files, run, ...language }) ? it : it.skip
    test(`${name} agrees with the library on every vector`, () => {
      const cwd = join(scratch, name)
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(join(cwd, dirname(path)), { recursive: true })
        writeFileSync(join(cwd, path), text)
      }
      mkdirSync(join(cwd, dirname(as)), { recursive: true })
      copyFileSync(join(VERIFIERS, verifier), join(cwd, as))
      const checked = [...asked, ...own]
      const [command = '', ...args] = run
      const { stdout, stderr } = spawnSync(command, args, {
        cwd,
        encoding: 'utf8',
        input: JSON.stringify(checked),
        env: { ...process.env, ...GO },
      })
      const said = stdout.trimEnd().split('\n')
      expect({ stderr, said: checked.map((one, i) => [one.name, said[i]]) }).toEqual({
        stderr: '',
        said: verdicts(checked),
      })
    })
  }
})
