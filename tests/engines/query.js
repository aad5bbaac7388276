// SPDX-License-Identifier: GPL-2.0
// node query.js clickhouse|duckdb FOLDER < QUERIES: what an engine of FOLDER/node_modules (fetch.sh) answers.
//
// QUERIES is a JSON array of texts of SQL, which one session gets one by one. Prints a line of JSON for each: an array
// of rows, themselves arrays in the order of their columns, or {"error": TEXT}.
'use strict';
const { createRequire } = require('module');
const { readFileSync } = require('fs');
const [engine, folder] = process.argv.slice(2);
const load = createRequire(folder + '/');

// Numbers are not parsed: they may have more than 53 bits.
function clickhouse() {
	const { Session } = load('chdb');
	const session = new Session();
	return {
		ask: async (sql) => '[' + session.query(sql, 'JSONCompactEachRow').trim().split('\n').join(',') + ']',
		end: () => session.cleanup(),
	};
}

async function duckdb() {
	const { DuckDBInstance } = load('@duckdb/node-api');
	const connection = await (await DuckDBInstance.create(':memory:')).connect();
	return {
		ask: async (sql) => JSON.stringify((await connection.runAndReadAll(sql)).getRowsJson()),
		end: () => connection.closeSync(),
	};
}

async function main() {
	const session = await { clickhouse, duckdb }[engine]();
	for (const sql of JSON.parse(readFileSync(0, 'utf8'))) {
		let answer;
		try {
			answer = await session.ask(sql);
		} catch (error) {
			answer = JSON.stringify({ error: String(error.message) });
		}
		console.log(answer);
	}
	session.end();
}

main();
