// Runs the JavaScript verifier over many bundles: receives frames on standard input, writes the findings of each as one
// line of JSON. A frame is a size and so many bytes. First comes a frame of options: with `files` the names of as many frames
// that follow (null: this file is missing), without it one frame, a whole bundle. Files that do not follow are those of the
// bundle before, so that a change of one file needs neither to be sent nor read as a whole.
import { readSync } from 'node:fs'

const { parse, unpack, verify, verifyFiles } = await import(process.argv[2])

function take(size) {
  const made = new Uint8Array(size)
  for (let at = 0; at < size; ) {
    const count = readSync(0, made, at, size - at)
    if (count === 0) process.exit(at === 0 ? 0 : 1)
    at += count
  }
  return made
}

const frame = () => take(new DataView(take(4).buffer).getUint32(0))
let known = new Map()

function changed(names) {
  const entries = new Map(known)
  for (const [name, isThere] of names) {
    if (isThere) entries.set(name, frame())
    else entries.delete(name)
  }
  return entries
}

for (;;) {
  const { files = null, ...options } = parse(new TextDecoder().decode(frame()), false)
  let found
  if (files === null) {
    const data = frame()
    found = verify(data, options)
    known = unpack(data) ?? known
  } else {
    found = verifyFiles(changed(files), options)
  }
  process.stdout.write(`${JSON.stringify(found.map(({ code, place }) => [code, place]))}\n`)
}
