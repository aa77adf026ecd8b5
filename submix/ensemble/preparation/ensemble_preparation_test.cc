#include "submix/ensemble/preparation/ensemble_preparation.h"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include <sys/resource.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::ensemble {
namespace ensemble_preparation_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The bundled model's tokenizer beside a config.json, in which `from` is replaced by `to`.
class FittingTokenizerTest : public testing::Test {
 protected:
  FittingTokenizerTest() {
    SUBMIX_EXPECT_OK(CopyTokenizer(SUBMIX_DATA_DIR "/public_model", directory_.path()));
    WriteConfig("8191", "8191");
  }
  void WriteConfig(const std::string& from, const std::string& to) const {
    std::string text = R"({"model_type": "gpt2", "vocab_size": 8192, "eos_token_id": 8191})";
    directory_.Write("config.json", text.replace(text.find(from), from.size(), to));
  }
  base::Status Load() const { return LoadFittingTokenizer(directory_.path()).status(); }

  const base::TemporaryDirectory directory_;
};

TEST_F(FittingTokenizerTest, FitsWhatItCameWith) { SUBMIX_EXPECT_OK(Load()); }

TEST_F(FittingTokenizerTest, WhatEndsATextMustBeATokenOfTheModel) {
  const auto is_refused = [](const char* file) {
    return StatusIs(StatusCode::kInvalidArgument,
                    AllOf(HasSubstr(file), HasSubstr("eos_token_id")));
  };
  WriteConfig("8191", "[0, 8192]");
  EXPECT_THAT(Load(), is_refused("/config.json"));
  WriteConfig("8191", "8191");
  directory_.Write("generation_config.json", R"({"eos_token_id": [0, 8192]})");
  EXPECT_THAT(Load(), is_refused("/generation_config.json"));
  directory_.Write("generation_config.json", R"({"eos_token_id": 0})");
  SUBMIX_EXPECT_OK(Load());
}

TEST_F(FittingTokenizerTest, ATokenizerOfAnotherModelIsRefused) {
  WriteConfig("8192, \"eos_token_id\": 8191", "8000, \"eos_token_id\": 0");
  EXPECT_THAT(Load(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not belong")));
}

// Files of a public model, put into an ensemble.
class SharedFileTest : public testing::Test {
 protected:
  void Write(std::uintmax_t bytes) const {
    directory_.Write("from", "weights");
    std::filesystem::resize_file(from_, bytes);  // a hole takes no room
  }

  const base::TemporaryDirectory directory_;
  const std::string from_ = directory_.File("from");
  const std::string to_ = directory_.File("to");
};

TEST_F(SharedFileTest, ALargeOneIsSharedAndOutlivesItsOldName) {
  Write(std::uintmax_t{64} << 20);
  SUBMIX_ASSERT_OK(ShareFile(from_, to_));
  SUBMIX_ASSERT_OK(ShareFile(from_, to_)) << "an interrupted run's";
  const bool is_link = std::filesystem::equivalent(from_, to_);
  SUBMIX_ASSERT_OK(base::WriteFile(from_, "replaced"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto kept, base::MapFile(to_));
  EXPECT_EQ(kept.bytes.size(), std::size_t{64} << 20);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(kept.bytes.data()), 7), "weights");
  if (!is_link) GTEST_SKIP() << "this file system has clones, or no links";
}

TEST_F(SharedFileTest, ASmallOneIsACopy) {
  Write(1000);
  SUBMIX_ASSERT_OK(ShareFile(from_, to_));
  EXPECT_FALSE(std::filesystem::equivalent(from_, to_));
}

// As a full disk, without one: no file of this process may be longer.
TEST_F(SharedFileTest, AFullDiskIsCalledThat) {
  Write(1 << 20);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit least = {1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &least), 0);
  const base::Status status = CopyFiles(from_, to_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted, HasSubstr("free some space")));
}

}  // namespace ensemble_preparation_test
}  // namespace submix::ensemble
