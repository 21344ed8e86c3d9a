import { randomBytes } from 'node:crypto'

/** 96 random bits as 16 characters. */
export const randomToken = (): string => randomBytes(12).toString('base64url')
