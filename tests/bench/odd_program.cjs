// A program that can count, fail and take its time; it writes to stdout, too, which belongs to its answers.
"use strict"

const { answer, Count, sample } = require("../../bench/peers/node/answer.cjs")

const count = new Count()
let taken = 0

answer({
  aim: ({ target }) => count.aim(target),
  add: ({ times }) => {
    console.log("a line that is no answer")
    for (let no = 0; no < times; no += 1) count.add()
  },
  wait: ({ seconds }) => count.wait(seconds),
  fail: () => {
    throw new Error("no such table")
  },
  take: (how) => sample(async () => (taken += 1), how),
  never: (how) => sample(() => new Promise(() => {}), how),
  end: () => process.exit(3),
})
