import { describe, expect, it } from '@jest/globals'
import { htmlToMarkdown } from './html-to-markdown.js'

describe('htmlToMarkdown', () => {
  it.each([
    ['headings and paragraphs', '<h1>A</h1><p>b</p><h3>C</h3>', '# A\n\nb\n\n### C'],
    ['lists', '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>', '-   a\n    -   b\n-   c'],
    ['text behind a list in an item', '<ul><li>a<ul><li>b</li></ul>c</li></ul>', '-   a\n    -   b\n\n    c'],
    ['text between items', '<ul><li>a</li><!-- x -->b<i>c</i><li>d</li></ul>', '-   a\n\nb*c*\n-   d'],
    ['numbered lists', '<ol><li>a</li><li>b</li></ol>', '1.  a\n2.  b'],
    ['emphasis', '<b>a</b> <em>b</em> <del>c</del>', '**a** *b* ~~c~~'],
    [
      'emphasis that ends or begins with a punctuation mark, beside a letter',
      '<b>a:</b>b <b>重要：</b>内容 c<i>(d)</i> <b><i>e.</i></b>f <b>g.</b><i>h</i> i<b><code>j</code></b> <b>k:</b>, l',
      '**a:** b **重要：** 内容 c *(d)* ***e.*** f **g.** *h* i **`j`** **k:**, l',
    ],
    ['code', '<code>a`b</code><pre><code>x\n y</code></pre>', '``a`b``\n\n```\nx\n y\n```'],
    ['quotes', '<blockquote><p>a</p></blockquote>', '> a'],
    ['rules', 'a<hr>b', 'a\n\n---\n\nb'],
    [
      'tables',
      '<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>1</td><td>2 | 3</td></tr></tbody></table>',
      '| A   | B   |\n| --- | --- |\n| 1   | 2 \\| 3 |',
    ],
    ['links', '<a href="https://example.com/a b(c)">x</a>', '[x](https://example.com/a%20b%28c%29)'],
    [
      'addresses with what would be a character reference or an escape',
      '<a href="https://example.com/?a=1&amp;lt;b=2&amp;c=\\*&amp;copy;">x</a>',
      '[x](https://example.com/?a=1\\&lt;b=2&c=%5C*\\&copy;)',
    ],
    ['text that is not struck through', '<p>~~a~~ ~<b>~b</b>~ c</p>', '\\~\\~a\\~\\~ \\~**\\~b**\\~ c'],
    ['mail links', '<a href="mailto:a@example.com">x</a>', '[x](mailto:a@example.com)'],
    ['no-break spaces between elements', '<b>a</b>&nbsp;b&nbsp;<i>c</i>&nbsp;<i>d</i>', '**a** b *c* *d*'],
    ['paragraphs without text', '<p>a</p><p>&nbsp;</p><p>b</p>', 'a\n\nb'],
    [
      'entities that are text',
      '<p>&amp;amp;lt; &amp;lt;b&amp;gt; &amp;#60; &amp;#x3C;<b>&amp;</b>lt; &amp; &amp;x</p>',
      '\\&amp;lt; \\&lt;b\\&gt; \\&#60; \\&#x3C;**\\&** lt; & \\&x',
    ],
    ['unknown elements', '<x-card>a <mark>b</mark></x-card>', 'a b'],
    ['elements named like what all objects have', '<constructor>a <valueof>b</valueof></constructor>', 'a b'],
    ['broken markup', '<p>a<b>b<p>c</i></td>', 'a**b**\n\n**c**'],
  ])('writes %s', (_name, html, markdown) => {
    expect(htmlToMarkdown(html)).toBe(markdown)
  })

  it.each([
    ['javascript links', '<a href="javascript:alert(1)">x</a>'],
    ['javascript links in disguise', '<a href=" java\nscript:alert(1)">x</a>'],
    ['data links', '<a href="data:text/html,a">x</a>'],
    ['relative links', '<a href="/account">x</a>'],
    ['links to nothing', '<a name="a">x</a>'],
  ])('writes the text of %s', (_name, html) => {
    expect(htmlToMarkdown(html)).toBe('x')
  })

  it('writes images as their alternative text', () => {
    expect(
      htmlToMarkdown('a <img src="https://tracker.example/x.gif" alt="A [chart]" onerror="alert(1)"> b'),
    ).toBe('a A \\[chart\\] b')
    expect(htmlToMarkdown('a<img src="x">b')).toBe('ab')
  })

  it.each(['script', 'style', 'iframe', 'object', 'template'])('drops %s with what is in it', (name) => {
    expect(htmlToMarkdown(`<p>a</p><${name}>alert(1)</${name}><p>b</p><!-- c -->`)).toBe('a\n\nb')
  })

  it('drops attributes, and lets no text become a tag or an autolink', () => {
    expect(htmlToMarkdown('<p onclick="alert(1)">a &lt;script&gt;alert(1)&lt;/script&gt; 1 &lt; 2</p>')).toBe(
      'a &lt;script>alert(1)&lt;/script> 1 < 2',
    )
  })

  // Each of these became HTML in at least one of marked, markdown-it, commonmark and micromark.
  it.each([
    [
      'behind an address, which takes in a backslash',
      '<p>http://x&lt;img src=x&gt;</p>',
      'http://x&lt;img src=x>',
    ],
    [
      'in code behind an address, which takes in a fence',
      '<p>www.x.example<b><code>&lt;img&gt;</code></b> http://x<code>c</code></p>',
      'www.x.example **`<img>`** http://x`c`',
    ],
    ['in code beside other code', '<code>&lt;img&gt;`y</code><code>z</code>', '``<img>`y`` `z`'],
    [
      'in code behind a mail link with a backtick',
      '<a href="mailto:a b`&quot;">x</a> <code>&lt;img&gt;</code>',
      '[x](mailto:a%20b%60%22) `<img>`',
    ],
    [
      'in code in a table, behind an escaped separator',
      '<table><tr><th>a</th></tr><tr><td><code>b\\|&lt;img&gt;</code></td></tr></table>',
      '| a   |\n| --- |\n| b\\\\\\|&lt;img> |',
    ],
    [
      'in a fence whose list begins with another number than 1 after text',
      '<ul><li>a<ol start="2"><li><pre>&lt;img&gt;\n\nb</pre></li></ol></li></ul>',
      '-   a\n\n    2.  ```\n        <img>\n        \n        b\n        ```',
    ],
    [
      'in a fence whose item is not the first, and comes after text',
      '<ol><li><pre>a</pre></li>b<li><pre>&lt;img&gt;\n\nc</pre></li></ol>',
      '1.  ```\n    a\n    ```\n\nb\n\n2.  ```\n    <img>\n    \n    c\n    ```',
    ],
    [
      'in a fence whose item has a number with too many digits',
      '<ol start="999999999"><li>a</li> <li><pre>b\n\n&lt;img&gt;</pre></li></ol>',
      '999999999. a\n999999999. ```\n           b\n           \n           <img>\n           ```',
    ],
  ])('leaves text that looks like HTML text: %s', (_name, html, markdown) => {
    expect(htmlToMarkdown(html)).toBe(markdown)
  })

  it('lets no code in the text of a link end that text', () => {
    expect(htmlToMarkdown('<a href="https://e.example/"><code>`](javascript:a)</code></a>')).toBe(
      '[\\`\\](javascript:a)](https://e.example/)',
    )
  })

  it('writes a table with lists or headings cell by cell instead of leaving it HTML', () => {
    const html =
      '<table><tr><td onclick="alert(1)">a</td><td><ul><li>b<script>alert(1)</script></li></ul></td></tr></table>'
    expect(htmlToMarkdown(html)).toBe('a\n\n-   b')
    expect(htmlToMarkdown('<table><tr><td>a<pre>b</pre></td></tr></table>')).not.toMatch(/<|\|/)
    expect(
      htmlToMarkdown('<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>'),
    ).not.toMatch(/</)
  })
})
