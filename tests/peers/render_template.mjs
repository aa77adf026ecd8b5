// Renders chat templates by @huggingface/jinja: lines of {"template", "variables"} in, lines of
// {"text"} or {"error"} out. The module's folder is the argument.
import {createInterface} from 'node:readline';
import {createRequire} from 'node:module';

const {Template} = createRequire(process.argv[2] + '/')('@huggingface/jinja');
for await (const line of createInterface({input: process.stdin})) {
  const {template, variables} = JSON.parse(line);
  let answer;
  try {
    answer = {text: new Template(template).render(variables)};
  } catch (error) {
    answer = {error: String(error.message ?? error)};
  }
  console.log(JSON.stringify(answer));
}
