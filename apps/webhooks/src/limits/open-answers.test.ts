import { expect, it } from '@jest/globals'
import { OpenAnswers } from './open-answers.js'

function anAnswer({ isGone = false } = {}) {
  let leave = () => {}
  return { isGone, onceGone: (act: () => void) => void (leave = act), leave: () => leave() }
}

it('admits so many of each key until nobody takes them anymore', () => {
  const answers = new OpenAnswers(2)
  const [first, second] = [anAnswer(), anAnswer()]
  answers.admit('a', first)
  answers.admit('a', second)
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the responses')
  answers.admit('b', anAnswer())
  first.leave()
  answers.admit('a', anAnswer())
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the responses')
})

it('does not count an answer whose client has left', () => {
  const answers = new OpenAnswers(1)
  answers.admit('a', anAnswer({ isGone: true }))
  answers.admit('a', anAnswer())
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the responses')
})
