// Signs and verifies with the npm package jose, which shares no code with ours. Standard input is one JSON object:
//   {"keys": JWK Set, "verify": [token, …], "sign": [{"key": private JWK, "header": {…}, "payload": text}, …]}
// Standard output is one, too: what each token says, or why it is refused, and the tokens that were made.
import { CompactSign, calculateJwkThumbprint, compactVerify, createLocalJWKSet, importJWK } from 'jose'

let text = ''
for await (const chunk of process.stdin) text += chunk
const job = JSON.parse(text)
const keys = createLocalJWKSet(job.keys)

const verified = []
for (const token of job.verify) {
  try {
    const { payload, protectedHeader } = await compactVerify(token, keys, { algorithms: ['ES256', 'RS256', 'EdDSA'] })
    verified.push({ payload: new TextDecoder().decode(payload), header: protectedHeader })
  } catch (e) {
    verified.push({ error: e.code ?? String(e) })
  }
}
const signed = []
for (const { key, header, payload } of job.sign) {
  signed.push(await new CompactSign(new TextEncoder().encode(payload)).setProtectedHeader(header).sign(await importJWK(key, header.alg)))
}
const thumbprints = []
for (const key of job.keys.keys) thumbprints.push(await calculateJwkThumbprint(key))
console.log(JSON.stringify({ verified, signed, thumbprints }))
