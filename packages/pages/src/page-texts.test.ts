import { describe, expect, it } from '@jest/globals'
import { catalogueFaults } from '@signet/language/checks'
import { html, pageAnswer, pageTextsOf } from './index.js'
import { kitCatalogues } from './page-texts.js'

const textsIn = pageTextsOf({
  en: { hello: 'Hello <strong>{name}</strong>, <a>go on</a> & on', plain: '<i>{name}</i>' },
  de: { hello: 'Hallo <strong>{name}</strong>, <a>weiter</a> & weiter', plain: '<i>{name}</i>' },
})
const evil = '<img src=x> & "{name}"'

describe('the texts of the kit', () => {
  it('are complete in every language', () => {
    expect(catalogueFaults(kitCatalogues)).toEqual([])
  })
})

describe('a message as HTML', () => {
  it('has the tags it may have, and escapes what is inserted', () => {
    const a = (inside: { text: string }) => html`<a href="/x">${inside.text}</a>`
    expect(textsIn('de').html('hello', { name: evil, a }).text).toBe(
      'Hallo <strong>&#60;img src=x&#62; &#38; &#34;{name}&#34;</strong>, <a href="/x">weiter</a> &#38; weiter',
    )
  })

  it('has no other tags: a catalogue cannot add markup', () => {
    expect(() => textsIn('en').html('plain', { name: evil })).toThrow('i')
  })

  it('is escaped like everything else when it is only text', () => {
    const text = textsIn('en')('kit.wait', { label: evil, time: '1' })
    expect(html`${text}`.text).toBe('&#60;img src=x&#62; &#38; &#34;{name}&#34; (in 1)')
  })
})

describe('a page', () => {
  it('says its language, and that it depends on the wishes of the reader', () => {
    const page = { title: 'Titel', body: html`` }
    const { headers, body } = pageAnswer(page, { secure: false, language: 'de' })
    expect(headers).toMatchObject({ 'Content-Language': 'de', Vary: 'Accept-Language' })
    expect(String(body)).toContain('<html lang="de">')
  })
})
