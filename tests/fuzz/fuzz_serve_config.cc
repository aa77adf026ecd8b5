#include "submix/apps/serving/serve_config.h"
#include "submix/base/check.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {

void FuzzServeConfig(std::string_view input) {
  static const FuzzedDirectory directory;
  const auto config = apps::LoadServeConfig(directory.Put("serve.toml", input));
  if (!config.ok()) return;
  const server::ListenerOptions& listener = config->http.listener;
  SUBMIX_CHECK(listener.port >= 0 && listener.port <= 65'535, "a port is a port");
  SUBMIX_CHECK(listener.connections >= 1 && listener.body_bytes >= 1'024, "limits are in range");
  for (const auto time : {listener.header_timeout, listener.body_timeout, listener.write_timeout,
                          listener.idle_timeout}) {
    SUBMIX_CHECK(time.count() >= 100, "no time is shorter than a tenth of a second");
  }
  (void)apps::CheckServeConfig(*config);
  SUBMIX_CHECK(config->scheduler.max_live >= 1, "somebody is served");
}

}  // namespace submix::fuzz
