import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { vectors } from './vectors.js'

// The functions of the README, exactly as printed there, run against the vectors by their own interpreter.

type Case = { body: string; headers: Record<string, string>; now: number }
type Judged = { name: string; accepted: boolean; input: Case }

const signedAt = Number(vectors.timestamp)
const [ping] = vectors.accepted as [(typeof vectors.accepted)[0]]
const [TIMESTAMP, SIGNATURE] = ['X-Service-Timestamp', 'X-Service-Signature']
const headersOf = (signature: string, timestamp = vectors.timestamp) => ({
  [TIMESTAMP]: timestamp,
  [SIGNATURE]: signature,
})
const toCase = ({ body, signature }: { body: string; signature: string }, now = signedAt): Case => ({
  body,
  headers: headersOf(signature),
  now,
})
const withHeaders = (headers: Record<string, string>): Case => ({ ...toCase(ping), headers })
const respelled = (spell: (name: string) => string) =>
  withHeaders(Object.fromEntries(Object.entries(headersOf(ping.signature)).map(([k, v]) => [spell(k), v])))

const cases: Judged[] = [
  ...vectors.accepted.map((v) => ({ name: v.name, accepted: true, input: toCase(v) })),
  ...vectors.refused.map((v) => ({ name: v.name, accepted: false, input: toCase(v) })),
  { name: 'at the tolerance', accepted: true, input: toCase(ping, signedAt + 300) },
  { name: 'ahead by the tolerance', accepted: true, input: toCase(ping, signedAt - 300) },
  { name: 'too old', accepted: false, input: toCase(ping, signedAt + 301) },
  { name: 'too far ahead', accepted: false, input: toCase(ping, signedAt - 301) },
  { name: 'lower-case names', accepted: true, input: respelled((name) => name.toLowerCase()) },
  { name: 'no headers', accepted: false, input: withHeaders({}) },
  { name: 'no timestamp', accepted: false, input: withHeaders(headersOf(ping.signature, '')) },
  { name: 'no number', accepted: false, input: withHeaders(headersOf(ping.signature, '1767225600x')) },
  { name: 'a line end', accepted: false, input: withHeaders(headersOf(ping.signature, '1767225600\n')) },
  { name: 'upper-case hex', accepted: false, input: withHeaders(headersOf(ping.signature.toUpperCase())) },
  { name: 'beyond ASCII', accepted: false, input: withHeaders(headersOf('sha256=é', '١٧٦٧٢٢٥٦٠٠')) },
]

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const snippet = (language: string) => new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(readme)?.[1] ?? ''

type Runner = {
  language: string
  probe: string[]
  files: Record<string, string>
  run: string[]
  /** What only the servers of this language hand over. */
  own?: Judged[]
}

const runners: Runner[] = [
  {
    language: 'python',
    probe: ['python3', '--version'],
    files: {
      'snippet.py': snippet('python'),
      'drive.py': `
import json, sys
from snippet import WebhookRefused, verify
given = json.load(sys.stdin)
for case in given["cases"]:
    try:
        verify(case["body"].encode(), case["headers"], given["secret"], now=lambda: case["now"])
        print("ok")
    except WebhookRefused:
        print("refused")
`,
    },
    run: ['python3', 'drive.py'],
  },
  {
    language: 'go',
    probe: ['go', 'version'],
    files: {
      'go.mod': 'module example.test/hook\n\ngo 1.21\n',
      'webhook/snippet.go': snippet('go'),
      'main.go': `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"example.test/hook/webhook"
)

func main() {
	var given struct {
		Secret string
		Cases  []struct {
			Body    string
			Headers map[string]string
			Now     int64
		}
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	for _, c := range given.Cases {
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		if webhook.Verify([]byte(c.Body), header, given.Secret, 300*time.Second, time.Unix(c.Now, 0)) == nil {
			fmt.Println("ok")
		} else {
			fmt.Println("refused")
		}
	}
}
`,
    },
    run: ['go', 'run', '.'],
  },
  {
    language: 'php',
    probe: ['php', '--version'],
    files: {
      'snippet.php': snippet('php'),
      'drive.php': `<?php
require __DIR__ . '/snippet.php';
$given = json_decode(stream_get_contents(STDIN), true);
foreach ($given['cases'] as $case) {
    try {
        verify($case['body'], $case['headers'], $given['secret'], 300, $case['now']);
        echo "ok\\n";
    } catch (RuntimeException) {
        echo "refused\\n";
    }
}
`,
    },
    run: ['php', 'drive.php'],
  },
  {
    language: 'ruby',
    probe: ['ruby', '--version'],
    files: {
      'snippet.rb': snippet('ruby'),
      'drive.rb': `
require 'json'
require_relative 'snippet'
given = JSON.parse($stdin.read)
given['cases'].each do |c|
  begin
    verify(c['body'], c['headers'], given['secret'], now: Time.at(c['now']))
    puts 'ok'
  rescue WebhookRefused
    puts 'refused'
  end
end
`,
    },
    run: ['ruby', 'drive.rb'],
    // Rack's environment, and what Rails gives for `request.headers.to_h`.
    own: [
      {
        name: 'names as in CGI',
        accepted: true,
        input: respelled((name) => `HTTP_${name.toUpperCase().replaceAll('-', '_')}`),
      },
    ],
  },
]

const atHand = runners.filter(({ probe: [command = '', ...args] }) => spawnSync(command, args).status === 0)
const scratch = mkdtempSync(join(tmpdir(), 'webhook-verify-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('the README snippets', () => {
  it('prints one function per language', () => {
    for (const { language } of runners) expect(snippet(language)).toContain('erify(')
  })

  // Not it.each: where none of the languages is at hand, there is nothing to run and nothing wrong.
  for (const { language, files, run, own = [] } of atHand) {
    it(`judge every vector rightly in ${language}`, () => {
      const [command = '', ...args] = run
      const judged = [...cases, ...own]
      const cwd = join(scratch, language)
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(join(cwd, name, '..'), { recursive: true })
        writeFileSync(join(cwd, name), text)
      }
      const { stdout, stderr } = spawnSync(command, args, {
        cwd,
        encoding: 'utf8',
        input: JSON.stringify({ secret: vectors.secret, cases: judged.map(({ input }) => input) }),
        env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOPROXY: 'off' },
      })
      const verdicts = stdout.trim().split('\n')
      expect({ stderr, judged: judged.map(({ name }, i) => [name, verdicts[i]]) }).toEqual({
        stderr: '',
        judged: judged.map(({ name, accepted }) => [name, accepted ? 'ok' : 'refused']),
      })
    }) // the first `go run` compiles the standard library
  }
})
