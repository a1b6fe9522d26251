import { EventEmitter } from 'node:events'
import { expect, it } from '@jest/globals'
import type { Response } from 'express'
import { OpenAnswers } from './open-answers.js'

const anAnswer = ({
  closed = false,
  socket = Object.assign(new EventEmitter(), { destroyed: false }),
} = {}) => Object.assign(new EventEmitter(), { closed, req: { socket } }) as unknown as Response

it('admits so many of each key until they are closed', () => {
  const answers = new OpenAnswers(2)
  const [first, second] = [anAnswer(), anAnswer()]
  answers.admit('a', first)
  answers.admit('a', second)
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the answers')
  answers.admit('b', anAnswer())
  first.emit('close')
  answers.admit('a', anAnswer())
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the answers')
})

it('does not count an answer whose client has left', () => {
  const answers = new OpenAnswers(1)
  answers.admit('a', anAnswer({ closed: true }))
  answers.admit('a', anAnswer())
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the answers')
})

it('counts the answers of a connection until that ends, and each once', () => {
  const answers = new OpenAnswers(2)
  const socket = Object.assign(new EventEmitter(), { destroyed: false })
  const [first, second] = [anAnswer({ socket }), anAnswer({ socket })]
  answers.admit('a', first)
  answers.admit('a', second)
  first.emit('close')
  expect(socket.listenerCount('close')).toBe(1)
  socket.emit('close')
  second.emit('close')
  answers.admit('a', anAnswer())
  answers.admit('a', anAnswer())
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the answers')
})

it('does not count an answer whose connection has ended', () => {
  const answers = new OpenAnswers(1)
  answers.admit('a', anAnswer({ socket: Object.assign(new EventEmitter(), { destroyed: true }) }))
  answers.admit('a', anAnswer())
  expect(() => answers.admit('a', anAnswer())).toThrow('Read the answers')
})
