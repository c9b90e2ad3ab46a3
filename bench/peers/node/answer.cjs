// Answers questions that come as lines of JSON on stdin, one after the other; ends when stdin ends.
// A question is {"call": name, ...values}; the answer is one line, {"value": …} or {"error": text}.
"use strict"

const readline = require("node:readline")

// stdout belongs to the answers.
console.log = console.info = console.debug = console.error

exports.answer = async (calls) => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { call, ...values } = JSON.parse(line)
    let said
    try {
      said = { value: (await calls[call](values)) ?? null }
    } catch (error) {
      said = { error: String(error?.stack ?? error) }
    }
    process.stdout.write(`${JSON.stringify(said)}\n`)
  }
  process.exit(0)
}

/** Counts calls of handlers up to a target. */
exports.Count = class {
  count = 0
  #target = Number.POSITIVE_INFINITY
  #reach = () => {}
  #reached = Promise.resolve()

  aim(target) {
    this.count = 0
    this.#target = target
    this.#reached = new Promise((resolve) => {
      this.#reach = resolve
    })
  }

  add() {
    this.count += 1
    if (this.count === this.#target) this.#reach()
  }

  /** The calls so far, at the target or when the time is over, whichever is first. */
  async wait(seconds, also = Promise.resolve()) {
    let timer
    const over = new Promise((resolve) => {
      timer = setTimeout(resolve, seconds * 1000)
    })
    const isReached = Promise.all([this.#reached, also]).then(() => true)
    const inTime = (await Promise.race([isReached, over])) === true
    clearTimeout(timer)
    return { count: this.count, inTime }
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Seconds that `once` says it took, so many times; `spaced` leaves the worker idle before each. */
exports.sample = async (once, { samples, seconds, spaced, gaps, warmUp }) => {
  const found = []
  const deadline = performance.now() + seconds * 1000
  for (let no = 0; no < warmUp + samples && performance.now() < deadline; no += 1) {
    if (spaced) await pause((gaps[0] + Math.random() * (gaps[1] - gaps[0])) * 1000)
    const over = deadline - performance.now()
    const took = await Promise.race([once(), pause(Math.max(over, 0))])
    if (took !== undefined && no >= warmUp) found.push(took / 1000)
  }
  return found
}
