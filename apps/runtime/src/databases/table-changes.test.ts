import { type TableChange, tableChangeRequestSchema } from "@appdb/contract/routes/table-changes";
import { expect, test } from "vitest";
import { changeDatabase, type TableChangeDeps } from "./table-changes.ts";

const image = {
  name: "thumb",
  type: { kind: "image", destination: "s3://x" },
  nullable: true,
  primary_key: false,
  computed: null,
  comment: null,
  custom_metadata: null,
  source: { file: "notebook", line: 3 },
};
const table = {
  name: "photos",
  model: "Photos",
  comment: null,
  custom_metadata: null,
  primary_key: [],
  indexes: [],
  has_default_idxs: false,
  source: { file: "notebook", line: 1 },
};

test.each<[string, Record<string, unknown>]>([
  ["create_table", { definition: { ...table, columns: [image] } }],
  ["create_table", { definition: { ...table, columns: [{ ...image, type: { kind: "image" } }], unstored: [image] } }],
  ["add_columns", { columns: [image] }],
])("%s with an invalid destination is refused before the database opens", async (change, parts) => {
  const asked = { change: { change, table: "photos", ...parts } as unknown as TableChange };
  const opened = () => Promise.reject(new Error("The database was opened."));
  const deps = { uri: "main", owns_projects: false, open: opened } as unknown as TableChangeDeps;
  const request = tableChangeRequestSchema.parse(asked);
  await expect(changeDatabase(deps, request, () => undefined, new AbortController().signal)).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("notebook:3: destination= of column photos.thumb is 's3://x'"),
  });
});
