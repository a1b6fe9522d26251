import { html, type Page } from '@signet/pages'
import { adminPage } from './admin-page.js'

export const messagePage = (title: string, message: string): Page =>
  adminPage({ title, body: html`<p role="alert">${message}</p>` })
