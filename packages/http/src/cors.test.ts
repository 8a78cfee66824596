import { MEDIA_CORS } from "@appdb/contract/media";
import { describe, expect, test } from "vitest";
import { corsHeaders, preflightHeaders } from "./cors.ts";

describe("signed addresses of files", () => {
  test("are read by a page of any origin, with their ranges and tags", () => {
    const headers = corsHeaders("https://shop.example", MEDIA_CORS);
    expect(headers["access-control-allow-origin"]).toBe("*");
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
    for (const name of ["etag", "content-range", "accept-ranges", "content-disposition"]) {
      expect(headers["access-control-expose-headers"]?.split(", ")).toContain(name);
    }
  });

  test("are asked for by GET and HEAD alone", () => {
    expect(preflightHeaders("https://shop.example", ["GET", "HEAD", "POST"], MEDIA_CORS)).toMatchObject({
      "access-control-allow-methods": "GET, HEAD",
      "access-control-allow-headers": "range, if-range, if-none-match",
    });
  });
});

test("without a rule only pages of this machine read an answer", () => {
  expect(corsHeaders("http://localhost:3000", null)["access-control-allow-origin"]).toBe("http://localhost:3000");
  expect(corsHeaders("https://shop.example", null)).toEqual({});
});
