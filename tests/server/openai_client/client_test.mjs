// The official client, unchanged, against a running server: node client_test.mjs BASE_URL KEY MODEL
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const [baseURL, apiKey, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });

const models = await client.models.list();
assert.deepEqual(models.data.map((entry) => entry.id), [model]);

const completion = await client.completions.create({ model, prompt: 'My lord,', max_tokens: 8, n: 2 });
assert.equal(completion.object, 'text_completion');
assert.equal(completion.choices.length, 2);
assert.ok(completion.choices.every((choice) => typeof choice.text === 'string'));
assert.equal(completion._request_id, completion.id);
assert.ok(completion.usage.completion_tokens >= 2 && completion.usage.completion_tokens <= 16);

const messages = [{ role: 'user', content: 'Who goes there?' }];
const chat = await client.chat.completions.create({ model, messages, max_completion_tokens: 8 });
assert.equal(chat.choices[0].message.role, 'assistant');
assert.ok(['stop', 'length'].includes(chat.choices[0].finish_reason));

let text = '';
let usage = null;
let reason = null;
for await (const chunk of await client.chat.completions.create({
  model, messages, max_tokens: 8, stream: true, stream_options: { include_usage: true },
})) {
  text += chunk.choices[0]?.delta?.content ?? '';
  reason = chunk.choices[0]?.finish_reason ?? reason;
  usage = chunk.usage ?? usage;
}
assert.ok(['stop', 'length'].includes(reason));
assert.ok(usage.completion_tokens >= 1 && usage.completion_tokens <= 8);

let pieces = 0;
for await (const chunk of await client.completions.create({ model, prompt: 'My lord,', max_tokens: 8, stream: true })) {
  pieces += chunk.choices.length;
}
assert.ok(pieces >= 1);

const stopped = await client.completions.create({ model, prompt: 'My lord,', max_tokens: 300, stream: true });
for await (const chunk of stopped) {
  stopped.controller.abort();  // a user who presses "stop"
  break;
}

const withSeed = client.completions.create({ model, prompt: 'a', seed: 7 });
await assert.rejects(withSeed, (error) => error instanceof OpenAI.BadRequestError && error.param === 'seed' && error.requestID.length > 0);
await assert.rejects(
  client.completions.create({ model: 'gpt-4', prompt: 'a' }),
  (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
await assert.rejects(
  new OpenAI({ baseURL, apiKey: 'sk-wrong' }).models.list(),
  (error) => error instanceof OpenAI.AuthenticationError && error.code === 'invalid_api_key' && error.requestID.length > 0);

console.log('the openai client works');
