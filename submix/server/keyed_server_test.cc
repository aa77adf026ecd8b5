#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/inotify.h>
#include <unistd.h>

#include "submix/base/testing/temporary_directory.h"
#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace keyed_server_test {

using nlohmann::json;
using testing::HasSubstr;

class KeyedServer : public testing::Test {
 protected:
  std::string MakeKey(const engine::KeyQuotas& quotas = {}) {
    return keys_.Create("test " + std::to_string(++made_), quotas).value().secret;
  }
  void Serve(ServedEngineOptions options = {}) {
    options.keys = &keys_;
    options.usage = usage_.get();
    served_.emplace(options);
  }

  base::TemporaryDirectory directory_;
  engine::ApiKeys keys_{directory_.path()};
  int made_ = 0;
  std::unique_ptr<engine::KeyUsage> usage_ = engine::KeyUsage::Open(directory_.path()).value();
  std::optional<ServedEngine> served_;
};

TEST_F(KeyedServer, WithoutAValidKeyThereIsNoAnswer) {
  Serve();
  const std::string key = MakeKey();
  for (const std::string& wrong : {std::string(), std::string("sk-submix-0"), key + "0"}) {
    const RawAnswer answer = Post(served_->port(), kCompletions, CompletionBody(), wrong);
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(json::parse(answer.body)["error"]["code"], "invalid_api_key");
    EXPECT_EQ(Get(served_->port(), "/v1/models", wrong).status, 401);
  }
  EXPECT_EQ(Post(served_->port(), kCompletions, CompletionBody(), key).status, 200);
  EXPECT_EQ(Get(served_->port(), "/v1/models", key).status, 200);
  EXPECT_EQ(Get(served_->port(), "/healthz").status, 200);
}

// The body of somebody without a key is not even read.
TEST_F(KeyedServer, AWrongKeyIsRefusedBeforeTheBody) {
  Serve();
  RawClient client(served_->port());
  client.Send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_EQ(ParseAnswer(client.ReadAll()).status, 401);
}

// Whoever has no key may fill what is for those without, and keeps out nobody who has one.
TEST_F(KeyedServer, ConnectionsWithoutAKeyDoNotShutOutKeysAndProbes) {
  ServedEngineOptions options;
  options.http.listener.connections = 8;
  Serve(options);
  const std::string key = MakeKey();
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.push_back(std::make_unique<RawClient>(served_->port()));
    crowd.back()->Send("GET /healthz HTTP/1.1\r\nHost: x\r\n");
    if (i % 20 != 0) continue;
    const RawAnswer answer = Post(served_->port(), kCompletions, CompletionBody(), key);
    EXPECT_EQ(answer.status, 200) << i << answer.body;
    EXPECT_EQ(Get(served_->port(), "/readyz").status, 200) << i;
  }
}

// Whether it waits with its next request or with the rest of one.
TEST_F(KeyedServer, OneKeyDoesNotShutOutOthers) {
  ServedEngineOptions options;
  options.http.listener.connections = 8;
  options.http.listener.idle_timeout = std::chrono::minutes(10);
  Serve(options);
  const std::string bearer = "Host: x\r\nAuthorization: Bearer " + MakeKey() + "\r\n";
  const std::string models = "GET /v1/models HTTP/1.1\r\n" + bearer + "\r\n";
  const std::string begun = "POST /v1/completions HTTP/1.1\r\n" + bearer +
                            "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  const std::string key = MakeKey();
  for (const std::string& request : {models, begun}) {
    std::vector<std::unique_ptr<RawClient>> crowd;
    for (int i = 0; i < 8; ++i) {
      crowd.push_back(std::make_unique<RawClient>(served_->port()));
      crowd.back()->Send(request);
      EXPECT_NE(crowd.back()->Read(std::chrono::seconds(10)), "");
    }
    EXPECT_EQ(Post(served_->port(), kCompletions, CompletionBody(), key).status, 200);
    EXPECT_TRUE(crowd.front()->HasServerEnded());
  }
}

TEST_F(KeyedServer, KeysAreReadAsTheyWereSent) {
  Serve();
  const std::string key = MakeKey();
  std::string encoded = key;
  encoded.replace(encoded.find('-'), 1, "%2d");
  EXPECT_EQ(Post(served_->port(), kCompletions, CompletionBody(), encoded).status, 401);
  const std::string two = "Authorization: Bearer " + key + "\r\n";
  EXPECT_EQ(Post(served_->port(), kCompletions, CompletionBody(), key, two).status, 401);
}

// curl's -d says that it sends a form.
TEST_F(KeyedServer, BodiesAreJsonOrSayNothing) {
  Serve();
  const std::string key = MakeKey();
  const auto status = [&](const std::string& type) {
    return Ask(served_->port(),
               "POST /v1/completions HTTP/1.1\r\nHost: any.example\r\n" + type +
                   "Connection: close\r\nAuthorization: Bearer " + key + "\r\nContent-Length: " +
                   std::to_string(CompletionBody().size()) + "\r\n\r\n" + CompletionBody())
        .status;
  };
  EXPECT_EQ(status(""), 200);
  EXPECT_EQ(status("Content-Type: application/json\r\n"), 200);
  EXPECT_EQ(status("Content-Type: application/x-www-form-urlencoded\r\n"), 415);
  EXPECT_EQ(status("Content-Type: Multipart/form-data; boundary=x\r\n"), 415);
}

// How often a file is opened.
class OpenCounter {
 public:
  explicit OpenCounter(const std::string& path) : events_(::inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(::inotify_add_watch(events_, path.c_str(), IN_OPEN), 0);
  }
  ~OpenCounter() { ::close(events_); }
  OpenCounter(const OpenCounter&) = delete;
  OpenCounter& operator=(const OpenCounter&) = delete;

  // Since the last call. The kernel may put equal events that nobody has read into one.
  int Count() {
    int count = 0;
    alignas(inotify_event) char bytes[4096];
    for (ssize_t size = 0; (size = ::read(events_, bytes, sizeof bytes)) > 0;) {
      for (ssize_t at = 0; at < size; ++count) {
        at += static_cast<ssize_t>(sizeof(inotify_event) +
                                   reinterpret_cast<const inotify_event*>(bytes + at)->len);
      }
    }
    return count;
  }

 private:
  const int events_;
};

TEST_F(KeyedServer, TheKeyIsLookedUpOnceARequest) {
  Serve();
  const std::string key = MakeKey();
  RawClient client(served_->port());
  OpenCounter opened(directory_.File("keys.json"));
  // The first look is over once the server waits for the body.
  const std::string whole = RequestText("POST", kCompletions, CompletionBody(), key);
  const std::size_t head = whole.size() - CompletionBody().size();
  client.Send(whole.substr(0, head));
  int looks = 0;
  EXPECT_TRUE(Eventually([&] { return (looks += opened.Count()) == 1; }));
  client.Send(whole.substr(head));
  EXPECT_EQ(ParseAnswer(client.ReadAll()).status, 200);
  EXPECT_EQ(opened.Count(), 0);
}

TEST_F(KeyedServer, QuotasAreCountedAndRefusedForGood) {
  Serve();
  engine::KeyQuotas quotas;
  quotas.tokens = 10;
  const std::string key = MakeKey(quotas);
  EXPECT_EQ(
      Post(served_->port(), kCompletions, CompletionBody(R"("n":2,"max_tokens":3)"), key).status,
      200);
  const RawAnswer over =
      Post(served_->port(), kCompletions, CompletionBody(R"("max_tokens":5)"), key);
  EXPECT_EQ(over.status, 429);
  EXPECT_EQ(json::parse(over.body)["error"]["type"], "insufficient_quota");
  EXPECT_THAT(over.head, HasSubstr("x-should-retry: false"));
  EXPECT_EQ(Post(served_->port(), kCompletions, CompletionBody(R"("max_tokens":4)"), key).status,
            200);
  EXPECT_EQ(
      Post(served_->port(), kCompletions, CompletionBody(R"("max_tokens":4)"), MakeKey()).status,
      200);
  EXPECT_EQ(served_->records().front().key, keys_.List().value().front().id);
}

TEST_F(KeyedServer, ChoicesOfARefusedCallUseAndCostNothing) {
  Serve();
  engine::KeyQuotas quotas;
  quotas.tokens = 1000;
  quotas.requests = 30;
  const std::string key = MakeKey(quotas);
  for (int call = 0; call < 6; ++call) {
    const RawAnswer refused =
        Post(served_->port(), kCompletions, CompletionBody(R"("n":21,"max_tokens":50)"), key);
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(json::parse(refused.body)["error"]["code"], "insufficient_quota");
  }
  EXPECT_EQ(served_->watched.ledger.releases, 0);
  EXPECT_EQ(
      Post(served_->port(), kCompletions, CompletionBody(R"("n":20,"max_tokens":50)"), key).status,
      200);
  EXPECT_EQ(served_->watched.ledger.releases, 1000);
}

}  // namespace keyed_server_test
}  // namespace submix::server
