// Measurements, which pass whatever they find. Run: npm run bench
import { defineConfig } from "@playwright/test";
import base from "../playwright.config";

export default defineConfig(base, {
  testDir: ".",
  testMatch: "*.bench.ts",
  timeout: 900_000,
});
