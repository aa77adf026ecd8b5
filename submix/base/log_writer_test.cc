#include "submix/base/log_writer.h"

#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace submix::base {
namespace log_writer_test {

using std::chrono::milliseconds;
using testing::ElementsAre;

constexpr std::size_t kPipeBytes = 4'096;
constexpr milliseconds kLong{60'000};

// A small pipe. Its end for writing stays open: the writer is never destroyed.
class LogWriterTest : public testing::Test {
 protected:
  LogWriterTest() {
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(::pipe(ends_), 0);
    EXPECT_GE(::fcntl(ends_[0], F_SETPIPE_SZ, kPipeBytes), 0);
  }
  ~LogWriterTest() override { CloseReader(); }

  LogWriter& Start(std::size_t most_bytes) {
    return LogWriter::Start(ends_[1], most_bytes, [](std::int64_t lines) {
      return "dropped " + std::to_string(lines) + "\n";
    });
  }
  // Reads until a line equals `last`, which is not returned.
  std::vector<std::string> ReadTo(const std::string& last) {
    std::vector<std::string> lines;
    std::string line;
    for (char c = 0; ::read(ends_[0], &c, 1) == 1;) {
      if (c != '\n') {
        line += c;
      } else if (line == last) {
        break;
      } else {
        lines.push_back(std::exchange(line, {}));
      }
    }
    return lines;
  }
  void CloseReader() {
    if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
  }

  int ends_[2] = {-1, -1};
};

TEST_F(LogWriterTest, LinesArriveInTheirOrder) {
  LogWriter& log = Start(1 << 20);
  log.Write("one\n");
  log.Write("two\n");
  log.Write("end\n");
  EXPECT_THAT(ReadTo("end"), ElementsAre("one", "two"));
  EXPECT_TRUE(log.Flush(kLong));
}

TEST_F(LogWriterTest, AStalledReaderHoldsUpNobodyAndIsToldWhatItMissed) {
  constexpr int kLines = 1'000;
  LogWriter& log = Start(/*most_bytes=*/10'000);
  for (int i = 0; i < kLines; ++i) log.Write(std::to_string(i) + std::string(100, '.') + "\n");
  EXPECT_FALSE(log.Flush(milliseconds(10)));

  std::vector<std::string> lines;
  std::thread reader([&] { lines = ReadTo("end"); });
  EXPECT_TRUE(log.Flush(kLong));
  log.Write("end\n");
  reader.join();
  const std::string dropped = "dropped ";
  int next = 0;
  bool is_told = false;
  for (const std::string& line : lines) {
    if (line.starts_with(dropped)) {
      next += std::stoi(line.substr(dropped.size()));
      is_told = true;
    } else {
      EXPECT_TRUE(line.starts_with(std::to_string(next++) + ".")) << line;
    }
  }
  EXPECT_TRUE(is_told);
  EXPECT_EQ(next, kLines);
}

TEST_F(LogWriterTest, AReaderThatIsGoneHoldsUpNobody) {
  LogWriter& log = Start(1 << 20);
  CloseReader();
  for (int i = 0; i < 3; ++i) {
    log.Write("a line\n");
    EXPECT_TRUE(log.Flush(kLong));
  }
}

TEST_F(LogWriterTest, ADescriptorThatDoesNotBlockIsWaitedFor) {
  ASSERT_EQ(::fcntl(ends_[1], F_SETFL, O_NONBLOCK), 0);
  LogWriter& log = Start(1 << 20);
  const std::string line(3 * kPipeBytes, '.');
  log.Write(line + "\n");
  log.Write("end\n");
  EXPECT_THAT(ReadTo("end"), ElementsAre(line));
}

}  // namespace log_writer_test
}  // namespace submix::base
