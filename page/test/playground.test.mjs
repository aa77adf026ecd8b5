import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, type, withPage } from "./browser.mjs";
import { ANSWER, API_KEY } from "./fake_server.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

async function ready(page) {
  await type(page, "#key", API_KEY);
  await page.waitForFunction(() => document.querySelector("#model").value === "shakespeare");
  await page.fill("#prompt", "What say you?\n\n");
}

const drawn = (page, index = 0) => page.locator(".drawn").nth(index).textContent();

test("an answer streams in, piece by piece, and ends with its usage", () =>
  withPage(browser, "playground", async (page, server) => {
    server.holdAt = 3;
    await ready(page);
    await page.click("#complete");
    await page.waitForFunction(() => document.querySelectorAll(".token").length >= 3);
    const early = await drawn(page);
    assert.ok(early.length < ANSWER.length && ANSWER.startsWith(early), early);
    assert.equal(await page.isDisabled("#complete"), true);
    server.release();
    await page.waitForSelector("#usage:not([hidden])");
    assert.equal(await drawn(page), ANSWER);
    assert.equal(await page.textContent(".given"), "What say you?\n\n");
    assert.match(await page.textContent("#usage"), /^7 prompt tokens.*drawn tokens.*tokens\/s$/);
    await page.waitForFunction(() => document.querySelector("#status").textContent === "Done.");
    assert.equal(await page.isDisabled("#complete"), false);
  }));

test("without a key it is the key that is asked for, and nothing is sent", () =>
  withPage(browser, "playground", async (page, server) => {
    await page.waitForFunction(() => document.querySelector("#key").validationMessage !== "");
    await page.fill("#prompt", "What say you?");
    await page.click("#complete");
    assert.equal(await page.evaluate(() => document.activeElement.id), "key");
    assert.match(await page.evaluate(() => document.querySelector("#key").validationMessage), /API key/);
    await type(page, "#key", "sk-submix-wrong");
    await page.waitForSelector("#error:not([hidden])");
    assert.notEqual(await page.evaluate(() => document.querySelector("#key").validationMessage), "");
    await ready(page);
    assert.equal(await page.evaluate(() => document.querySelector("#key").validationMessage), "");
    assert.equal(server.requests.length, 0);
  }));

test("the settings are sent, and those that are neutral are not", () =>
  withPage(browser, "playground", async (page, server) => {
    await ready(page);
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("#usage:not([hidden])");
    assert.deepEqual(server.requests[0], {
      model: "shakespeare",
      prompt: "What say you?\n\n",
      max_tokens: 128,
      temperature: 1,
      stream: true,
      stream_options: { include_usage: true },
    });
    await page.fill("#max_tokens", "5");
    await page.fill("#n", "2");
    await page.fill("#top_k", "40");
    await page.fill("#top_p", "0.9");
    await page.fill("#temperature", "0.7");
    await page.fill("#stop", "\\n\\nROMEO\nend");
    assert.match(await page.textContent("#curl"), /"top_k": 40/);
    await page.click("#complete");
    await page.waitForSelector("#usage:not([hidden])");
    const { max_tokens, n, top_k, top_p, temperature, stop } = server.requests[1];
    assert.deepEqual(
      { max_tokens, n, top_k, top_p, temperature, stop },
      { max_tokens: 5, n: 2, top_k: 40, top_p: 0.9, temperature: 0.7, stop: ["\n\nROMEO", "end"] },
    );
    assert.equal(await drawn(page, 0), await drawn(page, 1));
    assert.equal(await page.locator(".ending").nth(1).textContent(), "reached the most tokens");
  }));

test("cancelling hangs up", () =>
  withPage(browser, "playground", async (page, server) => {
    server.holdAt = 2;
    await ready(page);
    await page.click("#complete");
    await page.waitForFunction(() => document.querySelectorAll(".token").length >= 2);
    await page.click("#cancel");
    await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("Cancelled."));
    const kept = await drawn(page);
    assert.ok(kept.length > 0 && kept.length < ANSWER.length);
    for (let wait = 0; server.hungUp === 0 && wait < 250; ++wait) await page.waitForTimeout(20);
    assert.equal(server.hungUp, 1);
    assert.equal(await page.isDisabled("#complete"), false);
    assert.equal(await page.isHidden("#error"), true);
  }));

test("an error of the server is shown in its own words, before and within a stream", () =>
  withPage(browser, "playground", async (page) => {
    await ready(page);
    await page.fill("#max_tokens", "5000");
    await page.click("#complete");
    await page.waitForSelector("#error:not([hidden])");
    assert.equal(await page.textContent("#error"), "This model's maximum context length is 1000 tokens. (field: prompt)");
    await page.fill("#max_tokens", "50");
    await page.fill("#prompt", "please break off");
    await page.click("#complete");
    await page.waitForFunction(() => document.querySelector("#error").textContent.includes("about to stop"));
    assert.equal(await page.textContent(".ending"), "broken off");
  }));

test("a wrong key and a server that is gone are told apart", () =>
  withPage(browser, "playground", async (page, server) => {
    await type(page, "#key", "sk-wrong");
    await page.waitForSelector("#error:not([hidden])");
    assert.match(await page.textContent("#error"), /^The key is missing or wrong\./);
    await ready(page);
    assert.equal(await page.isHidden("#error"), true);
    server.http.close();
    server.http.closeAllConnections();
    await page.click("#complete");
    await page.waitForSelector("#error:not([hidden])");
    assert.match(await page.textContent("#error"), /cannot be reached/);
  }));

test("the key stays in the tab's session, and markup in an answer stays text", () =>
  withPage(browser, "playground", async (page) => {
    await ready(page);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    assert.equal(await page.evaluate(() => sessionStorage.getItem("submix-api-key")), API_KEY);
    const other = await page.context().newPage();
    await other.goto(page.url());
    assert.equal(await other.inputValue("#key"), "");
    await other.close();
    await page.fill("#prompt", "<img src=x onerror=alert(1)>");
    await page.click("#complete");
    await page.waitForSelector("#usage:not([hidden])");
    assert.equal(await page.locator(".answer img").count(), 0);
    assert.equal(await page.textContent(".given"), "<img src=x onerror=alert(1)>");
  }));

test("every control has a name, and the page works with the keyboard alone", () =>
  withPage(browser, "playground", async (page) => {
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("input,select,textarea,button")]
        .filter((control) => !(control.labels?.length || control.ariaLabel || control.textContent.trim()))
        .map((control) => control.id),
    );
    assert.deepEqual(nameless, []);
    await ready(page);
    await page.focus("#prompt");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "complete");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#usage:not([hidden])");
  }));
