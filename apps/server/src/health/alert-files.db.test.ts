import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addBudgetMetrics } from "../gateway/admission/byte-budget.ts";
import { createGatewayMetrics } from "../gateway/exchange/gateway-metrics.ts";
import { addProcessMetrics } from "../gateway-process/compose-gateway.ts";
import { addGatewayMetrics } from "../gateway-process/supervise-gateway.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { HEALTH_PROBLEMS } from "./problems.ts";
import { writeServerMetrics } from "./server-metrics.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const TOKEN = "a-token-of-the-operator-that-is-long-enough";

let server: TestServer;
let shown: string;
let own: string;
beforeAll(async () => {
  server = await openServer({ env: { SERVICE_METRICS_TOKEN: TOKEN } });
  const gateway = new Registry();
  const counted = createGatewayMetrics(gateway, () => 0);
  counted.count(500, 1);
  counted.count(200, 1);
  addProcessMetrics(gateway);
  addBudgetMetrics(gateway, { usedBytes: 0 });
  addGatewayMetrics(gateway, { isReady: () => true });
  const answer = await server.send("GET", "/metrics", { headers: { authorization: `Bearer ${TOKEN}` } });
  own = await writeServerMetrics(server.deps);
  shown = [answer.text, await gateway.metrics()].join("\n");
});
afterAll(() => server[Symbol.asyncDispose]());

const namesIn = (metrics: string) => [...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name);

/** The expressions of the rules, one per line, or of the dashboard. */
function expressionsOf(file: string): string[] {
  if (file.endsWith(".yml"))
    return [...read(file).matchAll(/^ +expr: (.+)$/gm)].map(([, expression = ""]) => expression);
  const board = JSON.parse(read(file)) as { panels: { targets: { expr: string }[] }[] };
  return board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}

const FILES = ["deploy/alerts.yml", "deploy/grafana.json"];

test.each(FILES)("%s uses existing metrics and states", (file) => {
  const known = new Set(namesIn(shown));
  const expressions = expressionsOf(file);
  expect(expressions.length).toBeGreaterThan(15);
  for (const expression of expressions) {
    const names = [...expression.matchAll(/\bappdb_\w+|\bprocess_\w+|\bnodejs_\w+/g)].map(([name]) => name);
    for (const name of names) expect(known, expression).toContain(name.replace(/_(bucket|count|sum)$/, ""));
    // an exact label value requires a matching line
    for (const [, name, label, value] of expression.matchAll(/(\bappdb_\w+)\{[^}]*?(\w+)="([^"]+)"/g)) {
      expect(shown, expression).toMatch(new RegExp(`^${name}\\{.*${label}="${value}"`, "m"));
    }
    for (const [, codes = ""] of expression.matchAll(/code!?~"([^"]+)"/g)) {
      for (const code of codes.split("|")) expect(Object.keys(HEALTH_PROBLEMS)).toContain(code);
    }
  }
});

test("the dashboard shows each metric of the server", () => {
  const board = expressionsOf("deploy/grafana.json").join("\n");
  for (const name of namesIn(own)) expect(board).toMatch(new RegExp(`\\b${name}\\b`));
});

test("docs/operators.md explains each problem and each metric", () => {
  const page = read("docs/operators.md");
  for (const [code, severity] of Object.entries(HEALTH_PROBLEMS)) {
    expect(page).toContain(`| \`${code}\` | ${severity === "notice" ? "ok" : severity} |`);
  }
  for (const name of namesIn(own)) expect(page).toMatch(new RegExp(`\`${name}[{\`]`));
});

test("each kind of server failure has a rule or a health problem", () => {
  const rules = expressionsOf("deploy/alerts.yml").join("\n");
  for (const name of ["gateway_up", "control_postgres_up", "home_disk_free_bytes", "databases", "webhooks"]) {
    expect(rules).toMatch(new RegExp(`appdb_${name}\\b`));
  }
  // AppdbProblem covers the codes without their own rule
  expect(rules).toContain('appdb_health_problem{code!~"gateway_down|postgres_down|disk_full|');
});
