// Runs the JavaScript verifier over many bundles: receives frames on standard input (size, options; size, data),
// writes the findings of each as one line of JSON.
import { readSync } from 'node:fs'

const { parse, verify } = await import(process.argv[2])

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
for (;;) {
  const options = parse(new TextDecoder().decode(frame()), false)
  const found = verify(frame(), options).map(({ code, place }) => [code, place])
  process.stdout.write(`${JSON.stringify(found)}\n`)
}
