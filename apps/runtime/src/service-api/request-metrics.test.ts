import { expect, test } from "vitest";
import { createRequestMetrics } from "./request-metrics.ts";

test("prints request metrics in Prometheus format with cumulative buckets", () => {
  const metrics = createRequestMetrics(() => 2);
  for (const seconds of [0.0005, 0.001, 0.004, 31]) {
    metrics.observe({ method: "POST", route: "/docs", status: seconds > 1 ? 500 : 200, seconds });
  }
  metrics.observe({ method: "GET", route: null, status: 404, seconds: 0.5 });
  metrics.observe({ method: "GET", route: '/a"b\\c\n', status: 200, seconds: 0.5 });
  metrics.observe({ method: "POST", route: "/docs", status: 400, seconds: 40, has_failed: true });
  metrics.observe({ method: "POST", route: "/docs", status: 422, seconds: 40 });
  const { text, content_type: contentType } = metrics.print();
  const lines = text.split("\n");
  expect(contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(lines).toContain('appdb_requests_total{method="POST",route="/docs",status="200"} 3');
  expect(lines).toContain('appdb_requests_total{method="POST",route="/docs",status="500"} 1');
  expect(lines).toContain('appdb_requests_total{method="GET",route="none",status="404"} 1');
  expect(lines).toContain('appdb_requests_failed_total{method="POST",route="/docs"} 2');
  expect(lines).toContain('appdb_requests_failed_total{method="GET",route="none"} 0');
  expect(lines).toContain('appdb_requests_total{method="GET",route="/a\\"b\\\\c\\n",status="200"} 1');
  const posts = lines.filter((line) => line.startsWith("appdb_request_seconds") && line.includes('"/docs"'));
  const counts = posts.map((line) => Number(line.split(" ").at(-1)));
  expect(counts).toEqual([2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 6, expect.closeTo(111.0055), 6]);
  expect(posts[0]).toContain('le="0.001"');
  expect(posts[14]).toContain('le="+Inf"');
  expect(lines.at(-2)).toBe("appdb_requests_in_flight 2");
  expect(lines.at(-1)).toBe("");
});
