/// <reference types="vitest/config" />
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

// STEPWELL_UI_OUT lets the wheel's build hook write beside the old build and swap the two when it succeeded.
export default defineConfig({
  plugins: [vue()],
  define: {
    __VUE_I18N_FULL_INSTALL__: true,
    __VUE_I18N_LEGACY_API__: false,
    __INTLIFY_PROD_DEVTOOLS__: false,
  },
  build: {
    outDir: process.env.STEPWELL_UI_OUT ?? "../src/stepwell/ui_dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
  },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": process.env.STEPWELL_SERVER ?? "http://127.0.0.1:8400" },
  },
  // Only a test that never ends takes so long; on a busy machine a test may take seconds.
  test: { include: ["src/**/*.test.ts"], environment: "node", testTimeout: 60_000 },
});
