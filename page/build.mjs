// Builds the two pages into built/ (or the folder given): file names without hashes, everything
// relative, nothing inlined, so that it works under a strict Content-Security-Policy.
import { fileURLToPath } from "node:url";
import { join, resolve } from "node:path";
import { build } from "vite";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "built"));

for (const page of ["playground", "operator"]) {
  await build({
    configFile: false,
    root: join(here, page),
    base: "./",
    logLevel: "warn",
    build: {
      outDir: join(out, page),
      emptyOutDir: true,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: false,
      rollupOptions: {
        output: {
          entryFileNames: `${page}.js`,
          chunkFileNames: "[name].js",
          assetFileNames: (asset) =>
            asset.names[0]?.endsWith(".css") ? `${page}.css` : "[name][extname]",
        },
      },
    },
  });
}
