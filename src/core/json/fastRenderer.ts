import type { FastScanner, Shape } from './fastScanner.ts'
import { memberAt } from './fastShape.ts'
import type { Served } from './servedMembers.ts'

/** How a served member is written: the text before its value, and the slot of its value or the steps of its own members. */
export type Step = { readonly before: Buffer; readonly slot: number; readonly members: readonly Step[] | undefined }

/** The steps that write the served members of a shape. */
export const stepsOf = (served: Served, shape: Shape | undefined): Step[] =>
  served.map((each, at) => {
    const [name, members] = typeof each === 'string' ? [each] : each
    const member = memberAt(shape, name)
    return {
      before: Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
      slot: member.slot,
      members: members === undefined ? undefined : stepsOf(members, member.shape),
    }
  })

/** Values that are served differently from the record, by slot. */
export type Replaced = ReadonlyMap<number, Buffer>

const nothing = Buffer.from('null')
const closing = Buffer.from('}')
const none = -1

/**
 * Renders what a scanner has found by copying its bytes, with the result of `renderServed`. Members that follow one another in the
 * record as they are served are copied at once: when the next value begins exactly as many bytes after the last one as its name
 * takes, nothing but the name can be between them.
 */
export class FastRenderer {
  #to = Buffer.allocUnsafe(64 * 1024)
  #at = 0
  #from: Buffer = Buffer.alloc(0)
  /** The range of `#from` that is not copied yet; its end is -1 when there is none to extend. */
  #start = 0
  #end = none

  /** The served text of the object that `reader` has read from `bytes`. */
  render(steps: readonly Step[], reader: FastScanner, bytes: Buffer, replaced: Replaced | undefined): Buffer {
    this.#from = bytes
    this.#at = 0
    this.#end = none
    this.#members(steps, reader, replaced)
    this.#put(closing)
    return Buffer.from(this.#to.subarray(0, this.#at))
  }

  #members(steps: readonly Step[], reader: FastScanner, replaced: Replaced | undefined): void {
    for (const { before, slot, members } of steps) {
      const start = reader.startOf(slot)
      const other = start === none ? nothing : replaced?.get(slot)
      if (other !== undefined) {
        this.#put(before)
        this.#put(other)
        continue
      }
      if (this.#end === none || this.#end + before.length !== start) {
        this.#put(before)
        this.#start = start
      }
      const end = reader.endOf(slot)
      if (members === undefined || !reader.has(slot)) {
        this.#end = end
        continue
      }
      this.#end = start
      this.#members(members, reader, replaced)
      if (this.#end !== none && this.#end + closing.length === end) this.#end = end
      else this.#put(closing)
    }
  }

  #put(text: Buffer): void {
    if (this.#end !== none) this.#append(this.#from, this.#start, this.#end)
    this.#end = none
    this.#append(text, 0, text.length)
  }

  #append(source: Buffer, start: number, end: number): void {
    const length = end - start
    if (this.#at + length > this.#to.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#at + length))
      this.#to.copy(larger, 0, 0, this.#at)
      this.#to = larger
    }
    source.copy(this.#to, this.#at, start, end)
    this.#at += length
  }
}
