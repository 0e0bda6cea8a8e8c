// Checks the rows of JSONL files with Ajv: node ajv.cjs NODE_MODULES SCHEMA ROWS...
"use strict";
const fs = require("node:fs");
const readline = require("node:readline");

const [modules, schema, ...paths] = process.argv.slice(2);
const Ajv = require(require.resolve("ajv", { paths: [modules] }));
const ajv = new Ajv({ strict: false, validateFormats: false, logger: false });
const validate = ajv.compile(JSON.parse(fs.readFileSync(schema, "utf8")));

async function main() {
  let rows = 0;
  let refused = 0;
  for (const path of paths) {
    const lines = readline.createInterface({ input: fs.createReadStream(path), crlfDelay: Infinity });
    lines.on("line", (line) => {
      rows += 1;
      if (!validate(JSON.parse(line))) refused += 1;
    });
    await new Promise((resolve) => lines.once("close", resolve));
  }
  console.log(JSON.stringify({ rows, refused }));
  process.exitCode = refused ? 1 : 0;
}

main();
