import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { vectors } from './vectors.js'

// The functions of the README, exactly as printed there, run against the vectors by their own interpreter.

type Case = { body: string; timestamp: string; signature: string; now: number }

const signedAt = Number(vectors.timestamp)
const [ping] = vectors.accepted as [(typeof vectors.accepted)[0]]
const toCase = (vector: { body: string; signature: string }, now = signedAt): Case => ({
  ...vector,
  timestamp: vectors.timestamp,
  now,
})
const cases: { name: string; accepted: boolean; input: Case }[] = [
  ...vectors.accepted.map((v) => ({ name: v.name, accepted: true, input: toCase(v) })),
  ...vectors.refused.map((v) => ({ name: v.name, accepted: false, input: toCase(v) })),
  { name: 'at the tolerance', accepted: true, input: toCase(ping, signedAt + 300) },
  { name: 'too old', accepted: false, input: toCase(ping, signedAt + 301) },
  { name: 'too far ahead', accepted: false, input: toCase(ping, signedAt - 301) },
  { name: 'no timestamp', accepted: false, input: { ...toCase(ping), timestamp: '' } },
  { name: 'no number', accepted: false, input: { ...toCase(ping), timestamp: '1767225600x' } },
]

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const snippet = (language: string) => new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(readme)?.[1] ?? ''

type Runner = { language: string; probe: string[]; files: Record<string, string>; run: string[] }

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
    headers = {"X-Service-Timestamp": case["timestamp"], "X-Service-Signature": case["signature"]}
    try:
        verify(case["body"].encode(), headers, given["secret"], now=lambda: case["now"])
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
			Body, Timestamp, Signature string
			Now                        int64
		}
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	for _, c := range given.Cases {
		header := http.Header{}
		header.Set("X-Service-Timestamp", c.Timestamp)
		header.Set("X-Service-Signature", c.Signature)
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
    $headers = ['X-Service-Timestamp' => $case['timestamp'], 'X-Service-Signature' => $case['signature']];
    try {
        verify($case['body'], $headers, $given['secret'], 300, $case['now']);
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
  headers = { 'X-Service-Timestamp' => c['timestamp'], 'X-Service-Signature' => c['signature'] }
  begin
    verify(c['body'], headers, given['secret'], now: Time.at(c['now']))
    puts 'ok'
  rescue WebhookRefused
    puts 'refused'
  end
end
`,
    },
    run: ['ruby', 'drive.rb'],
  },
]

const atHand = runners.filter(({ probe: [command = '', ...args] }) => spawnSync(command, args).status === 0)
const scratch = mkdtempSync(join(tmpdir(), 'webhook-verify-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('the README snippets', () => {
  it('prints one function per language', () => {
    for (const { language } of runners) expect(snippet(language)).toContain('erify(')
  })

  it.each(atHand)(
    'judge every vector rightly in $language',
    ({ language, files, run: [command = '', ...args] }) => {
      const cwd = join(scratch, language)
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(join(cwd, name, '..'), { recursive: true })
        writeFileSync(join(cwd, name), text)
      }
      const { stdout, stderr } = spawnSync(command, args, {
        cwd,
        encoding: 'utf8',
        input: JSON.stringify({ secret: vectors.secret, cases: cases.map(({ input }) => input) }),
        env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOPROXY: 'off' },
      })
      const verdicts = stdout.trim().split('\n')
      expect({ stderr, judged: cases.map(({ name }, i) => [name, verdicts[i]]) }).toEqual({
        stderr: '',
        judged: cases.map(({ name, accepted }) => [name, accepted ? 'ok' : 'refused']),
      })
    },
    120_000, // the first `go run` compiles the standard library
  )
})
