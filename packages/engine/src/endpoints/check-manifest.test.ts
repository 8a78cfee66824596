import type { ManifestIndex } from "@appdb/contract/manifest";
import { aColumn, aManifest, anIndex, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { checkManifest } from "./check-manifest.ts";

const VECTOR = aColumn("v", "array", { type: { kind: "array", dtype: "float32", shape: [4], vector: "fp32" } });

function sightings(...indexes: ManifestIndex[]) {
  return aManifest({ tables: [aTable("sightings", [aColumn("photo", "image"), VECTOR], { indexes })] });
}

function anEmbeddingIndex(column: string, values: string | null): ManifestIndex {
  const options = { metric: "cosine", precision: "fp32", dimensions: 4, values } as const;
  return { kind: "embedding", name: null, columns: [column], source: { file: "app.py", line: 3 }, ...options };
}

test("embedding indexes may be over media and arrays", async () => {
  await checkManifest(sightings(anEmbeddingIndex("photo", "v"), anEmbeddingIndex("v", null)));
});

test("B-tree indexes over media are refused", async () => {
  await expect(checkManifest(sightings(anIndex(["photo"])))).rejects.toThrow(
    "Index on (photo) is over 'photo', which cannot be indexed in table 'sightings'.",
  );
});
