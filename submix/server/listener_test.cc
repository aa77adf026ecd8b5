// The listener with a handler of its own, without engine: connections, times, memory, threads. Also
// run under the thread sanitizer.
#include "submix/server/listener.h"

#include <atomic>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "submix/base/testing/temporary_directory.h"
#include "submix/server/testing/raw_client.h"

namespace submix::server {
namespace listener_test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Polls until `done` or ten seconds have passed.
template <typename Condition>
bool Eventually(const Condition& done) {
  const auto deadline = steady_clock::now() + std::chrono::seconds(10);
  while (!done() && steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(5));
  return done();
}

// What a test lets come of an answer, from its own thread.
struct Source {
  void Add(const std::string& bytes, bool ends = false) {
    const std::lock_guard lock(mutex);
    come += bytes;
    has_ended = ends;
    if (wake) wake();
  }
  bool is_asked() {
    const std::lock_guard lock(mutex);
    return wake != nullptr;
  }

  std::mutex mutex;
  std::function<void()> wake;  // guarded by mutex, as the rest
  std::string come;
  bool has_ended = false;
  std::atomic<int> dropped{0};
};

class SourcedAnswer final : public UnfinishedAnswer {
 public:
  explicit SourcedAnswer(Source& source) : source_(source) {}
  ~SourcedAnswer() override {
    const std::lock_guard lock(source_.mutex);
    source_.wake = nullptr;
    ++source_.dropped;
  }
  void SetWaker(std::function<void()> wake) override {
    const std::lock_guard lock(source_.mutex);
    source_.wake = std::move(wake);
  }
  bool Proceed(HttpResponse& response) override {
    const std::lock_guard lock(source_.mutex);
    response.body += std::exchange(source_.come, "");
    return source_.has_ended;
  }

 private:
  Source& source_;
};

class Handler final : public HttpHandler {
 public:
  bool TakesBody(const HttpRequest& head) const override {
    return head.method == "POST" && head.path == "/echo";
  }
  std::optional<HttpResponse> Refuse(HttpRequest& head) override {
    head.key = head.header("x-key");
    if (!head.key.empty()) head.standing = Standing::kKeyHolder;
    if (head.path == "/probe") head.standing = Standing::kProbe;
    if (head.has_header("x-refused")) return Error(401, head);
    return std::nullopt;
  }
  bool TakesLong(const HttpRequest& request) const override {
    return request.path != "/probe" && request.path != "/hold";
  }
  HttpResponse Handle(const HttpRequest& request) override {
    ++handled;
    if (request.path == "/slow" || request.path == "/hold") {
      while (is_held) std::this_thread::sleep_for(milliseconds(1));
    }
    if (request.path == "/throw") throw std::bad_alloc();
    HttpResponse response{.content_type = "text/plain"};
    if (request.path == "/large") response.body.assign(32 << 20, 'x');
    if (request.path == "/echo") response.body = request.body;
    response.is_stream = request.path == "/stream";
    if (response.is_stream || request.path == "/later") {
      response.unfinished = std::make_unique<SourcedAnswer>(source);
    }
    return response;
  }
  HttpResponse Error(int status, const HttpRequest& /*head*/) override {
    return {.status = status, .body = "refused"};
  }

  Source source;
  std::atomic<int> handled{0};
  std::atomic<bool> is_held{false};
};

class ListenerTest : public testing::Test {
 protected:
  void Listen(const ListenerOptions& options = {}) {
    listener = Listener::Start(options, handler).value();
  }
  std::string Exchange(const std::string& bytes) {
    RawClient client(listener->port());
    client.Send(bytes);
    return client.ReadAll();
  }
  static std::string GetText(const std::string& path, const std::string& more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
  }
  static int Count(std::string_view text, std::string_view part) {
    int count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++count;
    return count;
  }

  Handler handler;
  std::unique_ptr<Listener> listener;
};

constexpr const char* kClose = "Connection: close\r\n";

TEST_F(ListenerTest, RequestsOfAConnectionAreAnsweredInOrder) {
  Listen();
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n" +
                std::to_string(10 + i) + GetText("/probe");
  }
  const std::string answers = Exchange(requests + GetText("/probe", kClose));
  EXPECT_EQ(Count(answers, "HTTP/1.1 200 OK\r\n"), 41);
  std::size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = answers.find("\r\n\r\n" + std::to_string(10 + i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_EQ(Count(answers, "Connection: close"), 1);
}

// What follows a malformed head might be meant as its body.
TEST_F(ListenerTest, WhatIsMalformedIsAnsweredOnceAndNothingBehindItIsRead) {
  Listen();
  const std::string hidden = GetText("/probe");
  for (const std::string& head :
       {"FOO / HTTP/1.1\r\nContent-Length: " + std::to_string(hidden.size()) + "\r\n\r\n",
        std::string("GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
        std::string("GET / HTTP/1.1\nHost: x\n\n"),
        "GET /" + std::string(9'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n",
        GetText("/probe", "A: " + std::string(70'000, 'a') + "\r\n"),
        std::string(
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"),
        std::string("\r\n\r\n\r\n")}) {
    const std::string answers = Exchange(head + hidden + hidden);
    EXPECT_EQ(Count(answers, "HTTP/1.1 "), 1) << head.substr(0, 60) << answers;
    EXPECT_THAT(answers, HasSubstr("Connection: close"));
  }
  EXPECT_EQ(handler.handled, 0);
}

TEST_F(ListenerTest, UnreadBodiesEndTheConnection) {
  Listen();
  const std::string body = GetText("/probe");
  const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
  for (const std::string& head :
       {GetText("/probe", length), GetText("/probe", "Transfer-Encoding: chunked\r\n"),
        "POST /probe HTTP/1.1\r\nHost: x\r\n" + length + "\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nX-Refused: 1\r\n" + length + "\r\n"}) {
    EXPECT_EQ(Count(Exchange(head + body), "HTTP/1.1 "), 1) << head;
  }
}

TEST_F(ListenerTest, BodiesHaveALimitAndAnEnd) {
  ListenerOptions options;
  options.body_bytes = 10;
  Listen(options);
  const auto post = [&](const std::string& framing, const std::string& body) {
    return ParseAnswer(Exchange("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
                                framing + "\r\n\r\n" + body));
  };
  EXPECT_EQ(post("Content-Length: 10", "0123456789").body, "0123456789");
  EXPECT_EQ(post("Content-Length: 0", "").status, 200);
  EXPECT_EQ(post("Content-Length: 11", "").status, 413);
  EXPECT_EQ(post("Content-Length: 99999999999999999999", "").status, 413);
  EXPECT_EQ(post("A: b", "").status, 411);
  EXPECT_EQ(post("Transfer-Encoding: chunked", "a\r\n0123456789\r\n0\r\nA: b\r\n\r\n").body,
            "0123456789");
  EXPECT_EQ(post("Transfer-Encoding: chunked", "b\r\n").status, 413);
  EXPECT_EQ(post("Transfer-Encoding: chunked", "5\r\nhello!").status, 400);
}

TEST_F(ListenerTest, TheBodyIsAskedForWhereTheClientWaits) {
  Listen();
  RawClient client(listener->port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.Read(std::chrono::seconds(10)), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("hi");
  EXPECT_THAT(client.Read(std::chrono::seconds(10)), testing::EndsWith("\r\n\r\nhi"));
  const std::string refused = Exchange(
      "POST /echo HTTP/1.1\r\nHost: x\r\nX-Refused: 1\r\nExpect: 100-continue\r\n"
      "Content-Length: 2\r\n\r\n");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
}

TEST_F(ListenerTest, StreamsArriveAsTheyCome) {
  Listen();
  RawClient client(listener->port());
  client.Send(GetText("/stream", kClose));
  EXPECT_THAT(client.Read(std::chrono::seconds(10)), HasSubstr("Transfer-Encoding: chunked"));
  for (const char* piece : {"one", "three"}) {
    handler.source.Add(piece);
    EXPECT_THAT(client.Read(std::chrono::seconds(10)), HasSubstr(piece));
  }
  handler.source.Add("", /*ends=*/true);
  EXPECT_EQ(client.ReadAll(), "0\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return handler.source.dropped == 1; }));
}

TEST_F(ListenerTest, Http10HasNoChunks) {
  Listen();
  handler.source.Add("all of it", /*ends=*/true);
  const std::string answer = Exchange("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nall of it"));
}

TEST_F(ListenerTest, HeadHasNoBody) {
  Listen();
  const std::string answer = Exchange(
      "HEAD /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
      "X-Refused: 1\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST_F(ListenerTest, RangesAreIgnored) {
  Listen();
  handler.source.Add("0123456789", /*ends=*/true);
  const RawAnswer answer =
      ParseAnswer(Exchange(GetText("/later", "Range: bytes=0-,0-,0-\r\nConnection: close\r\n")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "0123456789");
}

TEST_F(ListenerTest, AHandlerThatThrowsIsAnError) {
  Listen();
  EXPECT_THAT(Exchange(GetText("/throw", kClose)), StartsWith("HTTP/1.1 500 "));
}

TEST_F(ListenerTest, WhoHangsUpIsNoticedWhileNothingComes) {
  Listen();
  int dropped = 0;
  for (const char* path : {"/stream", "/later"}) {
    for (const bool half : {false, true}) {
      RawClient client(listener->port());
      client.Send(GetText(path));
      ASSERT_TRUE(Eventually([&] { return handler.source.is_asked(); }));
      half ? client.CloseSendingHalf() : client.HangUp();
      EXPECT_TRUE(Eventually([&] { return handler.source.dropped == dropped + 1; })) << path;
      ++dropped;
      EXPECT_THAT(half ? client.ReadAll() : "", Not(HasSubstr("499")));
    }
  }
}

TEST_F(ListenerTest, WhoHalfClosesGetsWhatIsThere) {
  Listen();
  RawClient client(listener->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
  client.CloseSendingHalf();
  EXPECT_EQ(ParseAnswer(client.ReadAll()).body, "hi");
}

TEST_F(ListenerTest, SlowOnesHaveTheirTime) {
  ListenerOptions options;
  options.header_timeout = options.body_timeout = milliseconds(300);
  options.idle_timeout = milliseconds(300);
  Listen(options);
  const auto start = steady_clock::now();
  EXPECT_EQ(Exchange(""), "");
  EXPECT_THAT(Exchange("GET / HTTP/1.1\r\nHo"), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nh"),
              StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(Count(Exchange(GetText("/probe")), "HTTP/1.1 "), 1);
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(ListenerTest, WhoDoesNotReadIsCutOff) {
  ListenerOptions options;
  options.write_timeout = milliseconds(300);
  Listen(options);
  RawClient stream(listener->port());
  stream.Send(GetText("/stream"));
  ASSERT_TRUE(Eventually([&] { return handler.source.is_asked(); }));
  handler.source.Add(std::string(64 << 20, 'x'));
  EXPECT_TRUE(Eventually([&] { return handler.source.dropped == 1; }));
  RawClient whole(listener->port());
  whole.Send(GetText("/large"));
  std::this_thread::sleep_for(milliseconds(800));
  EXPECT_LT(whole.ReadAll().size(), 32u << 20);
}

TEST_F(ListenerTest, WhoDoesNotReadMakesRoom) {
  ListenerOptions options;
  options.connections = 2;
  Listen(options);
  RawClient first(listener->port());
  RawClient second(listener->port());
  for (RawClient* client : {&first, &second}) {
    client->Send(GetText("/large", "X-Key: one\r\n"));
    EXPECT_THAT(client->Read(std::chrono::seconds(10)), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_THAT(Exchange(GetText("/", std::string("X-Key: other\r\n") + kClose)),
              StartsWith("HTTP/1.1 200 "));
}

// Of those that a thread of connections finds all at once, too.
TEST_F(ListenerTest, WhereSeatsAreFewNobodyIsSentAwayUnread) {
  constexpr int kRounds = 20;
  constexpr int kClients = 6;  // a round, more than seats
  ListenerOptions options;
  options.connections = 8;
  options.kept_for_keys = 4;
  Listen(options);
  int answered = 0;
  for (int round = 0; round < kRounds; ++round) {
    handler.handled = 0;
    handler.is_held = true;
    RawClient holding(listener->port());
    holding.Send(GetText("/hold", std::string("X-Key: one\r\n") + kClose));
    ASSERT_TRUE(Eventually([&] { return handler.handled == 1; }));
    std::deque<RawClient> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back(listener->port()).Send(GetText("/probe", kClose));
    }
    handler.is_held = false;
    EXPECT_THAT(holding.ReadAll(), StartsWith("HTTP/1.1 200 "));
    for (RawClient& client : clients) answered += client.ReadAll().starts_with("HTTP/1.1 200 ");
  }
  // Where several threads have the connections, one may be late; not in every round.
  EXPECT_GT(answered, kRounds * kClients * 9 / 10);
}

TEST_F(ListenerTest, APermissionThatNobodyReadsIsNotWrittenOver) {
  const base::TemporaryDirectory directory;
  const auto answers_to = [&](int probes, const std::string& last, const ListenerOptions& options) {
    Listen(options);
    RawClient client(options.unix_socket);
    std::string requests;
    for (int i = 0; i < probes; ++i) requests += GetText("/probe");
    client.Send(requests + last);
    EXPECT_TRUE(client.HasServerEnded());
    return client.ReadAll();
  };
  const int held = Count(
      answers_to(900, "",
                 {.unix_socket = directory.File("first"), .write_timeout = milliseconds(300)}),
      "HTTP/1.1 200 OK\r\n");
  ASSERT_LT(held, 900) << "as many answers as the socket holds";
  const std::string answers = answers_to(
      held, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
      {.unix_socket = directory.File("second"), .body_timeout = milliseconds(300)});
  EXPECT_EQ(Count(answers, "HTTP/1.1 200 OK\r\n"), held);
  EXPECT_EQ(Count(answers, "\r\n\r\n"), held);
  EXPECT_THAT(answers, testing::EndsWith("\r\n\r\n")) << "nothing comes behind the last of them";
}

TEST_F(ListenerTest, ProbesDoNotWaitForWorkers) {
  Listen();
  handler.is_held = true;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<RawClient>(listener->port()));
    clients.back()->Send(GetText("/slow", kClose));
  }
  ASSERT_TRUE(Eventually([&] { return handler.handled >= 2; }));
  EXPECT_THAT(Exchange(GetText("/probe", kClose)), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Exchange(GetText("/slow", "X-Refused: 1\r\nConnection: close\r\n")),
              StartsWith("HTTP/1.1 401 "));
  handler.is_held = false;
  for (const auto& client : clients) EXPECT_THAT(client->ReadAll(), StartsWith("HTTP/1.1 200 "));
}

// Clients that send many requests and read no answer, all of whom the threads of connections find
// at once.
class PipelinesTest : public ListenerTest {
 protected:
  static constexpr int kClients = 500;
  static constexpr int kPipelined = 60;

  void SetUp() override {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < 2 * kClients + 100) GTEST_SKIP() << "too few files may be open";
    Listen();
    handler.is_held = true;
    for (int i = 0; i < 4; ++i) Connect(GetText("/hold"));
    ASSERT_TRUE(Eventually([&] { return handler.handled >= 1; }));
    for (int i = 0; i < kClients; ++i) Connect(Requests(GetText("/probe")));
  }
  static std::string Requests(const std::string& request) {
    std::string requests;
    for (int i = 0; i < kPipelined; ++i) requests += request;
    return requests;
  }
  RawClient& Connect(const std::string& bytes) {
    clients_.push_back(std::make_unique<RawClient>(listener->port()));
    clients_.back()->Send(bytes);
    return *clients_.back();
  }
  RawClient& pipelining(int number) { return *clients_[static_cast<std::size_t>(4 + number)]; }
  static void ExpectAnswers(RawClient& client) {
    std::string answers;
    for (bool more = true; more && Count(answers, "HTTP/1.1 200 ") < kPipelined;) {
      const std::string bytes = client.Read(std::chrono::seconds(20));
      more = !bytes.empty();
      answers += bytes;
    }
    EXPECT_EQ(Count(answers, "HTTP/1.1 200 "), kPipelined);
  }

 private:
  std::vector<std::unique_ptr<RawClient>> clients_;
};

TEST_F(PipelinesTest, DoNotHoldUpWhoComesBehindThem) {
  RawClient& last = Connect(GetText("/probe", kClose));
  handler.is_held = false;
  EXPECT_THAT(last.ReadAll(), StartsWith("HTTP/1.1 200 "));
  // The first request of each, and few of the others: whoever comes is not accepted one by one.
  EXPECT_LT(handler.handled, 4 * kClients);
  for (int i = 0; i < 10; ++i) ExpectAnswers(pipelining(i));
}

TEST_F(PipelinesTest, OfClientsWithAKeyGoAheadOfTheOthers) {
  RawClient& with_key = Connect(Requests(GetText("/hold", "X-Key: one\r\n")));
  handler.is_held = false;
  ExpectAnswers(with_key);
  EXPECT_LT(handler.handled, kClients * kPipelined / 4);
  ExpectAnswers(pipelining(0));
}

std::size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * 4'096;
}

TEST_F(ListenerTest, ThousandsMayWaitAndAStopDoesNotWaitForThem) {
  constexpr std::size_t kClients = 2'000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2 * kClients + 100) GTEST_SKIP() << "too few files may be open";
  Listen();
  const std::size_t before = ResidentBytes();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawClient>(listener->port()));
    clients.back()->Send(i % 2 == 0 ? "" : "GET /probe HTTP/1.1\r\nHost: ");
  }
  EXPECT_THAT(Exchange(GetText("/probe", kClose)), StartsWith("HTTP/1.1 200 "));
  // 8 KB each; the sanitizers keep more.
  EXPECT_LT(ResidentBytes() - before, kClients * (64 << 10));
  const auto start = steady_clock::now();
  listener->Stop();
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(clients.front()->ReadAll(), "");
}

TEST_F(ListenerTest, AStopCutsStreamsAndEndsWhatIsUnfinished) {
  Listen();
  RawClient client(listener->port());
  client.Send(GetText("/stream"));
  ASSERT_TRUE(Eventually([&] { return handler.source.is_asked(); }));
  listener->Stop();
  EXPECT_EQ(handler.source.dropped, 1);
  EXPECT_FALSE(RawClient(listener->port()).connected());
}

// Wakes, hang-ups and a stop at the same time.
TEST_F(ListenerTest, ManyThreadsAtOnce) {
  Listen();
  std::atomic<bool> is_over{false};
  std::thread waker([&] {
    while (!is_over) {
      handler.source.Add("x");
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        RawClient client(listener->port());
        client.Send(i == 0 ? GetText("/stream") : GetText("/probe"));
        client.Read(milliseconds(200));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  listener->Stop();
  is_over = true;
  waker.join();
  EXPECT_TRUE(Eventually([&] { return !handler.source.is_asked(); }));
}

}  // namespace listener_test
}  // namespace submix::server
