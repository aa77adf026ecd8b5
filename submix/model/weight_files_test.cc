#include "submix/model/weight_files.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::model {
namespace weight_files_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WeightFilesTest : public ::testing::Test {
 protected:
  // A file with tensors of two numbers each.
  void WriteShard(const std::string& name, const std::vector<std::string>& tensors) {
    const std::vector<float> values = {1, static_cast<float>(name.size())};
    std::vector<NamedTensor> named;
    for (const std::string& tensor : tensors) named.push_back({tensor, {2}, values});
    SUBMIX_ASSERT_OK(WriteSafetensors(directory_.File(name), named, Dtype::kF32, {}));
  }
  void WriteIndex(const std::string& weight_map) {
    directory_.Write("model.safetensors.index.json",
                     "{\"metadata\": {\"total_size\": 16}, \"weight_map\": " + weight_map + "}");
  }

  base::TemporaryDirectory directory_;
};

TEST_F(WeightFilesTest, ShardsAreReadAsOne) {
  WriteShard("a.safetensors", {"x", "y"});
  WriteShard("bb.safetensors", {"z"});
  WriteIndex(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "bb.safetensors"})");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto files, WeightFiles::Open(directory_.path()));
  const std::int64_t shape[] = {2};
  EXPECT_THAT(ToFloats(files->Find("x", shape).value()), ElementsAre(1, 13));
  EXPECT_THAT(ToFloats(files->Find("z", shape).value()), ElementsAre(1, 14));
  EXPECT_TRUE(files->contains("y"));
  EXPECT_FALSE(files->contains("w"));
  EXPECT_THAT(files->Find("w", shape), StatusIs(StatusCode::kNotFound, HasSubstr("\"w\"")));
  EXPECT_THAT(files->paths(),
              ElementsAre(HasSubstr("/a.safetensors"), HasSubstr("/bb.safetensors")));
}

TEST_F(WeightFilesTest, FileNamesAreWhatIsRead) {
  WriteShard("a.safetensors", {"x"});
  WriteShard("b.safetensors", {"y"});
  WriteShard("c.safetensors", {"z"});
  WriteIndex(R"({"x": "b.safetensors", "y": "a.safetensors"})");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto shards, WeightFiles::FileNames(directory_.path()));
  EXPECT_THAT(shards,
              ElementsAre("a.safetensors", "b.safetensors", "model.safetensors.index.json"));
  WriteIndex(R"({"x": "../b.safetensors"})");
  EXPECT_THAT(WeightFiles::FileNames(directory_.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no file of this directory")));
  WriteShard("model.safetensors", {"x"});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto single, WeightFiles::FileNames(directory_.path()));
  EXPECT_THAT(single, ElementsAre("model.safetensors"));
}

TEST_F(WeightFilesTest, ASingleFileIsPreferred) {
  WriteShard("model.safetensors", {"x"});
  WriteIndex(R"({"x": "missing.safetensors"})");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto files, WeightFiles::Open(directory_.path()));
  EXPECT_THAT(files->paths(), ElementsAre(HasSubstr("/model.safetensors")));
}

TEST_F(WeightFilesTest, IndexesThatLieAreRefused) {
  WriteShard("a.safetensors", {"x", "y"});
  WriteShard("b.safetensors", {"y", "z"});
  WriteShard("c.safetensors", {"z"});
  struct Refused {
    const char* weight_map;
    StatusCode code;
    const char* reason;
  };
  for (const Refused refused :
       {Refused{R"({"x": "gone.safetensors"})", StatusCode::kNotFound, "gone.safetensors"},
        Refused{R"({"x": "a.safetensors", "z": "b.safetensors"})", StatusCode::kDataLoss,
                "tensor \"y\" is in another shard"},
        Refused{R"({"x": "c.safetensors", "y": "a.safetensors"})", StatusCode::kDataLoss,
                "which the index looks for in c.safetensors"},
        Refused{R"({"w": "a.safetensors"})", StatusCode::kDataLoss, "has no tensor \"w\""},
        Refused{R"({"x": "../a.safetensors"})", StatusCode::kInvalidArgument, "no file of this"},
        Refused{R"({"x": "/etc/passwd"})", StatusCode::kInvalidArgument, "no file of this"},
        Refused{R"({"x": ""})", StatusCode::kInvalidArgument, "no file of this"},
        Refused{R"({"x": "a.safetensors", "x": "b.safetensors"})", StatusCode::kInvalidArgument,
                "index.json"},
        Refused{"{}", StatusCode::kInvalidArgument, "names no tensor"},
        Refused{"[]", StatusCode::kInvalidArgument, "weight_map"}}) {
    WriteIndex(refused.weight_map);
    EXPECT_THAT(WeightFiles::Open(directory_.path()),
                StatusIs(refused.code, HasSubstr(refused.reason)))
        << refused.weight_map;
  }
}

TEST_F(WeightFilesTest, WithoutWeightsTheFileIsNamed) {
  EXPECT_THAT(WeightFiles::Open(directory_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("/model.safetensors")));
}

TEST_F(WeightFilesTest, WhatIsThereInsteadIsNamedWithTheMend) {
  struct Case {
    const char* file;
    const char* mend;
  };
  for (const Case& c :
       {Case{"pytorch_model.bin", "save_pretrained"}, Case{"m.gguf", "gguf_file"},
        Case{"consolidated.00.pth", "convert"}, Case{"consolidated.safetensors", "layout"},
        Case{"adapter_model.safetensors", "adapter"}}) {
    const base::TemporaryDirectory directory;
    directory.Write(c.file, "");
    EXPECT_THAT(WeightFiles::Open(directory.path()),
                StatusIs(StatusCode::kNotFound, AllOf(HasSubstr(c.file), HasSubstr(c.mend))));
    EXPECT_THAT(WeightFiles::FileNames(directory.path()),
                StatusIs(StatusCode::kNotFound, AllOf(HasSubstr(c.file), HasSubstr(c.mend))));
  }
}

}  // namespace weight_files_test
}  // namespace submix::model
