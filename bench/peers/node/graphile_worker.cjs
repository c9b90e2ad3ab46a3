// The worker of graphile-worker, and the client beside it: bench/peers/graphile_worker.py asks.
"use strict"

const { Logger, makeWorkerUtils, run } = require("graphile-worker")
const { answer, Count, sample } = require("./answer.cjs")

const silent = new Logger(() => () => {})
const count = new Count()
let utils
let runner
let last = () => {}

const taskList = {
  job: () => {
    last(performance.now())
    count.add()
  },
  step: async ({ left }, helpers) => {
    count.add()
    if (left > 1) await helpers.addJob("step", { left: left - 1 })
    else last(performance.now())
  },
  first: async ({ no, width }, helpers) => {
    await helpers.query("insert into bench_join values ($1, $2)", [no, width])
    count.add()
    await helpers.addJobs(Array.from({ length: width }, () => ({ identifier: "part", payload: { no } })))
  },
  part: async ({ no }, helpers) => {
    const { rows } = await helpers.query(
      "update bench_join set open_count = open_count - 1 where run_no = $1 returning open_count",
      [no],
    )
    count.add()
    if (rows[0].open_count === 0) await helpers.addJob("join", { no })
  },
  join: () => count.add(),
}

answer({
  open: async ({ url, options }) => {
    const preset = { worker: { connectionString: url, logger: silent, ...options } }
    utils = await makeWorkerUtils({ preset })
    await utils.migrate()
    await utils.withPgClient((client) =>
      client.query("create table if not exists bench_join (run_no int primary key, open_count int not null)"),
    )
    runner = () => run({ preset, taskList, noHandleSignals: true })
  },
  work: async () => {
    runner = await runner()
  },
  aim: ({ target }) => count.aim(target),
  // Without the rows of the jobs, which only this client could want.
  add: async ({ jobs }) => {
    await utils.addJobs(jobs)
  },
  jobs: async ({ total, batch }) => {
    for (let low = 0; low < total; low += batch) {
      const length = Math.min(batch, total - low)
      await utils.addJobs(Array.from({ length }, (_, n) => ({ identifier: "job", payload: { n: low + n } })))
    }
  },
  wait: ({ seconds }) => count.wait(seconds),
  sample: ({ identifier, payload, ...how }) =>
    sample(async () => {
      const begun = performance.now()
      const ended = new Promise((resolve) => {
        last = resolve
      })
      await utils.addJob(identifier, payload)
      return (await ended) - begun
    }, how),
  close: async () => {
    await runner?.stop?.()
    await utils?.release()
  },
})
