// Server-sent events, as far as OpenAI's streams use them: the data of each event, in order.
// EventSource cannot POST.
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let lines: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const complete = rest.split(/\r?\n/);
      rest = complete.pop() ?? "";
      for (const line of complete) {
        if (line.startsWith("data:")) lines.push(line.slice(5).replace(/^ /, ""));
        if (line !== "" || lines.length === 0) continue;
        yield lines.join("\n");
        lines = [];
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
