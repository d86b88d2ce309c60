// Runs one ONNX file in ONNX Runtime on noise and writes inputs and outputs as raw fp32.
//
//   node run.mjs MODEL.onnx COUNT FOLDER
//
// Writes FOLDER/inputs.bin (COUNT samples of the only input, uniform in [-1, 1), seeded) and
// FOLDER/output<K>.bin, and prints {"input", "shape", "outputs", "optimisations", "because"} as
// JSON. Optimisations are "all", or "basic" if ONNX Runtime accepts the file only with these;
// "because" is then its message. If it rejects the file, prints its message and exits with 1; a
// file with operators of QONNX or with several inputs exits with 2.
import fs from 'node:fs';
import path from 'node:path';
import ort from 'onnxruntime-node';

const [model, countText, folder] = process.argv.slice(2);
const count = Number(countText);
let session, optimisations, because = null;
for (optimisations of ['all', 'basic']) {
  try {
    session = await ort.InferenceSession.create(
        model, {logSeverityLevel: 4, graphOptimizationLevel: optimisations});
    break;
  } catch (error) {
    because = String(error.message).split('\n')[0];
  }
}
if (session === undefined) {
  console.error(because);
  process.exit(because.includes('qonnx') ? 2 : 1);
}
if (session.inputNames.length !== 1) {
  console.error('the network has several inputs');
  process.exit(2);
}
const name = session.inputNames[0];
const shape = session.inputMetadata[0].shape.map(
    (d, i) => (typeof d === 'number' && d > 0 ? d : i === 0 ? 1 : NaN));
const elements = shape.reduce((a, b) => a * b, 1);
if (!Number.isInteger(elements)) {
  console.error(`input '${name}' has shape ${session.inputMetadata[0].shape}`);
  process.exit(2);
}
let state = 12345n;
const uniform = () => {  // a 64-bit linear congruential generator (Knuth's MMIX)
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number(state >> 40n) / 2 ** 23 - 1;
};
const inputs = Float32Array.from({length: count * elements}, uniform);
const outputs = session.outputNames.map(() => []);
for (let i = 0; i < count; ++i) {
  const data = inputs.slice(i * elements, (i + 1) * elements);
  const results = await session.run({[name]: new ort.Tensor('float32', data, shape)});
  session.outputNames.forEach(
      (output, k) => outputs[k].push(Float32Array.from(results[output].data, Number)));
}
const bytes = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
fs.writeFileSync(path.join(folder, 'inputs.bin'), bytes(inputs));
outputs.forEach((rows, k) => fs.writeFileSync(
    path.join(folder, `output${k}.bin`), Buffer.concat(rows.map(bytes))));
console.log(JSON.stringify(
    {input: name, shape, outputs: session.outputNames, optimisations, because}));
