// A server over an engine of letters, for tests.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "submix/base/testing/temporary_directory.h"
#include "submix/chat/chat_format.h"
#include "submix/engine/answer_cache.h"
#include "submix/engine/scheduler.h"
#include "submix/engine/testing/watched_engine.h"
#include "submix/server/http_server.h"

namespace submix::server {

struct ServedEngineOptions {
  engine::WatchedEngineOptions engine;
  engine::SchedulerOptions scheduler;
  HttpServerOptions http;
  engine::ApiKeys* keys = nullptr;
  engine::KeyUsage* usage = nullptr;
  engine::AnswerCache* cache = nullptr;
};

class ServedEngine {
 public:
  explicit ServedEngine(ServedEngineOptions options = {}) : watched(options.engine) {
    options.http.model = "letters";
    options.http.on_request = [this](const RequestRecord& record) {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
    };
    scheduler = engine::Scheduler::Start(watched.MakeCore(), options.scheduler, options.usage,
                                         options.cache)
                    .value();
    if (options.http.chat_format == nullptr) {
      options.http.chat_format =
          chat::ChatFormat::Load(no_model_.path(), "plain", scheduler->tokenizer()).value();
    }
    http = HttpServer::Start(options.http, *scheduler, options.keys).value();
  }
  ~ServedEngine() {
    watched.ledger.gate.Open();
    http->Stop(std::chrono::steady_clock::now());
  }

  int port() const { return http->port(); }
  std::vector<RequestRecord> records() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }

  engine::WatchedEngine watched;
  std::unique_ptr<engine::Scheduler> scheduler;

 private:
  const base::TemporaryDirectory no_model_;  // has no template of chats
  mutable std::mutex mutex_;
  std::vector<RequestRecord> records_;  // guarded by mutex_

 public:
  std::unique_ptr<HttpServer> http;  // last: its threads use what is above
};

// What a ServedEngine is asked.
inline constexpr const char* kCompletions = "/v1/completions";

inline std::string CompletionBody(const std::string& fields = "") {
  return R"({"model":"letters","prompt":"abc")" + (fields.empty() ? "" : "," + fields) + "}";
}

// The objects of a stream that ended well.
inline std::vector<nlohmann::json> Events(const std::string& body) {
  std::vector<nlohmann::json> events;
  EXPECT_TRUE(body.ends_with("data: [DONE]\n\n")) << body;
  for (std::size_t at = 0; (at = body.find("data: {", at)) != std::string::npos; ++at) {
    events.push_back(nlohmann::json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6)));
  }
  return events;
}

// Polls until `done` or ten seconds have passed.
template <typename Condition>
bool Eventually(const Condition& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return done();
}

}  // namespace submix::server
