import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, type, withPage } from "./browser.mjs";
import { OPERATOR_KEY, ledgerOf } from "./fake_server.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

async function open(page) {
  await page.uncheck("#follow"); // every reading here is asked for
  await type(page, "#key", OPERATOR_KEY);
  await page.waitForSelector("#ledger:not([hidden])");
}

test("the ledger is drawn: a bar a part, answers left, records", () =>
  withPage(browser, "operator", async (page) => {
    await open(page);
    const { parts } = ledgerOf(8, 1);
    assert.equal(await page.locator("#parts tr").count(), 8);
    const meters = await page
      .locator("#parts .meter")
      .evaluateAll((bars) => bars.map((bar) => [bar.getAttribute("aria-valuenow"), bar.firstChild.style.width, bar.clientWidth]));
    for (const [index, { spent, budget }] of parts.entries()) {
      const [value, filled, whole] = meters[index];
      const share = ((100 * spent) / budget).toFixed(1);
      assert.equal(Number(value).toFixed(1), share);
      assert.equal(parseFloat(filled).toFixed(1), share);
      assert.ok(whole > 50);
    }
    assert.equal(await page.textContent("#answers-left"), "0"); // part 3 is spent
    assert.match(await page.textContent("#spent-note"), /^mean of 8 parts; 1 spent/);
    assert.equal(await page.locator("#parts tr[data-level=out]").count(), 1);
    const { promise } = ledgerOf(8, 1);
    assert.equal(await page.textContent("#promise"), promise.sentence);
    assert.deepEqual(await page.locator("#promise-columns th").allTextContents(), ["one user", "one part"]);
    const rows = await page.locator("#promise-rows tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(rows, promise.table.map(({ label, user, part }) => [label, user, part]));
    assert.match(await page.textContent("#order-note"), /order 8.*every part/);
  }));

test("128 parts, the most spent first", () =>
  withPage(browser, "operator", async (page, server) => {
    server.parts = 128;
    await open(page);
    await page.selectOption("#sort", "spent");
    assert.equal(await page.locator("#parts tr").count(), 128);
    assert.equal(await page.locator("#skyline div:visible").count(), 128);
    const shares = await page.$$eval("#parts .meter", (bars) => bars.map((bar) => Number(bar.ariaValueNow ?? bar.getAttribute("aria-valuenow"))));
    assert.deepEqual(shares, [...shares].sort((a, b) => b - a));
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0);
  }));

test("the rate is measured since the page was opened", () =>
  withPage(browser, "operator", async (page) => {
    await open(page);
    assert.equal(await page.textContent("#rate"), "…");
    await page.waitForTimeout(1100);
    await page.click("#refresh");
    await page.waitForFunction(() => document.querySelector("#rate").textContent !== "…");
    const rate = parseFloat(await page.textContent("#rate"));
    assert.ok(rate > 0 && rate <= 6 / (1.1 / 60), `6 records in 1.1 s or more: ${rate}`);
    assert.match(await page.textContent("#rate-note"), /the first part lasts \d/);
  }));

test("the chain is unchecked, whole or broken, and broken says where", () =>
  withPage(browser, "operator", async (page, server) => {
    await open(page);
    assert.equal(await page.getAttribute(".badge", "data-state"), "unchecked");
    await page.click("#verify");
    await page.waitForSelector(".badge[data-state=whole]");
    server.chain = "record 117: its hash does not follow from record 116";
    await page.click("#verify");
    await page.waitForSelector(".badge[data-state=broken]");
    assert.match(await page.textContent("#error"), /broken: record 117/);
    await page.click("#refresh"); // a reading without a check does not make it whole
    await page.waitForTimeout(200);
    assert.equal(await page.getAttribute(".badge", "data-state"), "broken");
  }));

test("without the operator's key nothing is shown", () =>
  withPage(browser, "operator", async (page) => {
    assert.match(await page.textContent("#status"), /Give the operator's key/);
    await type(page, "#key", "sk-of-a-client");
    await page.waitForSelector("#error:not([hidden])");
    assert.equal(await page.isHidden("#ledger"), true);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
  }));
