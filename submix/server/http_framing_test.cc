#include "submix/server/http_framing.h"

#include <tuple>

#include <gmock/gmock.h>

namespace submix::server {
namespace http_framing_test {

using testing::ElementsAre;
using testing::Pair;

// What becomes of a head, as the connection reads it: 200, or the status of the refusal; 0: more
// must come.
int StatusOf(std::string_view bytes) {
  HeadScanner scanner;
  const auto found = scanner.Scan(bytes);
  if (const auto* refusal = std::get_if<HeadRefusal>(&found)) return *refusal;
  const auto* size = std::get_if<std::size_t>(&found);
  if (size == nullptr) return 0;
  const auto read = ReadHead(bytes.substr(0, *size));
  const auto* refusal = std::get_if<HeadRefusal>(&read);
  return refusal == nullptr ? 200 : *refusal;
}

std::string WithLine(std::string_view line) {
  return "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(line) + "\r\n\r\n";
}
std::string WithRequestLine(std::string_view line) {
  return std::string(line) + "\r\nHost: x\r\n\r\n";
}

TEST(HttpFraming, RequestLines) {
  const std::pair<std::string, int> cases[] = {
      {"GET / HTTP/1.1", 200},
      {"GET / HTTP/1.0", 200},
      {"M-SEARCH! /a HTTP/1.1", 200},
      {"get / HTTP/1.1", 200},
      {"GET /a/b?c=d/e?f&g=%41 HTTP/1.1", 200},
      {"GET /%41~a-b_c.d!$&'()*+,;=:@ HTTP/1.1", 200},
      {"GET http://x/a HTTP/1.1", 200},
      {"GET HTTP://X HTTP/1.1", 200},
      {"GET http://y/a HTTP/1.1", 400},
      {"GET http:///a HTTP/1.1", 400},
      {"GET http://u@x/a HTTP/1.1", 400},
      {"OPTIONS * HTTP/1.1", 200},
      {"GET * HTTP/1.1", 400},
      {"CONNECT x:443 HTTP/1.1", 400},
      {"CONNECT /a HTTP/1.1", 400},
      {"CONNECT http://x/a HTTP/1.1", 400},
      {"GET a HTTP/1.1", 400},
      {"GET  / HTTP/1.1", 400},
      {"GET /  HTTP/1.1", 400},
      {" GET / HTTP/1.1", 400},
      {"GET / HTTP/1.1 ", 400},
      {"GET\t/ HTTP/1.1", 400},
      {"GET /a b HTTP/1.1", 400},
      {"GET /", 400},
      {"GET", 400},
      {"G(T / HTTP/1.1", 400},
      {"GET /% HTTP/1.1", 400},
      {"GET /%4 HTTP/1.1", 400},
      {"GET /%zz HTTP/1.1", 400},
      {"GET /%00 HTTP/1.1", 400},
      {"GET /%0a HTTP/1.1", 400},
      {"GET /?%zz HTTP/1.1", 400},
      {"GET /a#b HTTP/1.1", 400},
      {"GET /\xc3\xa4 HTTP/1.1", 400},
      {"GET /\\ HTTP/1.1", 400},
      {"GET / http/1.1", 400},
      {"GET / HTTP/1", 400},
      {"GET / HTTP/11.1", 400},
      {"GET / HTTP/1.1x", 400},
      {"GET / FTP/1.1", 400},
      {"GET / HTTP/1.2", 505},
      {"GET / HTTP/2.0", 505},
      {"GET / HTTP/0.9", 505},
      {"PRI * HTTP/2.0", 505},
      {"GET /" + std::string(8'000, 'a') + " HTTP/1.1", 200},
      {"GET /" + std::string(9'000, 'a') + " HTTP/1.1", 414},
  };
  for (const auto& [line, status] : cases) {
    EXPECT_EQ(StatusOf(WithRequestLine(line)), status) << line.substr(0, 60);
  }
}

TEST(HttpFraming, FieldLines) {
  const std::pair<std::string, int> cases[] = {
      {"A: b", 200},
      {"A:b", 200},
      {"A:", 200},
      {"A: \t b \t", 200},
      {"A: \xc3\xa4 ~ \"", 200},
      {"A!#$%&'*+-.^_`|~9: b", 200},
      {"A : b", 400},
      {"A\t: b", 400},
      {" A: b", 400},
      {"A: b\r\n c", 400},
      {"A: b\r\n\tc", 400},
      {": b", 400},
      {"A", 400},
      {"A b: c", 400},
      {"A(: b", 400},
      {"\xc3\xa4: b", 400},
      {std::string("A: b\0c", 6), 400},
      {"A: b\x01", 400},
      {"A: b\x7f", 400},
      {"A: b\rc", 400},
      {"A: b\nC: d", 400},
      {"Host: x", 400},
      {"A: " + std::string(60'000, 'b'), 200},
      {"A: " + std::string(70'000, 'b'), 431},
  };
  for (const auto& [line, status] : cases) {
    EXPECT_EQ(StatusOf(WithLine(line)), status) << line.substr(0, 60);
  }
}

TEST(HttpFraming, Lengths) {
  const std::pair<const char*, int> cases[] = {
      {"Content-Length: 5", 200},
      {"CONTENT-LENGTH:5 ", 200},
      {"Content-Length: 005", 200},
      {"Content-Length: 99999999999999999999", 200},
      {"Content-Length: 5\r\nContent-Length: 6", 400},
      {"Content-Length: 5\r\nContent-Length: 5", 400},
      {"Content-Length: 5, 5", 400},
      {"Content-Length: 5abc", 400},
      {"Content-Length: +5", 400},
      {"Content-Length: -5", 400},
      {"Content-Length: 5e1", 400},
      {"Content-Length: 0x5", 400},
      {"Content-Length: 5.0", 400},
      {"Content-Length: 5 5", 400},
      {"Content-Length:", 400},
      {"Content-Length: \"5\"", 400},
      {"Transfer-Encoding: chunked", 200},
      {"transfer-encoding:\tChunked", 200},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5", 400},
      {"Content-Length: 0\r\nTransfer-Encoding: chunked", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", 400},
      {"Transfer-Encoding: chunked, chunked", 400},
      {"Transfer-Encoding: chunked,", 400},
      {"Transfer-Encoding:", 400},
      {"Transfer-Encoding: gzip, chunked", 501},
      {"Transfer-Encoding: chunked, identity", 501},
      {"Transfer-Encoding: identity", 501},
      {"Transfer-Encoding: xchunked", 501},
      {"Transfer-Encoding: chunked;a=b", 501},
      {"Transfer-Encoding: \"chunked\"", 501},
      {"Transfer-Encoding : chunked", 400},
      {"Transfer-Encoding\r\n: chunked", 400},
      {"Expect: 100-Continue", 200},
      {"Expect: 100-continue\r\nExpect: 200-ok", 417},
      {"Expect: more", 417},
  };
  for (const auto& [line, status] : cases) EXPECT_EQ(StatusOf(WithLine(line)), status) << line;
  EXPECT_EQ(StatusOf("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(HttpFraming, Hosts) {
  const std::pair<const char*, int> cases[] = {
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\nHost: a.example:8080\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", 400},
  };
  for (const auto& [head, status] : cases) EXPECT_EQ(StatusOf(head), status) << head;
}

TEST(HttpFraming, EndsOfLinesAndHeads) {
  EXPECT_EQ(StatusOf(""), 0);
  EXPECT_EQ(StatusOf("GET / HT"), 0);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: x\r\n"), 0);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: x\r\n\r"), 0);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: x\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\rHost"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\r\n"), 400);
  EXPECT_EQ(StatusOf("\x16\x03\x01"), 400);
  EXPECT_EQ(StatusOf("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
  EXPECT_EQ(StatusOf("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf(std::string(9'000, 'G')), 414);
}

TEST(HttpFraming, AHundredFieldsAndNoMore) {
  std::string head = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 99; ++i) head += "a: b\r\n";
  EXPECT_EQ(StatusOf(head + "\r\n"), 200);
  EXPECT_EQ(StatusOf(head + "a: b\r\n\r\n"), 431);
}

TEST(HttpFraming, ReadsWhatItAccepts) {
  const std::string block =
      "POST /v1/a%20b?c HTTP/1.1\r\nHost: x\r\nX-Key:  sk%2d1 \r\nContent-Length: 12\r\n"
      "Expect: 100-continue\r\nConnection: x, Close\r\n\r\n";
  const auto read = ReadHead(block);
  const auto& head = std::get<RequestHead>(read);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path, "/v1/a%20b") << "as a proxy's rule sees it";
  EXPECT_THAT(head.fields,
              ElementsAre(Pair("host", "x"), Pair("x-key", "sk%2d1"), Pair("content-length", "12"),
                          Pair("expect", "100-continue"), Pair("connection", "x, Close")));
  EXPECT_EQ(head.length, 12u);
  EXPECT_TRUE(head.has_body() && head.expects_continue);
  EXPECT_FALSE(head.keeps_alive || head.is_chunked);
}

TEST(HttpFraming, WhichConnectionsAreKept) {
  const auto keeps = [](const std::string& head) {
    const auto read = ReadHead(head + "\r\n\r\n");
    return std::get<RequestHead>(read).keeps_alive;
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: x"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nConnection: close"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive"));
}

// However the bytes are cut into pieces, a head ends in the same place.
TEST(HttpFraming, PiecesChangeNothing) {
  const std::string bytes = "\r\nGET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\nGET";
  for (std::size_t cut = 1; cut + 3 < bytes.size(); ++cut) {
    HeadScanner scanner;
    auto found = scanner.Scan(bytes.substr(0, cut));
    ASSERT_TRUE(std::holds_alternative<std::monostate>(found)) << cut;
    found = scanner.Scan(bytes);
    ASSERT_TRUE(std::holds_alternative<std::size_t>(found)) << cut;
    EXPECT_EQ(std::get<std::size_t>(found), bytes.size() - 3);
  }
}

struct Taken {
  ChunkedBody::Progress progress = ChunkedBody::Progress::kMore;
  std::string body;
  std::string rest;
};

Taken TakeInPieces(std::string_view bytes, std::size_t piece, std::size_t most = 100) {
  ChunkedBody chunks(most);
  Taken taken;
  while (!bytes.empty() && taken.progress == ChunkedBody::Progress::kMore) {
    const std::size_t size = std::min(piece, bytes.size());
    std::string_view next = bytes.substr(0, size);
    taken.progress = chunks.Take(next, taken.body);
    bytes.remove_prefix(size - next.size());
  }
  taken.rest = bytes;
  return taken;
}

TEST(ChunkedBodyTest, TakesTheCodingOff) {
  using enum ChunkedBody::Progress;
  const std::string plenty = "5;" + std::string(5'000, 'x') + "\r\nhello\r\n";
  const std::tuple<std::string, ChunkedBody::Progress, const char*> cases[] = {
      {"5\r\nhello\r\n0\r\n\r\nNEXT", kDone, "hello"},
      {"5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\nNEXT", kDone, "hello0123456789"},
      {"5 ; a=b; c=\"d\"\r\nhello\r\n0;last\r\n\r\nNEXT", kDone, "hello"},
      {"2\r\nhi\r\n0\r\nA: b\r\nC:\r\n\r\nNEXT", kDone, "hi"},
      {"0\r\n\r\nNEXT", kDone, ""},
      {"5\r\nhell", kMore, "hell"},
      {"0\r\n", kMore, ""},
      {"", kMore, ""},
      {"5\nhello\r\n0\r\n\r\n", kMalformed, nullptr},
      {"5\r\nhello\n0\r\n\r\n", kMalformed, nullptr},
      {"5\r\nhello0\r\n\r\n", kMalformed, nullptr},
      {"5\r\nhelloX", kMalformed, nullptr},
      {"zz\r\n", kMalformed, nullptr},
      {"\r\n", kMalformed, nullptr},
      {"-5\r\n", kMalformed, nullptr},
      {"+5\r\n", kMalformed, nullptr},
      {"0x5\r\n", kMalformed, nullptr},
      {" 5\r\n", kMalformed, nullptr},
      {"5 \r\n", kMalformed, nullptr},
      {"5\t5\r\n", kMalformed, nullptr},
      {"5;\x01\r\n", kMalformed, nullptr},
      {"00000000000000005\r\n", kMalformed, nullptr},
      {"0\r\nA : b\r\n\r\n", kMalformed, nullptr},
      {"0\r\n b\r\n\r\n", kMalformed, nullptr},
      {"0\r\nA: b\n\r\n", kMalformed, nullptr},
      {plenty, kMalformed, nullptr},
      {"65\r\n", kTooLarge, nullptr},
      {"40\r\n" + std::string(64, 'a') + "\r\n40\r\n", kTooLarge, nullptr},
      {"7fffffffffffffff\r\n", kTooLarge, nullptr},
      {"ffffffffffffffff\r\n", kTooLarge, nullptr},
  };
  for (const auto& [bytes, progress, body] : cases) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{10'000}}) {
      const Taken taken = TakeInPieces(bytes, piece);
      EXPECT_EQ(taken.progress, progress) << bytes.substr(0, 40) << " by " << piece;
      if (body != nullptr) {
        EXPECT_EQ(taken.body, body) << bytes << " by " << piece;
      }
      if (progress == kDone) {
        EXPECT_EQ(taken.rest, "NEXT");
      }
    }
  }
}

TEST(ChunkedBodyTest, ExtensionsAndTrailersAreBounded) {
  std::string extended;
  std::string trailed = "0\r\n";
  for (int i = 0; i < 20; ++i) extended += "1;" + std::string(1'000, 'x') + "\r\na\r\n";
  for (int i = 0; i < 101; ++i) trailed += "a: b\r\n";
  EXPECT_EQ(TakeInPieces(extended, 100).progress, ChunkedBody::Progress::kMalformed);
  EXPECT_EQ(TakeInPieces(trailed + "\r\n", 100).progress, ChunkedBody::Progress::kMalformed);
}

}  // namespace http_framing_test
}  // namespace submix::server
