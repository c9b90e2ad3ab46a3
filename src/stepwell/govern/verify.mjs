// Verify an evidence bundle offline: receives its bytes, returns findings. For Node and for browsers; one file, no
// dependencies. Written from docs/evidence-format.md, beside verify.py, which gives the same findings.
//
//     node verify.mjs bundle.zip [--head HASH] [--anchor FILE [--keys FILE]] [--later FILE]

export const FORMAT = 'stepwell.evidence.2'
const OLD_FORMATS = ['stepwell.evidence.1']
const SEAL_EVENT = 'evidence.sealed'
const FILES = [
  'approvals.json', 'chain.jsonl', 'costs.json', 'decisions.json', 'events.jsonl', 'graph.json', 'manifest.json',
  'proofs.jsonl', 'receipts.json', 'report.html', 'run.json', 'streams.jsonl', 'values.json', 'verify.mjs', 'verify.py',
]
const PROOF_FILES = ['chain.jsonl', 'events.jsonl', 'manifest.json', 'proofs.jsonl', 'streams.jsonl']
const DERIVED_FILES = ['run.json', 'approvals.json', 'decisions.json', 'receipts.json', 'costs.json']
const SHOWN_PREFIXES = ['action.', 'approval.', 'evidence.', 'receipt.']
const FINDING_LIMIT = 20
const NESTING_LIMIT = 32
const DIGITS_LIMIT = 19
const SHAPE_PATHS_LIMIT = 200
const SHAPE_DEPTH_LIMIT = 6
const SHAPE_NESTING_LIMIT = 500
const SHAPE_NAMES_LIMIT = 50

const words = (text) => text.trim().split(/\s+/)
const EVENT_FIELDS = words(`tx event_id at stream_id unit_id request_id event_type from_state to_state actor_class actor
  audit_ref trace_id correlation_id payload_size payload_commitment`)
const BLOCK_FIELDS = words(`block_no first_tx first_event_id last_tx last_event_id first_at last_at event_count event_root
  stream_count stream_root history_root previous_hash sealed_at`)
const VALUE_FIELDS = words('label unit_id at size commitment facts')
const fieldTypes = (names, types) => Object.fromEntries(names.map((name, at) => [name, types[at]]))
const BLOCK = { ...fieldTypes(BLOCK_FIELDS, words('i i i i i z z i h i h h h z')), block_hash: 'h', history_path: 'h*' }
const TYPES = {
  genesis: { chain_id: 't', tenant_id: 'i', salt_sha256: 'h', created_at: 'z', genesis_hash: 'h' },
  block: BLOCK,
  later: { ...BLOCK, chain_id: 't' },
  event: {
    ...fieldTypes(EVENT_FIELDS, words('i i z i i i? t t? t? t t? t? t? t? i? h?')), values: 'h*', payload: 't?', salt: 'h?',
  },
  proof: { tx: 'i', event_id: 'i', block_no: 'i', leaf_no: 'i', path: 'h*' },
  entry: { stream_id: 'i', block_no: 'i', entry_no: 'i', previous_block_no: 'i', event_count: 'i', path: 'h*' },
  value: {
    label: 't', unit_id: 'i', at: 'z', facts: 's?*', size: 'i', commitment: 'h', shape: 't*', value: 't?', salt: 'h?',
  },
  stream: { stream_id: 'i', last_block_no: 'i' },
  header: fieldTypes(BLOCK_FIELDS, words('i i i i i z z i h i h h h z')),
}

// Code: kind, sentence.
export const CODES = {
  'zip.broken': ['truncated', 'it is cut off or not a bundle'],
  'zip.bytes': ['altered', 'it has bytes or an order that no bundle has'],
  'format.old': ['unproven', 'an earlier release made it and proved less; export the run again'],
  'format.unknown': ['unproven', 'this verifier does not know the format'],
  'file.missing': ['missing', 'every bundle has this file'],
  'file.unknown': ['inserted', 'no bundle has this file'],
  'json.form': ['altered', 'it is not written in the canonical form'],
  'json.fields': ['altered', 'it has other fields or types than the format says'],
  'file.hash': ['altered', 'it does not match its size and hash in the manifest'],
  'manifest.differs': ['altered', 'it does not match the other files'],
  'chain.genesis': ['altered', 'the beginning of the chain does not match its hash'],
  'chain.order': ['reordered', 'the blocks are not in the order of their numbers'],
  'block.hash': ['altered', 'the header does not match its hash'],
  'block.link': ['altered', 'it is not chained to the block before it'],
  'block.history': ['unproven', 'it is not in the history of the head'],
  'block.unused': ['inserted', 'nothing in the bundle needs it'],
  'event.order': ['reordered', 'it does not come after the event before it'],
  'event.no_proof': ['inserted', 'it has no proof'],
  'proof.no_event': ['missing', 'the bundle has only its proof'],
  'proof.order': ['reordered', 'the proofs are not in the order of the events'],
  'event.block': ['unproven', 'the header of its block is missing'],
  'event.leaf': ['altered', 'it is not the event that its block sealed'],
  'stream.entry': ['missing', 'the entry of the stream or the header of the block is missing'],
  'stream.lacks': ['missing', 'events of the stream are missing'],
  'stream.more': ['inserted', 'it has more events than the block sealed'],
  'stream.leaf': ['altered', 'its events differ from the sealed events of the block'],
  'stream.order': ['reordered', 'the entries are not in the order of streams and blocks'],
  'stream.unused': ['inserted', 'nothing in the bundle needs it'],
  'stream.unknown': ['inserted', 'the run does not name this stream'],
  'stream.foreign': ['inserted', 'it is no approval and no receipt of the run'],
  'stream.named': ['missing', 'an event of the run names it, and the bundle does not have it'],
  'stream.count': ['missing', 'the event that seals the bundle counts other events of it'],
  'stream.uncounted': ['unproven', 'an earlier release did not count their events; export again'],
  'event.payload': ['altered', 'its payload does not match its hash'],
  'event.payload_missing': ['missing', 'a bundle of this kind shows its payload'],
  'event.payload_extra': ['inserted', 'a bundle of this kind does not show its payload'],
  'contents.unsealed': ['missing', 'the head has no event with the digest of the files'],
  'contents.differs': ['altered', 'they do not match the digest in the log'],
  'graph.hash': ['altered', 'it is not the definition that the run started with'],
  'value.order': ['reordered', 'the values are not in the order of their labels'],
  'value.unsealed': ['inserted', 'no sealed event has this value'],
  'value.missing': ['missing', 'a sealed event has a value that the bundle does not have'],
  'value.hash': ['altered', 'the value does not match its size and hash'],
  'value.shape': ['altered', 'the names and types are not those of the value'],
  'value.shown': ['altered', 'the bundle must show all values with their salts, or none'],
  'document.differs': ['altered', 'the sealed events say something else'],
  'head.other': ['unproven', 'it is not the trusted block, nor shown to lie in its history'],
  'anchor.line': ['altered', 'a line of the anchor does not match its own hash'],
  'anchor.signature': ['unproven', 'no key of the list signed this line of the anchor'],
  'anchor.key': ['unproven', 'the anchor does not end with blocks that the newest key signed'],
  'anchor.none': ['unproven', 'the anchor has no block of this chain'],
  'anchor.other': ['altered', 'the anchor has another hash for it'],
  'anchor.head': ['unproven', 'it is not anchored, nor shown to lie in the history of an anchored block'],
  'later.proof': ['altered', 'it does not show that its block comes after the head of the bundle'],
}

const finding = (code, place) => ({ code, place, kind: CODES[code][0], detail: CODES[code][1] })

// Bytes

const encoder = new TextEncoder()
const utf8 = (text) => encoder.encode(text)
const text = (data) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const BYTES = new Map(PAIRS.map((pair, byte) => [pair, byte]))

function hex(data) {
  let made = ''
  for (let at = 0; at < data.length; at++) made += PAIRS[data[at]]
  return made
}

function unhex(digits) {
  const made = new Uint8Array(digits.length / 2)
  for (let at = 0; at < made.length; at++) made[at] = BYTES.get(digits.slice(at * 2, at * 2 + 2))
  return made
}

function same(one, other) {
  if (one.length !== other.length) return false
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false
  return true
}

function join(parts) {
  const made = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    made.set(part, at)
    at += part.length
  }
  return made
}

// The first bits of the fractional parts of the cube and square roots of the first primes, by exact integer arithmetic: 32
// bits for SHA-256, 64 for SHA-512.
const { ROUND, START, LONG_ROUND, LONG_START } = (() => {
  const primes = []
  for (let number = 2n; primes.length < 80; number++) {
    if (primes.every((prime) => number % prime !== 0n)) primes.push(number)
  }
  const fraction = (prime, power, bits) => {
    const wanted = prime << (bits * power)
    let [low, high] = [0n, 1n << (bits + 8n)]
    while (high - low > 1n) {
      const middle = (low + high) >> 1n
      if (middle ** power <= wanted) low = middle
      else high = middle
    }
    return BigInt.asUintN(Number(bits), low)
  }
  return {
    ROUND: Int32Array.from(primes.slice(0, 64), (prime) => Number(fraction(prime, 3n, 32n)) | 0),
    START: Int32Array.from(primes.slice(0, 8), (prime) => Number(fraction(prime, 2n, 32n)) | 0),
    LONG_ROUND: primes.map((prime) => fraction(prime, 3n, 64n)),
    LONG_START: primes.slice(0, 8).map((prime) => fraction(prime, 2n, 64n)),
  }
})()

// SHA-256 (FIPS 180-4). The one of browsers answers later; a check that waits for each hash would be hard to read.
export function sha256(data) {
  const size = ((data.length + 8) >> 6) * 64 + 64
  const padded = new Uint8Array(size)
  padded.set(data)
  padded[data.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(size - 8, Math.floor(data.length / 0x20000000))
  view.setUint32(size - 4, (data.length << 3) >>> 0)
  const hash = Int32Array.from(START)
  const w = new Int32Array(64)
  const turn = (value, by) => (value >>> by) | (value << (32 - by))
  for (let at = 0; at < size; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + i * 4)
    for (let i = 16; i < 64; i++) {
      const s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3)
      const s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10)
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0
    }
    let [a, b, c, d, e, f, g, h] = hash
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g
      g = f
      f = e
      e = (d + one) | 0
      d = c
      c = b
      b = a
      a = (one + two) | 0
    }
    ;[a, b, c, d, e, f, g, h].forEach((value, i) => (hash[i] = (hash[i] + value) | 0))
  }
  const made = new DataView(new ArrayBuffer(32))
  hash.forEach((value, i) => made.setInt32(i * 4, value))
  return new Uint8Array(made.buffer)
}

// SHA-512 (FIPS 180-4), for the few signatures of an anchor.
export function sha512(data) {
  const size = ((data.length + 16) >> 7) * 128 + 128
  const padded = new Uint8Array(size)
  padded.set(data)
  padded[data.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(size - 8, BigInt(data.length) * 8n)
  const cut = (value) => BigInt.asUintN(64, value)
  const turn = (value, by) => cut((value >> by) | (value << (64n - by)))
  let hash = [...LONG_START]
  for (let at = 0; at < size; at += 128) {
    const w = Array.from({ length: 16 }, (_, i) => view.getBigUint64(at + i * 8))
    for (let i = 16; i < 80; i++) {
      const s0 = turn(w[i - 15], 1n) ^ turn(w[i - 15], 8n) ^ (w[i - 15] >> 7n)
      const s1 = turn(w[i - 2], 19n) ^ turn(w[i - 2], 61n) ^ (w[i - 2] >> 6n)
      w.push(cut(w[i - 16] + s0 + w[i - 7] + s1))
    }
    let [a, b, c, d, e, f, g, h] = hash
    for (let i = 0; i < 80; i++) {
      const one = h + (turn(e, 14n) ^ turn(e, 18n) ^ turn(e, 41n)) + ((e & f) ^ (cut(~e) & g)) + LONG_ROUND[i] + w[i]
      const two = (turn(a, 28n) ^ turn(a, 34n) ^ turn(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c))
      ;[h, g, f, e, d, c, b, a] = [g, f, e, cut(d + one), c, b, a, cut(one + two)]
    }
    hash = [a, b, c, d, e, f, g, h].map((value, i) => cut(hash[i] + value))
  }
  const made = new DataView(new ArrayBuffer(64))
  hash.forEach((value, i) => made.setBigUint64(i * 8, value))
  return new Uint8Array(made.buffer)
}

const CRC = Int32Array.from({ length: 256 }, (_, value) => {
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

function crc32(data) {
  let found = -1
  for (const byte of data) found = (found >>> 8) ^ CRC[(found ^ byte) & 255]
  return ~found >>> 0
}

const digest = (mark, ...parts) => sha256(join([mark === null ? new Uint8Array(0) : Uint8Array.of(mark), ...parts]))

// JSON: integers are BigInt, objects have no prototype

const NUMBER = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y

/** Strict: integers of at most 19 digits, no other numbers, at most 32 levels. Else longer integers are inexact. */
export function parse(source, isStrict) {
  if (isStrict && nesting(source) > NESTING_LIMIT) throw new SyntaxError('too deep')
  let at = 0
  const fail = () => {
    throw new SyntaxError(`at ${at}`)
  }
  const blank = () => {
    while (' \t\n\r'.includes(source[at] ?? 'x')) at++
  }
  const number = () => {
    NUMBER.lastIndex = at
    const [found] = NUMBER.exec(source) ?? fail()
    at += found.length
    const isInteger = /^-?[0-9]+$/.test(found)
    if (isStrict && (!isInteger || found.replace('-', '').length > DIGITS_LIMIT)) fail()
    return isInteger && found.replace('-', '').length <= DIGITS_LIMIT ? BigInt(found) : Number(found)
  }
  const string = () => {
    at++
    let made = ''
    for (;;) {
      const from = at
      while (at < source.length && source[at] !== '"' && source[at] !== '\\' && source[at] >= ' ') at++
      made += source.slice(from, at)
      if (source[at] === '"') {
        at++
        return made
      }
      if (source[at] !== '\\') fail()
      const mark = source[at + 1]
      if (mark === 'u') {
        const digits = source.slice(at + 2, at + 6)
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) fail()
        made += String.fromCharCode(parseInt(digits, 16))
        at += 6
      } else {
        const found = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }[mark] ?? fail()
        made += found
        at += 2
      }
    }
  }
  const members = (close, read) => {
    at++
    blank()
    if (source[at] === close) {
      at++
      return
    }
    for (;;) {
      blank()
      read()
      blank()
      if (source[at] === close) {
        at++
        return
      }
      if (source[at++] !== ',') fail()
    }
  }
  const value = () => {
    blank()
    if (source[at] === '"') return string()
    if (source[at] === '[') {
      const list = []
      members(']', () => list.push(value()))
      return list
    }
    if (source[at] === '{') {
      const object = Object.create(null)
      members('}', () => {
        if (source[at] !== '"') fail()
        const name = string()
        blank()
        if (source[at++] !== ':') fail()
        object[name] = value()
      })
      return object
    }
    for (const [word, found] of [['true', true], ['false', false], ['null', null]]) {
      if (source.startsWith(word, at)) {
        at += word.length
        return found
      }
    }
    return number()
  }
  const found = value()
  blank()
  if (at !== source.length) fail()
  return found
}

/** JSON of a payload or value, at most 500 levels. */
function loads(source) {
  if (nesting(source) > SHAPE_NESTING_LIMIT) throw new SyntaxError('too deep')
  return parse(source, false)
}

function graphOf(data) {
  try {
    return loads(text(data))
  } catch {
    return null
  }
}

/** A pattern with a choice for each character of a string overflows the stack, so escapes and strings are taken out first. */
function nesting(source) {
  const bare = source.replace(/\\./gs, '').replace(/"[^"]*"/g, '')
  let [deepest, depth] = [0, 0]
  for (const mark of bare) {
    if (mark === '[' || mark === '{') depth++
    else if (mark === ']' || mark === '}') depth--
    if (depth > deepest) deepest = depth
  }
  return deepest
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Order of code points; the order of JavaScript itself is that of UTF-16. */
function byText(one, other) {
  const [a, b] = [[...one], [...other]]
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    if (a[at] !== b[at]) return a[at].codePointAt(0) - b[at].codePointAt(0)
  }
  return a.length - b.length
}

const byNumber = (one, other) => (one < other ? -1 : one > other ? 1 : 0)
const byPair = (one, other) => byNumber(one[0], other[0]) || byNumber(one[1], other[1])
const namesOf = (object) => Object.keys(object).sort(byText)

const ESCAPES = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\f': '\\f', '\b': '\\b' }
const quote = (value) =>
  // eslint-disable-next-line no-control-regex -- control characters are what is escaped
  `"${value.replace(/["\\\u0000-\u001f]/g, (c) => ESCAPES[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`

/** `indent` is the indent of the present level; null writes everything in one line. */
function write(value, indent) {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = indent === null ? null : `${indent} `
  const items = Array.isArray(value)
    ? value.map((one) => write(one, inner))
    : namesOf(value).map((name) => `${quote(name)}: ${write(value[name], inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (items.length === 0 || indent === null) return open + items.join(', ') + close
  return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${indent}${close}`
}

const writeText = (value) => `${write(value, '')}\n`
const writeJson = (value) => utf8(writeText(value))
const writeLines = (rows) => utf8(rows.map((row) => `${write(row, null)}\n`).join(''))
const canonical = (...values) => utf8(write(values, null))

// Hashes

const commitment = (salt, value) => hex(digest(2, unhex(salt), utf8(value)))

function eventLeaf(tenantId, event) {
  const fields = EVENT_FIELDS.map((name) => event[name])
  if (event.values.length === 0) return digest(0, canonical('stepwell.event.1', tenantId, ...fields))
  const inner = hex(digest(7, join(event.values.map(unhex))))
  return digest(0, canonical('stepwell.event.2', tenantId, ...fields, inner))
}

const valueHash = (value) => hex(digest(0, canonical('stepwell.value.1', ...VALUE_FIELDS.map((name) => value[name]))))

function streamEntry(streamId, previousBlockNo, leaves) {
  const inner = hex(digest(6, join(leaves)))
  return digest(0, canonical('stepwell.stream.1', streamId, previousBlockNo, leaves.length, inner))
}

const blockHash = (chainId, block) =>
  hex(digest(4, canonical('stepwell.block.1', chainId, ...BLOCK_FIELDS.map((name) => block[name]))))

const genesisHash = (chain) =>
  hex(digest(5, canonical('stepwell.chain.1', chain.chain_id, chain.tenant_id, chain.salt_sha256, chain.created_at)))

/** The root at the end of a path, in hexadecimal, computed as in RFC 9162; null if the path has the wrong length. */
function pathRoot(leaf, index, size, steps) {
  if (index < 0n || index >= size) return null
  let [last, found] = [size - 1n, leaf]
  for (const step of steps) {
    if (last === 0n) return null
    if (index & 1n || index === last) {
      found = digest(1, unhex(step), found)
      while (index && !(index & 1n)) [index, last] = [index >> 1n, last >> 1n]
    } else {
      found = digest(1, found, unhex(step))
    }
    ;[index, last] = [index >> 1n, last >> 1n]
  }
  return last === 0n ? hex(found) : null
}

// Signatures: Ed25519 (RFC 8032). Points have the coordinates X, Y, Z and T.

const PRIME = 2n ** 255n - 19n
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const modulo = (value) => ((value % PRIME) + PRIME) % PRIME
const ZERO = [0n, 1n, 1n, 0n]

function power(base, exponent) {
  let [found, square] = [1n, modulo(base)]
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) found = (found * square) % PRIME
    square = (square * square) % PRIME
  }
  return found
}

const inverse = (value) => power(value, PRIME - 2n)
const CURVE = modulo(-121665n * inverse(121666n))
const fromBytes = (data) => data.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
const toBytes = (value) => Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(at * 8)) & 255n))

function pointAdd(one, other) {
  const a = modulo((one[1] - one[0]) * (other[1] - other[0]))
  const b = modulo((one[1] + one[0]) * (other[1] + other[0]))
  const c = modulo(2n * one[3] * other[3] * CURVE)
  const d = modulo(2n * one[2] * other[2])
  const [e, f, g, h] = [b - a, d - c, d + c, b + a]
  return [modulo(e * f), modulo(g * h), modulo(f * g), modulo(e * h)]
}

function pointRead(data) {
  const number = fromBytes(data)
  const [sign, y] = [number >> 255n, BigInt.asUintN(255, number)]
  if (data.length !== 32 || y >= PRIME) return null
  const square = modulo((y * y - 1n) * inverse(CURVE * y * y + 1n))
  let x = power(square, (PRIME + 3n) / 8n)
  if (modulo(x * x) !== square) x = modulo(x * power(2n, (PRIME - 1n) / 4n))
  if (modulo(x * x) !== square || (x === 0n && sign === 1n)) return null
  if ((x & 1n) !== sign) x = PRIME - x
  return [x, y, 1n, modulo(x * y)]
}

function pointBytes(point) {
  const over = inverse(point[2])
  return toBytes(modulo(point[1] * over) | ((modulo(point[0] * over) & 1n) << 255n))
}

const BASE = toBytes(modulo(4n * inverse(5n)))

function pointTimes(number, point) {
  let [found, double] = [ZERO, point]
  for (let left = number; left > 0n; left >>= 1n) {
    if (left & 1n) found = pointAdd(found, double)
    double = pointAdd(double, double)
  }
  return found
}

function isSigned(publicKey, signature, message) {
  const [key, sign] = [unhex(publicKey), unhex(signature)]
  const [start, number] = [sign.slice(0, 32), fromBytes(sign.slice(32))]
  const point = pointRead(key)
  if (number >= ORDER || point === null) return false
  const challenge = fromBytes(sha512(join([start, key, message]))) % ORDER
  const found = pointAdd(pointTimes(number, pointRead(BASE)), pointTimes(ORDER - challenge, point))
  return same(pointBytes(found), start)
}

const anchorMessage = (line) =>
  join([Uint8Array.of(8), canonical('stepwell.anchor.1', line.chain_id, line.tenant_id, line.block_no, line.block_hash)])

// Files

function numbers(...pairs) {
  const made = new DataView(new ArrayBuffer(pairs.reduce((size, [, bytes]) => size + bytes, 0)))
  let at = 0
  for (const [value, bytes] of pairs) {
    if (bytes === 2) made.setUint16(at, value, true)
    else made.setUint32(at, value, true)
    at += bytes
  }
  return new Uint8Array(made.buffer)
}

function pack(entries) {
  const [files, index] = [[], []]
  let at = 0
  const names = [...entries.keys()].sort((one, other) =>
    byNumber(one !== 'manifest.json', other !== 'manifest.json') || byText(one, other))
  for (const name of names) {
    const [data, raw] = [entries.get(name), utf8(name)]
    const sizes = [[crc32(data), 4], [data.length, 4], [data.length, 4], [raw.length, 2], [0, 2]]
    const common = numbers([20, 2], [0, 2], [0, 2], [0, 2], [33, 2], ...sizes)
    files.push(utf8('PK\x03\x04'), common, raw, data)
    const rest = numbers([0, 2], [0, 2], [0, 2], [0o100644 * 65536, 4], [at, 4])
    index.push(utf8('PK\x01\x02'), numbers([(3 << 8) | 20, 2]), common, rest, raw)
    at += 30 + raw.length + data.length
  }
  const size = index.reduce((sum, part) => sum + part.length, 0)
  const end = numbers([0, 2], [0, 2], [names.length, 2], [names.length, 2], [size, 4], [at, 4], [0, 2])
  return join([...files, ...index, utf8('PK\x05\x06'), end])
}

export function unpack(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.length)
  const entries = new Map()
  const mark = (at) => (at + 4 <= data.length ? view.getUint32(at) : 0)
  let at = 0
  while (mark(at) === 0x504b0304 && at + 30 <= data.length) {
    const [method, size] = [view.getUint16(at + 8, true), view.getUint32(at + 18, true)]
    const [nameSize, extraSize] = [view.getUint16(at + 26, true), view.getUint16(at + 28, true)]
    const start = at + 30 + nameSize + extraSize
    const name = Array.from(data.subarray(at + 30, at + 30 + nameSize), (byte) => String.fromCharCode(byte)).join('')
    if (method !== 0 || start + size > data.length || entries.has(name)) return null
    entries.set(name, data.subarray(start, start + size))
    at = start + size
  }
  return entries.size > 0 && mark(at) === 0x504b0102 ? entries : null
}

const fileNames = (entries, without) => [...entries.keys()].filter((name) => !without.includes(name)).sort(byText)

// A file is hashed and read once; nobody changes its bytes.
const fileHashes = new WeakMap()
const fileRecords = new WeakMap()

function fileHash(data) {
  if (!fileHashes.has(data)) fileHashes.set(data, hex(sha256(data)))
  return fileHashes.get(data)
}

function contentsDigest(entries) {
  const lines = fileNames(entries, PROOF_FILES).map(
    (name) => `${fileHash(entries.get(name))} ${entries.get(name).length} ${name}\n`)
  return hex(sha256(utf8(lines.join(''))))
}

function manifestOf(entries, run, head) {
  const files = fileNames(entries, ['manifest.json']).map(
    (name) => ({ name, size: entries.get(name).length, sha256: fileHash(entries.get(name)) }))
  return {
    format: FORMAT, run_id: run.run_id, workflow: run.workflow ?? null, state: run.state_code ?? null,
    with_payloads: run.with_payloads, contents_digest: contentsDigest(entries),
    head: { block_no: head.block_no, block_hash: head.block_hash, sealed_at: head.sealed_at },
    verify: 'python verify.py <this file>', files,
  }
}

function parseFile(name, data) {
  const isLines = !name.endsWith('.json')
  const known = fileRecords.get(data)
  if (known?.isLines !== isLines) fileRecords.set(data, { isLines, found: readFile(data, isLines) })
  return fileRecords.get(data).found
}

function readFile(data, isLines) {
  try {
    if (!isLines) {
      const found = [parse(text(data), true)]
      return same(writeJson(found[0]), data) ? found : null
    }
    const found = text(data).split('\n').slice(0, -1).map((line) => parse(line, true))
    return same(writeLines(found), data) ? found : null
  } catch {
    return null
  }
}

const PATTERNS = {
  h: /^[0-9a-f]{64}$/,
  g: /^[0-9a-f]{128}$/,
  z: /^[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/,
}

function hasType(value, kind) {
  if (kind.endsWith('*')) return Array.isArray(value) && value.every((inner) => hasType(inner, kind.slice(0, -1)))
  if (kind.endsWith('?')) return value === null || hasType(value, kind.slice(0, -1))
  if (kind === 's') return hasType(value, 't') || hasType(value, 'i')
  if (kind === 'b') return typeof value === 'boolean'
  if (kind === 'i') return typeof value === 'bigint' && value >= 0n && value < 1n << 63n
  return typeof value === 'string' && (kind === 't' || PATTERNS[kind].test(value))
}

function hasFields(value, kind) {
  const wanted = Object.keys(TYPES[kind])
  return isObject(value) && Object.keys(value).length === wanted.length &&
    wanted.every((name) => name in value && hasType(value[name], TYPES[kind][name]))
}

function shape(source) {
  if (nesting(source) > SHAPE_NESTING_LIMIT) return ['$: deep']
  const found = new Set()
  const walk = (value, at, depth) => {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
    found.add(`${at}: ${kind === 'bigint' ? 'number' : kind}`)
    if (depth >= SHAPE_DEPTH_LIMIT || typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const inner of value) walk(inner, `${at}[]`, depth + 1)
      return
    }
    const names = namesOf(value)
    for (const name of names) walk(value[name], names.length > SHAPE_NAMES_LIMIT ? `${at}.*` : `${at}.${name}`, depth + 1)
  }
  try {
    walk(loads(source), '$', 0)
  } catch {
    return ['$: no JSON']
  }
  const paths = [...found]
  if (paths.length <= SHAPE_PATHS_LIMIT) return paths
  return [...paths.slice(0, SHAPE_PATHS_LIMIT), `and ${paths.length - SHAPE_PATHS_LIMIT} more`]
}

// Documents: what the sealed events say

function payloadOf(event) {
  try {
    const found = loads(event.payload || '{}')
    return isObject(found) ? found : {}
  } catch {
    return {}
  }
}

const typed = (payload, kinds) => Object.fromEntries(
  Object.entries(kinds).map(([name, kind]) => [name, hasType(payload[name], kind) ? payload[name] : null]))

function valueDigest(value) {
  const fits = isObject(value) && Object.keys(value).length === 2 && hasType(value.size, 'i') && hasType(value.commitment, 'h')
  return fits ? { size: value.size, commitment: value.commitment } : null
}

const APPROVAL = {
  action: 't', subject_unit_id: 'i', reason: 't', tier: 'i', quorum: 'i', acting: 't', approvers: 't*', approver_role: 't',
  expires_at: 'z',
}
const VERDICT = {
  verdict_id: 'i', attempt: 'i', connector: 't', operation: 't', target: 't', idempotency_key: 't', action_hash: 't',
  effect: 't', reason_code: 't', reason: 't', policy_version: 'i', rules_hash: 't', rule: 't', tier: 't', two_person: 'b',
  approval_id: 'i', receipt_id: 'i',
}
const INTENT = { idempotency_key: 't', unit_id: 'i', step_id: 't', verdict_id: 'i', approval_id: 'i' }
const ACTION = {
  connector: 't', operation: 't', target: 't', action_hash: 't', writes: 'b', reversible: 'b',
  requested_by: 't', acting: 't', reverses_receipt_id: 'i',
}
const OUTCOME = {
  external_id: 't', reversible: 'b', provider: 't', model: 't', input_tokens: 'i', output_tokens: 'i', cost_micros: 'i',
  currency: 't',
}
const RUN_FACTS = words(`workflow version_no graph_hash trigger_type trigger_ref trace_id correlation_id started_by
  parent_unit_id depth`)
const IDLE = { state_code: 'not_started', started_at: null, changed_at: null, failure_count: 0, actor: null }

class Story {
  approvals = new Map()
  decisions = []
  receipts = new Map()
  attempts = new Map()
  units = new Map()
  named = new Set()
  digests = new Map()

  constructor(runId, events) {
    this.runId = runId
    const happened = (one, other) => byPair([one.event_id, one.tx], [other.event_id, other.tx])
    for (const event of [...events].sort(happened)) {
      const payload = payloadOf(event)
      if (event.stream_id === runId) this.tellRun(event, payload)
      else if (event.event_type.startsWith('approval.')) this.tellApproval(event, payload)
      else if (event.event_type.startsWith('receipt.')) this.tellReceipt(event, payload)
    }
  }

  tellRun(event, payload) {
    if (!this.units.has(event.unit_id)) this.units.set(event.unit_id, { first: event, ...IDLE })
    const unit = this.units.get(event.unit_id)
    if (event.to_state !== null) {
      unit.state_code = event.to_state
      unit.changed_at = event.at
      if (event.to_state === 'in_progress') unit.started_at ??= event.at
      if (event.to_state === 'failed') unit.failure_count += 1
      if (!['mow_orchestrator', 'system'].includes(event.actor_class) && event.actor !== null) unit.actor = event.actor
    }
    if (!event.event_type.startsWith('action.') && !event.event_type.startsWith('approval.')) return
    const ids = typed(payload, { approval_id: 'i', receipt_id: 'i' })
    for (const found of Object.values(ids)) if (found !== null) this.named.add(found >> 20n)
    if (event.event_type !== 'action.judged') return
    const verdict = typed(payload, VERDICT)
    this.decisions.push({ ...verdict, unit_id: event.unit_id, decided_at: event.at })
    if (ids.receipt_id !== null) {
      this.attempts.set(ids.receipt_id, [...(this.attempts.get(ids.receipt_id) ?? []), verdict.attempt])
    }
  }

  tellApproval(event, payload) {
    if (event.event_type === 'approval.requested') {
      this.approvals.set(event.unit_id, {
        ...typed(payload, APPROVAL), approval_id: event.unit_id, state_code: null, requested_by: event.actor,
        requested_at: event.at, decided_at: null, decided_by: null, about: valueDigest(payload.about), votes: [],
      })
      this.note(`approval:${event.unit_id}:about`, event, payload.about)
    }
    const approval = this.approvals.get(event.unit_id)
    if (approval === undefined) return
    if (event.event_type === 'approval.vote_recorded') {
      const vote = typed(payload, { voter: 't', decision: 't', reason: 't' })
      const others = approval.votes.filter((one) => one.voter !== vote.voter)
      approval.votes = [...others, { ...vote, voted_at: event.at, actor: event.actor }]
    }
    if (event.to_state !== null) {
      const isOpen = event.to_state === 'requested'
      approval.state_code = event.to_state
      approval.decided_at = isOpen ? null : event.at
      approval.decided_by = isOpen ? null : event.actor
    }
  }

  tellReceipt(event, payload) {
    if (!this.receipts.has(event.unit_id)) {
      const blank = words('state_code settled_at settled_by reversed_by_receipt_id')
      const names = [...blank, ...Object.keys(INTENT), ...Object.keys(ACTION), ...Object.keys(OUTCOME)]
      const nothing = Object.fromEntries(names.map((name) => [name, null]))
      this.receipts.set(event.unit_id, { ...nothing, receipt_id: event.unit_id, intended_at: event.at })
    }
    const state = event.to_state
    if (state === null) return
    const [receipt, label] = [this.receipts.get(event.unit_id), `receipt:${event.unit_id}:`]
    receipt.state_code = state
    if (state === 'intended') {
      Object.assign(receipt, typed(payload, INTENT), { settled_at: null, settled_by: null })
      this.digests.delete(`${label}response`)
      if ('connector' in payload) {
        Object.assign(receipt, typed(payload, ACTION))
        this.note(`${label}request`, event, payload.request)
      }
    } else if (state === 'reversed') {
      Object.assign(receipt, typed(payload, { reversed_by_receipt_id: 'i' }))
    } else if ('reversible' in payload) {
      Object.assign(receipt, typed(payload, OUTCOME))
      for (const part of ['response', 'prior', 'reversal']) {
        this.digests.delete(label + part)
        this.note(label + part, event, payload[part])
      }
    }
    if (state === 'confirmed' || state === 'void') {
      receipt.settled_at = event.at
      receipt.settled_by = event.actor
    }
  }

  note(label, event, told) {
    const found = valueDigest(told)
    if (found !== null) this.digests.set(label, { unit_id: event.unit_id, at: event.at, facts: [], ...found })
  }

  documents(claims, tenantId, facts, graph) {
    const receipts = [...this.receipts.keys()].sort(byNumber).map((receiptId) => {
      const attempts = this.attempts.get(receiptId) ?? []
      const values = {}
      for (const part of ['prior', 'request', 'response', 'reversal']) {
        const found = this.digests.get(`receipt:${receiptId}:${part}`)
        if (found !== undefined) values[part] = { size: found.size, commitment: found.commitment }
      }
      return { ...this.receipts.get(receiptId), attempt: attempts.at(-1) ?? null, try_count: attempts.length, values }
    })
    return {
      'run.json': this.run(claims, tenantId, facts, graph),
      'approvals.json': [...this.approvals.keys()].sort(byNumber).map((approvalId) => this.approvals.get(approvalId)),
      'decisions.json': this.decisions,
      'receipts.json': receipts,
      'costs.json': costsOf(receipts),
    }
  }

  run(claims, tenantId, facts, graph) {
    const own = this.units.get(this.runId << 20n)
    const made = {
      ...claims, ...facts, tenant_id: tenantId, created_at: null, finished_at: null, state_code: null,
      steps: this.steps(graph),
    }
    if (own !== undefined) {
      made.created_at = own.first.at
      made.finished_at = own.changed_at
      made.state_code = own.state_code
      made.started_by ??= own.first.actor
    }
    return made
  }

  steps(graph) {
    const defined = new Map()
    const steps = isObject(graph) && Array.isArray(graph.steps) ? graph.steps : []
    steps.forEach((step, at) => {
      if (!isObject(step) || (hasType(step.scope, 'i') && step.scope > 0n)) return
      const known = typed(step, { id: 't', kind: 't', operation: 't' })
      defined.set((this.runId << 20n) | BigInt(at + 1), {
        name: known.id, kind: known.kind, operation: known.operation, mandatory: step.mandatory !== false,
      })
    })
    const nothing = { name: null, kind: null, operation: null, mandatory: null }
    const unitIds = new Set([...defined.keys(), ...this.units.keys()])
    unitIds.delete(this.runId << 20n)
    return [...unitIds].sort(byNumber).map((unitId) => {
      const unit = this.units.get(unitId) ?? IDLE
      const own = Object.fromEntries(Object.keys(IDLE).map((name) => [name, unit[name]]))
      return { unit_id: unitId, ...(defined.get(unitId) ?? nothing), ...own }
    })
  }
}

function costsOf(receipts) {
  const sums = new Map()
  for (const receipt of receipts) {
    if (receipt.provider === null) continue
    const names = [receipt.provider, receipt.model || '', receipt.currency || '']
    const key = write(names, null)
    if (!sums.has(key)) sums.set(key, { names, call_count: 0n, input_tokens: 0n, output_tokens: 0n, cost_micros: 0n })
    const held = sums.get(key)
    held.call_count += 1n
    for (const name of ['input_tokens', 'output_tokens', 'cost_micros']) held[name] += receipt[name] ?? 0n
  }
  const order = (one, other) => one.names.map((name, at) => byText(name, other.names[at])).find((found) => found !== 0) ?? 0
  return [...sums.values()].sort(order).map(({ names: [provider, model, currency], ...held }) => ({
    provider, model: model || null, currency: currency || null, ...held,
  }))
}

function runFacts(runId, values) {
  const given = values.find((value) => value.label === `input:${runId}`)?.facts
  const isWhole = given !== undefined && given.length === RUN_FACTS.length
  return Object.fromEntries(RUN_FACTS.map((name, at) => [name, isWhole ? given[at] : null]))
}

const mustShow = (event, withPayloads) => event.payload_commitment !== null &&
  (withPayloads || SHOWN_PREFIXES.some((prefix) => event.event_type.startsWith(prefix)))

const showsPayload = (event) => commitment(event.salt, event.payload) === event.payload_commitment &&
  BigInt(utf8(event.payload).length) === event.payload_size

// Checks, in the order of docs/evidence-format.md

const placeOf = (event) => `event ${event.tx}/${event.event_id} (${event.event_type}, unit ${event.unit_id})`
const keyOf = (...parts) => parts.join('/')
const isAscending = (keys, order) => keys.every((key, at) => at === 0 || order(keys[at - 1], key) < 0)

class Bundle {
  findings = []
  proven = new Map()
  broken = new Set()

  constructor(entries, records) {
    this.entries = entries
    ;[this.chain, ...this.blockList] = records['chain.jsonl']
    this.blocks = new Map(this.blockList.map((block) => [block.block_no, block]))
    this.head = this.blockList.at(-1)
    this.manifest = records['manifest.json'][0]
    this.events = records['events.jsonl']
    this.proofs = records['proofs.jsonl']
    this.streams = records['streams.jsonl']
    this.values = records['values.json'][0]
    this.run = records['run.json'][0]
    this.records = records
  }

  say(code, place) {
    this.findings.push(finding(code, place))
  }

  check() {
    this.checkManifest()
    this.checkChain()
    this.checkEvents()
    this.checkStreams()
    this.checkPayloads()
    this.checkContents()
    this.checkValues()
    this.checkDocuments()
  }

  checkManifest() {
    const wanted = manifestOf(this.entries, this.run, this.head)
    if (same(writeJson(wanted), this.entries.get('manifest.json'))) return
    const told = this.manifest.files
    const kept = new Set(Array.isArray(told) ? told.map(writeText) : [])
    const changed = wanted.files.filter((one) => !kept.has(writeText(one)))
    for (const one of changed) this.say('file.hash', one.name)
    if (changed.length === 0) this.say('manifest.differs', 'manifest.json')
  }

  checkChain() {
    if (genesisHash(this.chain) !== this.chain.genesis_hash) this.say('chain.genesis', 'chain.jsonl line 1')
    const numbers = this.blockList.map((block) => block.block_no)
    if (!isAscending(numbers, byNumber)) this.say('chain.order', 'chain.jsonl')
    const needed = new Set([...this.proofs.map((proof) => proof.block_no), this.head.block_no])
    for (const block of this.blockList) {
      const [place, number] = [`block ${block.block_no}`, block.block_no]
      if (blockHash(this.chain.chain_id, block) !== block.block_hash) this.say('block.hash', place)
      const first = number === 1n ? this.chain.genesis_hash : undefined
      const before = this.blocks.get(number - 1n)?.block_hash ?? first
      if (before !== undefined && before !== block.previous_hash) this.say('block.link', place)
      if (!this.isInHistory(block)) this.say('block.history', place)
      if (!needed.has(number)) this.say('block.unused', place)
    }
  }

  isInHistory(block) {
    if (block === this.head) return block.history_path.length === 0
    const size = this.head.block_no - 1n
    return pathRoot(unhex(block.block_hash), block.block_no - 1n, size, block.history_path) === this.head.history_root
  }

  checkEvents() {
    const proofs = new Map(this.proofs.map((proof) => [keyOf(proof.tx, proof.event_id), proof]))
    const positions = this.events.map((event) => [event.tx, event.event_id])
    this.events.forEach((event, at) => {
      if (at > 0 && byPair(positions[at], positions[at - 1]) <= 0) this.say('event.order', placeOf(event))
      if (!this.prove(event, proofs.get(keyOf(event.tx, event.event_id)))) this.broken.add(event.stream_id)
    })
    const known = new Set(positions.map((position) => keyOf(...position)))
    const alone = [...proofs.values()].filter((proof) => !known.has(keyOf(proof.tx, proof.event_id)))
    for (const [tx, eventId] of alone.map((proof) => [proof.tx, proof.event_id]).sort(byPair)) {
      this.say('proof.no_event', `event ${tx}/${eventId}`)
    }
    if (!isAscending(this.proofs.map((proof) => [proof.tx, proof.event_id]), byPair)) this.say('proof.order', 'proofs.jsonl')
  }

  prove(event, proof) {
    if (proof === undefined) {
      this.say('event.no_proof', placeOf(event))
      return false
    }
    const block = this.blocks.get(proof.block_no)
    if (block === undefined) {
      this.say('event.block', placeOf(event))
      return false
    }
    const leaf = eventLeaf(this.chain.tenant_id, event)
    if (pathRoot(leaf, proof.leaf_no, block.event_count, proof.path) !== block.event_root) {
      this.say('event.leaf', placeOf(event))
      return false
    }
    this.proven.set(keyOf(event.tx, event.event_id), { blockNo: proof.block_no, leaf })
    return true
  }

  blockOf(event) {
    return this.proven.get(keyOf(event.tx, event.event_id))?.blockNo
  }

  checkStreams() {
    const pairs = this.streams.map((entry) => [entry.stream_id, entry.block_no])
    if (!isAscending(pairs, byPair)) this.say('stream.order', 'streams.jsonl')
    const entries = new Map(this.streams.map((entry) => [keyOf(entry.stream_id, entry.block_no), entry]))
    const held = new Map()
    for (const event of this.events) {
      const found = this.proven.get(keyOf(event.tx, event.event_id))
      if (found === undefined) continue
      const key = keyOf(event.stream_id, found.blockNo)
      if (!held.has(key)) held.set(key, { pair: [event.stream_id, found.blockNo], leaves: [] })
      held.get(key).leaves.push(found.leaf)
    }
    const walked = new Set()
    for (const stream of this.run.streams) {
      const streamId = stream.stream_id
      let blockNo = streamId === this.run.run_id ? this.head.block_no : stream.last_block_no
      while (blockNo !== 0n && !walked.has(keyOf(streamId, blockNo))) {
        const key = keyOf(streamId, blockNo)
        walked.add(key)
        blockNo = this.checkEntry(entries.get(key), streamId, blockNo, held.get(key)?.leaves ?? [])
      }
    }
    const rest = (found) => found.filter((pair) => !walked.has(keyOf(...pair))).sort(byPair)
    for (const [streamId, blockNo] of rest([...held.values()].map((one) => one.pair))) {
      this.say('stream.unknown', `stream ${streamId} in block ${blockNo}`)
    }
    for (const [streamId, blockNo] of rest([...entries.values()].map((one) => [one.stream_id, one.block_no]))) {
      this.say('stream.unused', `stream ${streamId} in block ${blockNo}`)
    }
  }

  checkEntry(entry, streamId, blockNo, leaves) {
    const place = `stream ${streamId} in block ${blockNo}`
    const block = this.blocks.get(blockNo)
    if (entry === undefined || block === undefined) {
      this.say('stream.entry', place)
      return 0n
    }
    const previous = entry.previous_block_no < blockNo ? entry.previous_block_no : 0n
    if (this.broken.has(streamId)) return previous
    const leaf = streamEntry(streamId, entry.previous_block_no, leaves)
    const found = pathRoot(leaf, entry.entry_no, block.stream_count, entry.path)
    if (BigInt(leaves.length) !== entry.event_count) {
      this.say(BigInt(leaves.length) < entry.event_count ? 'stream.lacks' : 'stream.more', place)
    } else if (found !== block.stream_root) {
      this.say('stream.leaf', place)
    }
    return previous
  }

  checkPayloads() {
    for (const event of this.events) {
      const isShown = event.payload !== null && event.salt !== null
      if (mustShow(event, this.run.with_payloads)) {
        if (!isShown) this.say('event.payload_missing', placeOf(event))
        else if (!showsPayload(event)) this.say('event.payload', placeOf(event))
      } else if (event.payload !== null || event.salt !== null) {
        this.say('event.payload_extra', placeOf(event))
      }
    }
  }

  checkContents() {
    const sealing = this.events
      .filter((event) => event.event_type === SEAL_EVENT && event.stream_id === this.run.run_id &&
        this.blockOf(event) === this.head.block_no && event.payload !== null && event.salt !== null && showsPayload(event))
      .map(payloadOf)
    const digest = contentsDigest(this.entries)
    const told = sealing.find((payload) => payload.digest === digest)
    if (sealing.length === 0) this.say('contents.unsealed', 'the files of the bundle')
    else if (told === undefined) this.say('contents.differs', 'the files of the bundle')
    else {
      this.checkCounts(told.streams)
      // Earlier releases did not say it.
      if (Object.hasOwn(told, 'mode') && (told.mode === 'development') !== Object.hasOwn(this.run, 'mode')) {
        this.say('document.differs', 'run.json.mode')
      }
    }
  }

  checkCounts(told) {
    const listed = this.run.streams.map((stream) => stream.stream_id).filter((streamId) => streamId !== this.run.run_id)
    if (!hasType(told, 'i**') || told.some((pair) => pair.length !== 2)) {
      if (listed.length > 0) this.say('stream.uncounted', 'the approvals and receipts')
      return
    }
    const held = new Map()
    for (const event of this.events) {
      if (this.blockOf(event)) held.set(event.stream_id, (held.get(event.stream_id) ?? 0n) + 1n)
    }
    const counted = new Map(told)
    for (const streamId of [...new Set([...listed, ...counted.keys()])].sort(byNumber)) {
      if ((held.get(streamId) ?? 0n) !== (counted.get(streamId) ?? 0n)) this.say('stream.count', `stream ${streamId}`)
    }
  }

  checkValues() {
    const proven = this.events.filter((event) => this.blockOf(event))
    this.story = new Story(this.run.run_id, proven)
    const labels = this.values.map((value) => value.label)
    if (!isAscending(labels, byText)) this.say('value.order', 'values.json')
    const carried = new Map()
    for (const event of proven) {
      if (event.stream_id !== this.run.run_id) continue
      if (!carried.has(event.unit_id)) carried.set(event.unit_id, new Set())
      for (const one of event.values) carried.get(event.unit_id).add(one)
    }
    const found = new Map()
    for (const value of this.values) {
      const mine = valueHash(value)
      if (!found.has(value.unit_id)) found.set(value.unit_id, new Set())
      found.get(value.unit_id).add(mine)
      const told = this.story.digests.get(value.label)
      const isTold = told !== undefined &&
        Object.keys(told).every((name) => write(told[name], null) === write(value[name], null))
      if (!carried.get(value.unit_id)?.has(mine) && !isTold) this.say('value.unsealed', value.label)
      this.checkValue(value)
    }
    for (const unitId of [...carried.keys()].sort(byNumber)) {
      for (const one of carried.get(unitId)) if (!found.get(unitId)?.has(one)) this.say('value.missing', `unit ${unitId}`)
    }
    for (const label of [...this.story.digests.keys()].filter((label) => !labels.includes(label)).sort(byText)) {
      this.say('value.missing', label)
    }
  }

  checkValue(value) {
    const isShown = value.value !== null && value.salt !== null
    const isHidden = value.value === null && value.salt === null
    if (!(this.run.with_payloads ? isShown : isHidden)) this.say('value.shown', value.label)
    if (!isShown) return
    const fits = commitment(value.salt, value.value) === value.commitment
    if (!fits || BigInt(utf8(value.value).length) !== value.size) this.say('value.hash', value.label)
    else if (write(shape(value.value), null) !== write(value.shape, null)) this.say('value.shape', value.label)
  }

  checkDocuments() {
    const facts = runFacts(this.run.run_id, this.values)
    const data = this.entries.get('graph.json')
    let graph = null
    if (facts.graph_hash !== null ? hex(sha256(data)) !== facts.graph_hash : !same(data, utf8('null\n'))) {
      this.say('graph.hash', 'graph.json')
    } else {
      graph = graphOf(data)
    }
    const listed = this.run.streams.map((stream) => stream.stream_id)
    for (const streamId of [...this.story.named].filter((one) => !listed.includes(one)).sort(byNumber)) {
      this.say('stream.named', `stream ${streamId}`)
    }
    const own = this.streamsOfRun()
    for (const streamId of listed) {
      if (streamId !== this.run.run_id && !own.has(streamId)) this.say('stream.foreign', `stream ${streamId}`)
    }
    const { run_id, streams, with_payloads } = this.run
    const claims = { run_id, streams, with_payloads, ...('mode' in this.run ? { mode: this.run.mode } : {}) }
    const wanted = this.story.documents(claims, this.chain.tenant_id, facts, graph)
    if (!isAscending(listed, byNumber)) this.say('document.differs', 'run.json')
    for (const name of DERIVED_FILES) {
      if (!same(writeJson(wanted[name]), this.entries.get(name))) {
        this.say('document.differs', difference(name, wanted[name], this.records[name][0]))
      }
    }
  }

  streamsOfRun() {
    const about = [...this.story.approvals, ...this.story.receipts]
    const mine = about.filter(([, told]) => (told.subject_unit_id || told.unit_id || 0n) >> 20n === this.run.run_id)
    return new Set(mine.map(([unitId]) => unitId >> 20n))
  }

  checkTrust(head, anchored, later, keys) {
    const place = `block ${this.head.block_no}`
    const trusted = new Set([this.head.block_hash])
    const nextNo = this.head.block_no + 1n
    const needed = new Set([...this.blocks.keys(), nextNo])
    if (later !== null) {
      if (this.comesLater(later)) {
        trusted.add(later.block_hash)
        needed.add(later.block_no)
      } else this.say('later.proof', 'the proof of a later block')
    }
    if (head !== null && !trusted.has(head)) this.say('head.other', place)
    if (anchored === null) return
    const mine = anchored.filter((line) => line.chain_id === this.chain.chain_id)
    const [believed, wrong] = believedLines(mine, keys, needed)
    this.findings = this.findings.concat(wrong)
    const others = new Set(mine
      .filter((line) => this.blocks.has(line.block_no) && this.blocks.get(line.block_no).block_hash !== line.block_hash)
      .map((line) => line.block_no))
    for (const number of [...others].sort(byNumber)) this.say('anchor.other', `block ${number}`)
    const isNext = (line) => line.block_no === nextNo && line.previous_hash === this.head.block_hash
    if (mine.length === 0) this.say('anchor.none', place)
    else if (!believed.some((line) => trusted.has(line.block_hash) || isNext(line))) this.say('anchor.head', place)
  }

  comesLater(later) {
    if (!hasFields(later, 'later') || later.chain_id !== this.chain.chain_id) return false
    const [leaf, index] = [unhex(this.head.block_hash), this.head.block_no - 1n]
    return blockHash(later.chain_id, later) === later.block_hash &&
      pathRoot(leaf, index, later.block_no - 1n, later.history_path) === later.history_root
  }
}

const signedBy = (line) => {
  const found = 'public_key' in line ? line.public_key : 'signature' in line ? '' : null
  return found === null || typeof found === 'string' ? found : ''
}

function fitsItself(line) {
  if (!['event_root', 'first_tx', 'public_key', 'signature'].some((name) => name in line)) return true
  return Object.entries(TYPES.header).every(([name, kind]) => hasType(line[name], kind)) &&
    hasType(line.tenant_id, 'i') && blockHash(line.chain_id, line) === line.block_hash
}

const signs = (line) =>
  hasType(line.public_key, 'h') && hasType(line.signature, 'g') && isSigned(line.public_key, line.signature, anchorMessage(line))

/** The lines of one chain that count for the needed blocks, and what is wrong with others. */
function believedLines(lines, keys, needed) {
  const ranks = new Map((keys ?? []).map((key, rank) => [key, rank]))
  const first = new Map()
  for (const line of lines) {
    const key = signedBy(line)
    if (ranks.has(key) && !(first.get(key) <= line.block_no)) first.set(key, line.block_no)
  }
  const begin = [...first.values()].sort(byNumber)[0] ?? -1n
  const [believed, findings] = [[], []]
  const ordered = [...lines].sort((one, other) => byPair([one.block_no, one.block_hash], [other.block_no, other.block_hash]))
  for (const line of ordered) {
    const [key, number] = [signedBy(line), line.block_no]
    if (!needed.has(number) && number !== first.get(key)) continue
    let code = null
    if (!fitsItself(line)) code = 'anchor.line'
    else if (keys !== null && key === null && number <= begin) continue
    else if (keys !== null && (!ranks.has(key) || !signs(line))) code = 'anchor.signature'
    else if ([...first].some(([other, from]) => ranks.get(other) > ranks.get(key) && from < number)) code = 'anchor.key'
    if (code === null) believed.push(line)
    else findings.push(finding(code, `block ${number} in the anchor`))
  }
  if (keys !== null && lines.length > 0 && !first.has(keys.at(-1))) findings.push(finding('anchor.key', 'the anchor'))
  return [believed, findings]
}

function difference(name, wanted, told) {
  if (isObject(wanted) && isObject(told)) {
    for (const key of [...new Set([...Object.keys(wanted), ...Object.keys(told)])].sort(byText)) {
      const isInBoth = Object.hasOwn(wanted, key) && Object.hasOwn(told, key)
      if (!isInBoth || writeText(wanted[key]) !== writeText(told[key])) {
        return difference(`${name}.${key}`, wanted[key] ?? null, told[key] ?? null)
      }
    }
  }
  if (Array.isArray(wanted) && Array.isArray(told)) {
    for (let at = 0; at < Math.max(wanted.length, told.length); at++) {
      if (at >= Math.min(wanted.length, told.length)) return `${name}[${at}]`
      if (writeText(wanted[at]) !== writeText(told[at])) return difference(`${name}[${at}]`, wanted[at], told[at])
    }
  }
  return name
}

/** What is wrong with the list of files; such a bundle is not checked further. */
function listFindings(entries) {
  if (!entries.has('manifest.json')) return [finding('file.missing', 'manifest.json')]
  const told = parseFile('manifest.json', entries.get('manifest.json'))
  if (told === null || !isObject(told[0])) return [finding('json.form', 'manifest.json')]
  if (told[0].format !== FORMAT) {
    return [finding(OLD_FORMATS.includes(told[0].format) ? 'format.old' : 'format.unknown', 'manifest.json')]
  }
  return [
    ...FILES.filter((name) => !entries.has(name)).map((name) => finding('file.missing', name)),
    ...fileNames(entries, FILES).map((name) => finding('file.unknown', name)),
  ]
}

function readRecords(entries) {
  const [records, findings] = [{}, []]
  for (const name of FILES) {
    if (!/\.jsonl?$/.test(name) || name === 'graph.json') continue
    records[name] = parseFile(name, entries.get(name))
    if (records[name] === null) findings.push(finding('json.form', name))
  }
  if (findings.length > 0) return [null, findings]
  const kinds = { 'chain.jsonl': 'block', 'events.jsonl': 'event', 'proofs.jsonl': 'proof', 'streams.jsonl': 'entry' }
  for (const [name, kind] of Object.entries(kinds)) {
    records[name].forEach((record, at) => {
      const isGenesis = name === 'chain.jsonl' && at === 0
      if (!hasFields(record, isGenesis ? 'genesis' : kind)) findings.push(finding('json.fields', `${name} line ${at + 1}`))
    })
  }
  if (records['chain.jsonl'].length < 2) findings.push(finding('json.fields', 'chain.jsonl'))
  const [[values], [run]] = [records['values.json'], records['run.json']]
  if (!Array.isArray(values)) findings.push(finding('json.fields', 'values.json'))
  else {
    values.forEach((value, at) => {
      if (!hasFields(value, 'value')) findings.push(finding('json.fields', `values.json[${at}]`))
    })
  }
  const isRun = isObject(run) && hasType(run.run_id, 'i') && hasType(run.with_payloads, 'b') && Array.isArray(run.streams) &&
    (!('mode' in run) || run.mode === 'development') && run.streams.every((stream) => hasFields(stream, 'stream'))
  if (!isRun) findings.push(finding('json.fields', 'run.json'))
  return [records, findings]
}

/** All findings; none if the bundle is intact, and the trusted block or the anchor vouches for it. */
export function verify(data, options = {}) {
  const entries = unpack(data)
  if (entries === null) return [finding('zip.broken', 'the bundle')]
  const form = same(pack(entries), data) ? [] : [finding('zip.bytes', 'the bundle')]
  return [...verifyFiles(entries, options), ...form]
}

/** The findings of the files of a bundle, by name. */
export function verifyFiles(entries, { head = null, anchored = null, later = null, keys = null } = {}) {
  const listed = listFindings(entries)
  if (listed.length > 0) return listed
  const [records, wrong] = readRecords(entries)
  if (wrong.length > 0) return wrong
  const bundle = new Bundle(entries, records)
  bundle.check()
  bundle.checkTrust(head, anchored, later, keys)
  return bundle.findings
}

/** What a verified bundle says about itself: its manifest, and the documents by file name. */
export function read(data) {
  const [records] = readRecords(unpack(data))
  return { manifest: records['manifest.json'][0], records }
}

/** Anchored headers. Other lines are ignored: after a crash a block is written again. */
export function readAnchor(data) {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(data).split('\n').flatMap((line) => {
    try {
      const found = parse(line, true)
      const fits = isObject(found) && hasType(found.chain_id, 't') && hasType(found.block_no, 'i') && hasType(found.block_hash, 'h')
      return fits ? [found] : []
    } catch {
      return []
    }
  })
}

/** Public keys, one in each line, oldest first; the rest of a line after `#` is ignored. */
export function readKeys(data) {
  const found = text(data).split('\n').map((line) => line.split('#')[0].replace(/^[ \t\r]+|[ \t\r]+$/g, '')).filter((key) => key !== '')
  if (found.length === 0 || !found.every((key) => hasType(key, 'h')) || new Set(found).size !== found.length) {
    throw new Error('keys: one public key in each line is accepted, 64 hexadecimal digits, each once')
  }
  return found
}

/** The sentence that says what vouches for the head. */
export function compared({ head = null, anchored = null, keys = null }) {
  if (head === null && anchored === null) return 'the head was compared with nothing: give --head or --anchor'
  if (anchored === null) return 'the head was compared with --head'
  const what = keys === null ? 'signatures were not checked: give --keys' : `signatures of ${keys.length} keys`
  return `the head was compared with ${head === null ? '' : '--head and '}the anchor; ${what}`
}

async function main(given) {
  const { readFileSync } = await import('node:fs')
  const { parseArgs } = await import('node:util')
  const texts = Object.fromEntries(['head', 'anchor', 'later', 'keys'].map((name) => [name, { type: 'string' }]))
  let data, options
  try {
    const { values, positionals } = parseArgs({ args: given, options: texts, allowPositionals: true })
    if (positionals.length !== 1) throw new Error('usage: node verify.mjs bundle.zip [--head HASH] [--anchor FILE [--keys FILE]] [--later FILE]')
    data = new Uint8Array(readFileSync(positionals[0]))
    options = {
      head: values.head ?? null,
      anchored: values.anchor === undefined ? null : readAnchor(readFileSync(values.anchor)),
      later: values.later === undefined ? null : parse(readFileSync(values.later, 'utf8'), true),
      keys: values.keys === undefined ? null : readKeys(readFileSync(values.keys)),
    }
    if (options.keys !== null && options.anchored === null) throw new Error('--keys goes with --anchor')
  } catch (error) {
    console.error(`verify: ${error.message}`)
    return 2
  }
  const findings = verify(data, options)
  for (const { kind, place, detail, code } of findings.slice(0, FINDING_LIMIT)) console.log(`${kind}: ${place}: ${detail} [${code}]`)
  const sum = hex(sha256(data))
  if (findings.length > 0) {
    console.log(`NOT verified: ${findings.length} findings, sha256 ${sum}`)
    return 1
  }
  const { manifest, records } = read(data)
  console.log(`verified: run ${manifest.run_id} (${manifest.workflow}, ${manifest.state}), ` +
    `${records['events.jsonl'].length} events, sealed in block ${manifest.head.block_no}`)
  console.log(`  head   ${manifest.head.block_hash}\n  sha256 ${sum}`)
  console.log(`  ${compared(options)}`)
  return 0
}

if (typeof process !== 'undefined' && process.argv?.[1]?.endsWith('verify.mjs') && import.meta.url.endsWith('verify.mjs')) {
  process.exitCode = await main(process.argv.slice(2))
}
