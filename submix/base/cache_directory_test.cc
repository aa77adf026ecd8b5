#include "submix/base/cache_directory.h"

#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::base {
namespace cache_directory_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct CacheDirectoryTest : testing::Test {
  void Age(const std::string& path, std::chrono::seconds age) const {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
  }
  void Put(const std::string& name, std::size_t bytes, int age) const {
    SUBMIX_ASSERT_OK(WriteCached(cache, name, std::string(bytes, 'x')));
    Age(JoinPath(cache, name), std::chrono::seconds(age));
  }
  std::vector<std::string> Names() const {
    const StatusOr<std::vector<CachedFile>> files = CachedFiles(cache);
    std::vector<std::string> names;
    for (const CachedFile& file : files.value()) names.push_back(file.name);
    return names;
  }

  TemporaryDirectory directory;
  std::string cache = directory.File("cache");
};

TEST_F(CacheDirectoryTest, WhatWasUsedLongestAgoMakesRoom) {
  Put("oldest", 10, 40);
  Put("older", 10, 30);
  Put("old", 10, 20);
  NoteUse(JoinPath(cache, "oldest"));
  SUBMIX_ASSERT_OK(WriteCached(cache, "new", std::string(10, 'x'), {.bytes = 30}));
  EXPECT_THAT(Names(), ElementsAre("new", "oldest", "old"));
  SUBMIX_ASSERT_OK(WriteCached(cache, "newer", "", {.files = 2}));
  EXPECT_THAT(Names(), ElementsAre("newer", "new"));
}

TEST_F(CacheDirectoryTest, OneThatIsLargerThanTheBoundStaysAlone) {
  Put("old", 1, 10);
  SUBMIX_ASSERT_OK(WriteCached(cache, "large", std::string(100, 'x'), {.bytes = 50}));
  EXPECT_THAT(Names(), ElementsAre("large"));
}

TEST_F(CacheDirectoryTest, IsEmptiedAndMayBeMissing) {
  EXPECT_THAT(Names(), IsEmpty());
  SUBMIX_EXPECT_OK(EmptyCache(cache));
  Put("a", 1, 1);
  SUBMIX_EXPECT_OK(EmptyCache(cache));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(CacheDirectoryTest, ADigestIsOfWhatTheFileHolds) {
  const std::string file = directory.File("weights");
  SUBMIX_ASSERT_OK(WriteFile(file, "one"));
  EXPECT_EQ(CachedSha256(cache, file).value(), ToHex(Sha256("one")));
  SUBMIX_ASSERT_OK(WriteFile(file, "two"));
  EXPECT_EQ(CachedSha256(cache, file).value(), ToHex(Sha256("two")));
  EXPECT_THAT(Names(), IsEmpty()) << "it has just changed";
  EXPECT_EQ(CachedSha256("", file).value(), ToHex(Sha256("two")));
}

}  // namespace cache_directory_test
}  // namespace submix::base
