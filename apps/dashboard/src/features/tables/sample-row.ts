import type { DataTable } from "@appdb/contract/routes/data-api";

/** A sample row as JSON, without computed columns and generated keys. */
export function sampleRow({ columns }: DataTable): string {
  const required = columns.filter(
    ({ is_computed: isComputed, is_key: isKey, type }) => !isComputed && !(isKey && type === "UUID"),
  );
  const members = required.map(({ name, type }) => `  ${JSON.stringify(name)}: ${sampleOf(type)}`);
  return `{\n${members.join(",\n")}\n}`;
}

const SAMPLES: readonly (readonly [type: RegExp, sample: string])[] = [
  [/\| None$/, "null"],
  [/^(Int|Float)\b/, "0"],
  [/^Bool\b/, "false"],
  [/^Timestamp\b/, '"2026-01-31T12:00:00Z"'],
  [/^Date\b/, '"2026-01-31"'],
  [/^Json\b/, "{}"],
  [/^Array\b/, "[]"],
  [/^(Image|Video|Audio|Document)\b/, '"https://example.com/file"'],
];

function sampleOf(type: string): string {
  return SAMPLES.find(([of]) => of.test(type))?.[1] ?? '""';
}

/** The curl command for the same request, with the key from the environment. */
export function curlCommand(url: string, row: string): string {
  // a quote ends the quoted text for a moment
  const body = row.replaceAll("'", "'\\''");
  return [
    `curl -X POST '${url}'`,
    `-H "X-api-key: $SERVICE_API_KEY"`,
    `-H 'content-type: application/json'`,
    `-d '${body}'`,
  ].join(" \\\n  ");
}
