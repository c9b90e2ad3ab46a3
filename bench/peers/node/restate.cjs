// The worker of Restate (a deployment of one service) and the client beside it: bench/peers/restate.py asks.
"use strict"

const http = require("node:http")
const http2 = require("node:http2")
const net = require("node:net")
const restate = require("@restatedev/restate-sdk")
const { answer, Count, sample } = require("./answer.cjs")

const STREAMS = 100
const STARTED_BEFORE_MS = 20_000
const count = new Count()
let sessions = []
let next = 0
let results = Promise.resolve()
let entered = () => {}

const step = (value) => () => {
  count.add()
  return value
}

const service = restate.service({
  name: "bench",
  handlers: {
    chain: async (ctx, { steps }) => {
      for (let no = 0; no < steps; no += 1) await ctx.run(`s${no}`, step(no))
      return steps
    },
    fan: async (ctx, { width }) => {
      await ctx.run("first", step(0))
      await restate.RestatePromise.all(Array.from({ length: width }, (_, no) => ctx.run(`s${no}`, step(no))))
      return ctx.run("join", step(width))
    },
    payload: async (ctx, { steps, text }) => {
      let held = text
      for (let no = 0; no < steps; no += 1) held = await ctx.run(`s${no}`, step(held))
      return held
    },
    job: async () => {
      entered(performance.now())
    },
  },
})

/** Asks the server over one of its sockets in the file system; the answer's JSON. */
const adminCall = (socketPath, method, path, body) =>
  new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" }
    const request = http.request({ socketPath, method, path, headers }, (response) => {
      let text = ""
      response.on("data", (part) => (text += part))
      response.on("end", () => (response.statusCode < 300 ? resolve(text) : reject(new Error(text))))
    })
    request.on("error", reject)
    request.end(body && JSON.stringify(body))
  })

const untilHealthy = async (socketPath) => {
  const deadline = performance.now() + STARTED_BEFORE_MS
  for (;;) {
    try {
      return await adminCall(socketPath, "GET", "/health")
    } catch (error) {
      if (performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** Calls a handler through the ingress; resolves when the server answers. */
const invoke = (handler, body, how = "") =>
  new Promise((resolve, reject) => {
    const session = sessions[(next += 1) % sessions.length]
    const request = session.request({
      ":method": "POST",
      ":path": `/bench/${handler}${how}`,
      "content-type": "application/json",
    })
    let status
    let text = ""
    request.on("response", (headers) => (status = headers[":status"]))
    request.on("data", (part) => (text += part))
    request.on("end", () => (status < 300 ? resolve(text) : reject(new Error(`${status}: ${text}`))))
    request.on("error", reject)
    request.end(JSON.stringify(body))
  })

answer({
  open: async ({ folder, calls }) => {
    await untilHealthy(`${folder}/admin.sock`)
    const worker = http2.createServer(restate.createEndpointHandler({ services: [service] }))
    await new Promise((resolve) => worker.listen(0, "127.0.0.1", resolve))
    const uri = `http://127.0.0.1:${worker.address().port}`
    await adminCall(`${folder}/admin.sock`, "POST", "/deployments", { uri })
    sessions = Array.from({ length: Math.ceil(calls / STREAMS) }, () =>
      http2.connect("http://localhost", { createConnection: () => net.connect(`${folder}/ingress.sock`) }),
    )
  },
  aim: ({ target }) => count.aim(target),
  // All calls are under way at once; a result is there when the server has recorded the end of the run.
  start: ({ handler, body, runs }) => {
    results = Promise.all(Array.from({ length: runs }, () => invoke(handler, body)))
  },
  wait: ({ seconds }) => count.wait(seconds, results),
  alone: ({ handler, body, ...how }) =>
    sample(async () => {
      const begun = performance.now()
      await invoke(handler, body)
      return performance.now() - begun
    }, how),
  wake: (how) =>
    sample(async () => {
      const begun = performance.now()
      const entry = new Promise((resolve) => {
        entered = resolve
      })
      await invoke("job", {}, "/send")
      return (await entry) - begun
    }, how),
})
