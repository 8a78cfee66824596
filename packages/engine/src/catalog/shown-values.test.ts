import { printReference } from "@appdb/contract/media";
import { expect, test } from "vitest";
import { shownOf } from "./shown-values.ts";

test("shows a file by its type, its size and the start of its hash", () => {
  const key = `3f/${"3f".repeat(32)}.jpg`;
  const picture = { store: "home", key, type: "image/jpeg", bytes: 900, width: 256, height: 192 };
  expect(shownOf("image", printReference(picture))).toBe("image/jpeg 256x192 (3f3f3f3f)");
  const film = { store: "home", key, type: "video/mp4", bytes: 900 };
  expect(shownOf("video", printReference(film))).toBe("video/mp4 900 bytes (3f3f3f3f)");
  expect(shownOf("image", printReference({ url: "https://a.example/b.jpg" }))).toBe("https://a.example/b.jpg");
  expect(shownOf("image", null)).toBeNull();
});
