// Usage: node asyncapi.mjs FILE. Prints the number of messages, or what AsyncAPI's parser finds at errors and warnings.
import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], 'utf8'));
const found = diagnostics.filter((d) => d.severity <= 1);
for (const d of found) console.log(`${d.path.join('.')}: ${d.message}`);
if (!document || found.length > 0) process.exit(1);
console.log(`${document.allMessages().length} messages`);
