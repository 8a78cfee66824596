import tailwindcss from "@tailwindcss/vite";
import { defaultClientConditions, defineConfig } from "vite";

/** Everything comes from files of our own: the content security policy allows no `data:` and nothing inline. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [tailwindcss()],
  resolve: { conditions: ["source", ...defaultClientConditions] },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: ["chrome123", "firefox121", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // "use client" in the router's files is for servers that render; there is none
      onLog: (level, log, handle) => {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") handle(level, log);
      },
    },
  },
});
