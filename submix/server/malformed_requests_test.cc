// 10,000 requests from a generator, nearly all of them malformed: the server answers or hangs up,
// stays well, and releases nothing without a charge.
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace malformed_requests_test {

constexpr int kRequests = 10'000;
constexpr int kThreads = 8;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string Next() {
    switch (Below(6)) {
      case 0:
        return Bytes(Below(300));
      case 1:
        return Mutated(RequestText("POST", Path(), Body()));
      case 2: {
        const std::string text = RequestText("POST", Path(), Body());
        return text.substr(0, Below(text.size()));
      }
      case 3:
        return RequestText("POST", Path(), Value(0));
      case 4:
        return RequestText("POST", Path(), Mutated(Body()));
      default:
        return WrongFraming();
    }
  }

 private:
  std::size_t Below(std::size_t bound) { return random_() % bound; }
  template <std::size_t N>
  std::string Of(const char* const (&list)[N]) {
    return list[Below(N)];
  }

  std::string Bytes(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(Below(256));
    return bytes;
  }

  std::string Path() { return Of({"/v1/completions", "/v1/chat/completions"}); }

  std::string Mutated(std::string text) {
    for (std::size_t i = 1 + Below(8); i > 0; --i) {
      const std::size_t at = Below(text.size());
      switch (Below(4)) {
        case 0:
          text[at] = static_cast<char>(Below(256));
          break;
        case 1:
          text.erase(at, 1 + Below(5));
          break;
        case 2:
          text.insert(at, Bytes(1 + Below(5)));
          break;
        default:
          text.insert(at, text.substr(at, Below(20)));
      }
      if (text.empty()) return "x";
    }
    return text;
  }

  // Any JSON, with hostile numbers and strings.
  std::string Value(int depth) {
    switch (Below(depth > 6 ? 3 : 5)) {
      case 0:
        return Of({"0", "-1", "1e999", "-1e-999", "18446744073709551616", "0.5", "null", "true",
                   "NaN", "1e5", "00", "9223372036854775808", "-0"});
      case 1:
        return Of({"\"\"", "\"a\"", "\"\\u0000\"", "\"\\ud800\"", "\"\\", "\"\xff\"",
                   "\"\xc0\x80\"", "\"letters\"", "\"user\""});
      case 2:
        return Of({"[]", "{}", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]", "{\"a\":", "[,]", ""});
      case 3: {
        std::string list = "[";
        for (std::size_t i = Below(4); i > 0; --i) list += Value(depth + 1) + ",";
        return list + Value(depth + 1) + "]";
      }
      default: {
        std::string object = R"({"model":"letters")";
        for (std::size_t i = Below(6); i > 0; --i) {
          object += ",\"" + Field() + "\":" + Value(depth + 1);
        }
        return object + "}";
      }
    }
  }

  std::string Field() {
    return Of(
        {"prompt",         "messages",    "n",       "max_tokens", "stop",    "stream",
         "stream_options", "temperature", "top_p",   "top_k",      "best_of", "logprobs",
         "tools",          "role",        "content", "type",       "text",    "response_format",
         "seed",           "echo",        "x"});
  }

  std::string Body() {
    if (Below(2) == 0)
      return R"({"model":"letters","prompt":"abc",")" + Field() + "\":" + Value(3) + "}";
    return R"({"model":"letters","max_tokens":3,"messages":[{"role":"user","content":)" + Value(3) +
           "}]}";
  }

  std::string WrongFraming() {
    const std::string line =
        Of({"POST /v1/completions HTTP/1.1\r\n", "POST /v1/completions HTTP/9.9\r\n",
            "GET /v1/completions HTTP/1.0\r\n", "PUT /v1/models HTTP/1.1\r\n", "POST  HTTP/1.1\r\n",
            "\r\n\r\n", "GET /%00%ff%zz HTTP/1.1\r\n",
            "GET /v1/models/../../etc/passwd HTTP/1.1\r\n"});
    const std::string header =
        Of({"Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 5\r\nContent-Length: 6\r\n", "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip\r\n", "Content-Length: x\r\n", "Range: bytes=9-1,5-\r\n",
            "Expect: 100-continue\r\nContent-Length: 3\r\n", "No colon\r\n", ": \r\n",
            "Content-Type: multipart/form-data; boundary=\r\nContent-Length: 9\r\n"});
    const std::string body = Of({"zz\r\nabc", "ffffffffffffffff\r\nabc", "5\r\nabc\r\n0\r\n\r\n",
                                 "0\r\n\r\n", "-1\r\n", ""});
    const std::string many(Below(8) == 0 ? 9'000 : 3, 'h');
    return line + "Host: localhost\r\n" + header + many + ": y\r\n\r\n" + body;
  }

  std::mt19937 random_;
};

TEST(MalformedRequests, AreAnsweredOrDroppedAndReleaseNothingUnpaid) {
  ServedEngine served;
  std::atomic<int> answered{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Generator generator(t);
      const std::set<int> expected = {0,   200, 400, 404, 405, 408, 411, 413, 414,
                                      415, 417, 421, 429, 431, 501, 503, 505};
      for (int i = 0; i < kRequests / kThreads; ++i) {
        const std::string request = generator.Next();
        RawClient client(served.port());
        client.Send(request);
        client.CloseSendingHalf();
        const RawAnswer answer = ParseAnswer(client.ReadAll());
        if (answer.status != 0) ++answered;
        if (!expected.contains(answer.status)) {
          ++failures;
          ADD_FAILURE() << answer.status << " for " << testing::PrintToString(request);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(answered, kRequests / 4);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(served.watched.ledger.releases, served.scheduler->counters().tokens);
  EXPECT_EQ(Post(served.port(), "/v1/completions", R"({"model":"letters","prompt":"abc"})").status,
            200);
}

}  // namespace malformed_requests_test
}  // namespace submix::server
