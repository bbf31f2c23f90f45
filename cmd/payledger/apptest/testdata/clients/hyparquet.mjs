// Usage: node hyparquet.mjs FOLDER. Prints every row of the folder's Parquet files: the table, a tab, and the row as JSON without the columns
// that are null. Integers and JSON are printed as they are stored, times to the microsecond.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { decompress } from 'fzstd';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';

class Raw { constructor(text) { this.text = text; } }

const decoder = new TextDecoder('utf-8', { fatal: true });
const compressors = { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) };
const parsers = {
  stringFromBytes: (bytes) => bytes && decoder.decode(bytes),
  jsonFromBytes: (bytes) => bytes && new Raw(decoder.decode(bytes)),
  timestampFromMicroseconds(micros) {
    const seconds = new Date(Number(micros / 1_000_000n) * 1000).toISOString().slice(0, 19);
    return `${seconds}.${String(micros % 1_000_000n).padStart(6, '0')}Z`;
  },
};

function text(value) {
  if (value instanceof Raw) return value.text;
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

for (const name of readdirSync(process.argv[2]).sort()) {
  if (!name.endsWith('.parquet')) continue;
  const file = await asyncBufferFromFile(join(process.argv[2], name));
  const lines = [];
  for (const row of await parquetReadObjects({ file, compressors, parsers })) {
    const cells = Object.entries(row).filter(([, value]) => value !== null && value !== undefined);
    lines.push(`${name.match(/^[a-z]+/)[0]}\t{${cells.map(([column, value]) => `"${column}":${text(value)}`).join(',')}}\n`);
  }
  process.stdout.write(lines.join(''));
}
