// SPDX-License-Identifier: GPL-2.0
// node locked.js FOLDER LOCKED: whether each package that npm put into FOLDER/node_modules has the version and the checksum of
// LOCKED/package-lock.json.
'use strict';
const { readFileSync } = require('fs');
const packages = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;
const wanted = packages(process.argv[3] + '/package-lock.json');
const found = Object.entries(packages(process.argv[2] + '/node_modules/.package-lock.json'));
const others = found.filter(([name, { version, integrity }]) =>
	!integrity || wanted[name]?.version !== version || wanted[name].integrity !== integrity);

for (const [name] of others) console.error(`engines: ${name} is another one`);
process.exit(others.length || !found.length ? 1 : 0);
