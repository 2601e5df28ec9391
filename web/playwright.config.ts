import { defineConfig } from "@playwright/test";
import { HOST } from "./tests/address";

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "tests",
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 40_000 },
  reporter: "list",
  use: {
    baseURL: `http://${HOST}/`,
    viewport: { width: 1280, height: 900 },
    launchOptions: { executablePath, args: ["--no-sandbox"] },
  },
  webServer: {
    command: `node node_modules/vite/bin/vite.js preview --host 127.0.0.1 --port ${HOST.split(":")[1]} --strictPort`,
    cwd: import.meta.dirname,
    url: `http://${HOST}/`,
    reuseExistingServer: false,
  },
});
