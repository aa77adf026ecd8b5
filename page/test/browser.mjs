// Chromium and a page in it. Whatever the page itself gets wrong fails the test: an exception, a line
// on the console, a resource that its policy refuses, a request to another origin.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { FakeServer } from "./fake_server.mjs";

const folder = fileURLToPath(new URL("..", import.meta.url));
const built = process.env.SUBMIX_PAGE_BUILT ?? join(folder, "built");

export async function launch() {
  return chromium.launch({
    executablePath: process.env.SUBMIX_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"], // tests run as root, too
  });
}

// Runs `visit` on a fresh page of a fresh server.
export async function withPage(browser, name, visit, contextOptions = {}) {
  const server = await FakeServer.start(built, join(folder, "content_security_policy.txt"), name);
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...contextOptions });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const isStatus = message.text().startsWith("Failed to load resource:"); // the page says it itself
    if (message.type() === "error" && !isStatus) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url)) complaints.push(`a request to ${request.url()}`);
  });
  try {
    await page.goto(server.url);
    await visit(page, server);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
    await server.stop();
  }
}

export async function type(page, selector, text) {
  await page.fill(selector, text);
  await page.locator(selector).blur();
}
