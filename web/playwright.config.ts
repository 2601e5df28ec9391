import { defineConfig } from "@playwright/test";

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "tests",
  // The others run in Node.
  testMatch: "*.spec.ts",
  workers: 1,
  timeout: 40_000,
  expect: { timeout: 12_000 },
  reporter: "list",
  use: {
    baseURL: "http://127.0.0.1:4173/",
    viewport: { width: 1280, height: 900 },
    launchOptions: { executablePath, args: ["--no-sandbox"] },
  },
  webServer: { command: "npx vite preview --host 127.0.0.1 --port 4173 --strictPort", url: "http://127.0.0.1:4173/", reuseExistingServer: false },
});
